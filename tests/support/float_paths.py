"""Which outputs of a partly quantised model depend on arithmetic in float32, whose last digits differ by runtime."""

from __future__ import annotations

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import bindings
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import traits_of
from tflmgen.quantize.web_constraints import Webs, find_webs

_EXACT = frozenset({"QUANTIZE", "DEQUANTIZE", "READ_VARIABLE", "ASSIGN_VARIABLE", "VAR_HANDLE", "CALL_ONCE"})


def outputs_after_float(model: Model, subgraph: int) -> set[int]:
    """Places of a subgraph's outputs that an operator on float32 comes before, by any path.

    A float condition of a branch or loop counts for all of its results.
    """
    webs = find_webs(model)
    inexact: set[TensorKey] = set()
    while True:
        before = len(inexact)
        for graph in model.subgraphs:
            for op in graph.operators:
                _spread(model, webs, graph, op, inexact)
        if len(inexact) == before:
            break
    graph = model.subgraphs[subgraph]
    return {place for place, tensor in enumerate(graph.outputs) if (subgraph, tensor) in inexact}


def _spread(model: Model, webs: Webs, graph: SubGraph, op: FileOperator, inexact: set[TensorKey]) -> None:
    """Adds what an operator makes inexact."""
    inputs = [(graph.index, i) for i in op.inputs if i >= 0]
    outputs = {(graph.index, i) for i in op.outputs}
    runs = bindings(op)
    if runs:
        decides = {"IF": inputs[0]}.get(op.name)
        for binding in runs:
            callee = model.subgraphs[binding.subgraph]
            for operand, formal in zip(binding.operands, callee.inputs, strict=True):
                if (graph.index, operand) in inexact:
                    inexact.add((callee.index, formal))
            results = [(callee.index, i) for i in callee.outputs]
            for result, tensor in zip(results, binding.results, strict=False):
                if result in inexact:
                    inexact.add((graph.index, tensor))
            if "cond_subgraph_index" in (op.options or {}):
                body = runs[-1].subgraph
                for again, formal in zip(model.subgraphs[body].outputs, callee.inputs, strict=False):
                    if (body, again) in inexact:
                        inexact.add((callee.index, formal))
                if binding is runs[0] and results[0] in inexact:
                    inexact |= outputs
        if decides in inexact:
            inexact |= outputs
        return
    if op.name in ("READ_VARIABLE", "ASSIGN_VARIABLE"):
        variable = webs.variables.get(webs.root(inputs[0]))
        if variable is not None and op.name == "READ_VARIABLE" and variable in inexact:
            inexact |= outputs
        elif variable is not None and op.name == "ASSIGN_VARIABLE" and inputs[1] in inexact:
            inexact.add(variable)
        return
    floats = [graph.tensors[i].dtype is DType.FLOAT32 for i in (*op.inputs, *op.outputs) if i >= 0]
    traits = traits_of(op.name)
    moves = traits.moves or traits.view or traits.joins or traits.cuts or traits.compares is not None
    if any(key in inexact for key in inputs) or (any(floats) and op.name not in _EXACT and not moves):
        inexact |= outputs
