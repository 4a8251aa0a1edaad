"""Values that a program with float32 inputs and outputs only moves, chooses and compares: they stay float32.

In integers they would be converted and converted back, with an error and for nothing: what gains by integers are
operators that compute, and what is kept, such as states and tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import FLOAT, UnionFind, bindings, is_loop
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.kernels import traits_of
from tflmgen.quantize.integer_forms import Form, real_operands, real_results
from tflmgen.quantize.web_constraints import result_key
from tflmgen.quantize.web_types import Assignment


def without_move_only_webs(model: Model, assignment: Assignment) -> Assignment:
    """The assignment with float32 for webs that no operator computes with, neither they nor what they move to."""
    webs = assignment.webs
    parts, busy = UnionFind(), {*webs.variables.values(), *(target for target, _ in webs.constants)}
    for graph in model.subgraphs:
        for op in graph.operators:
            for first, other in _copies(model, graph, op):
                parts.join(webs.root(first), webs.root(other))
            keys = _touched(graph, op)
            for key in keys[1:]:
                parts.join(webs.root(keys[0]), webs.root(key))
            if _is_busy(graph, op, assignment.forms.get((graph.index, op.index))):
                busy.update(keys)
            if is_loop(op):
                busy.update((graph.index, tensor) for tensor in (*op.inputs, *op.outputs))
    kept = {parts.root(webs.root(key)) for key in busy}
    idle = {root for root in assignment.types if parts.root(root) not in kept}
    if not idle:
        return assignment
    forms = dict(assignment.forms)
    for graph in model.subgraphs:
        for op in graph.operators:
            if any(webs.root(key) in idle for key in _touched(graph, op)):
                forms.pop((graph.index, op.index), None)
    return replace(assignment, types={**assignment.types, **dict.fromkeys(idle, FLOAT)}, forms=forms)


def _touched(graph: SubGraph, op: FileOperator) -> list[TensorKey]:
    """Real operands and results that are no constants, of an operator that runs no subgraph."""
    places = [op.inputs[p] for p in real_operands(op, graph)] + [op.outputs[p] for p in real_results(op, graph)]
    return [] if bindings(op) else [(graph.index, t) for t in places if graph.tensors[t].data is None]


def _copies(model: Model, graph: SubGraph, op: FileOperator) -> Iterator[tuple[TensorKey, TensorKey]]:
    """Names that an operator's subgraphs have for its operands and results, which may be webs of their own."""
    for binding in bindings(op):
        callee = model.subgraphs[binding.subgraph]
        for formal, operand in zip(callee.inputs, binding.operands, strict=False):
            if operand >= 0:
                yield (graph.index, operand), (callee.index, formal)
        for place, result in enumerate(binding.results):
            yield (graph.index, result), result_key(callee.index, place)
            yield (callee.index, callee.outputs[place]), result_key(callee.index, place)


def _is_busy(graph: SubGraph, op: FileOperator, form: Form | None) -> bool:
    """Whether integers serve an operator: one that computes, reads a table, or repeats moves."""
    if form is None or bindings(op):
        return False
    traits = traits_of(op.name)
    is_constant = any(graph.tensors[op.inputs[place]].data is not None for place in real_operands(op, graph))
    moves = traits.view or traits.moves or traits.cuts or traits.selects
    return not (traits.compares is not None or (moves and not is_constant))
