"""Rewrites of PyTorch operators of which torch.onnx writes other operators than they are."""

from __future__ import annotations

from typing import Any


def with_exact_operators(torch: Any, program: Any) -> Any:
    """The exported program without operators that torch.onnx mistakes.

    scatter_reduce() with "mean" becomes a sum and a count: ONNX has no such reduction, and torch.onnx writes a plain
    store, which keeps the last of several elements.
    """
    operator = torch.ops.aten.scatter_reduce.two
    graphs = [module.graph for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    nodes = (node for graph in graphs for node in graph.nodes if node.target is operator)
    if not any("mean" in node.args or node.kwargs.get("reduce") == "mean" for node in nodes):
        return program

    def scattered(base: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
        if reduce != "mean":
            return NotImplemented
        stored = torch.zeros_like(base).scatter_add(dim, index, torch.ones_like(source))
        if not include_self:
            base = torch.where(stored > 0, torch.zeros_like(base), base)
        count = stored + 1 if include_self else stored.clamp(min=1)
        total = base.scatter_add(dim, index, source)
        return total / count if base.is_floating_point() else torch.div(total, count, rounding_mode="floor")

    return program.run_decompositions({operator: scattered})
