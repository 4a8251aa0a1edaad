"""Dependence of values on others, through operators, branches, loops and calls."""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.frontend import Model, TensorKey, bindings, is_loop
from tflmgen.quantize.web_constraints import Webs


def depends_on(model: Model, webs: Webs, tensor: TensorKey, web: TensorKey) -> bool:
    """Whether a tensor's value follows from one of a web, which `web` is the root of."""
    operands: dict[TensorKey, list[TensorKey]] = {}
    for result, operand in _edges(model):
        operands.setdefault(result, []).append(operand)
    seen, pending = {tensor}, [tensor]
    while pending:
        key = pending.pop()
        if webs.root(key) == web:
            return True
        following = [operand for operand in operands.get(key, ()) if operand not in seen]
        seen.update(following)
        pending += following
    return False


def _edges(model: Model) -> Iterator[tuple[TensorKey, TensorKey]]:
    """(result, operand) of each operator, subgraphs' inputs and outputs included."""
    for graph in model.subgraphs:
        for op in graph.operators:
            runs = bindings(op)
            for binding in runs:
                callee = model.subgraphs[binding.subgraph]
                formals = [(callee.index, tensor) for tensor in callee.inputs]
                results = [(callee.index, tensor) for tensor in callee.outputs]
                yield from zip(formals, ((graph.index, tensor) for tensor in binding.operands), strict=False)
                yield from zip(((graph.index, tensor) for tensor in binding.results), results, strict=False)
                if is_loop(op) and binding.results:
                    yield from zip(formals, results, strict=False)
            if is_loop(op) or not runs:
                pairs = zip(op.outputs, op.inputs, strict=False) if runs else _every(op.outputs, op.inputs)
                yield from (((graph.index, result), (graph.index, operand)) for result, operand in pairs)


def _every(results: tuple[int, ...], operands: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    return ((result, operand) for result in results for operand in operands if operand >= 0)
