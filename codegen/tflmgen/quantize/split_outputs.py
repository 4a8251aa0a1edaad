"""Outputs that join several heads as one output for each head, which then has a scale of its own."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import bindings
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph, without_unused
from tflmgen.kernels import traits_of


def with_split_outputs(model: Model) -> Model:
    """The Model with the operands of a CONCATENATION as outputs in place of its result, named NAME_0, NAME_1 …

    Outputs that something else reads, or that are no such result, stay as they are.
    """
    called = {binding.subgraph for graph in model.subgraphs for op in graph.operators for binding in bindings(op)}
    parts: dict[TensorKey, tuple[int, ...]] = {}
    graphs = []
    for graph in model.subgraphs:
        joins = {} if graph.index in called else _joins(graph)
        parts |= {(graph.index, result): op.inputs for result, op in joins.items()}
        removed = {op.index for op in joins.values()}
        outputs = tuple(part for tensor in graph.outputs for part in parts.get((graph.index, tensor), (tensor,)))
        operators = tuple(op for op in graph.operators if op.index not in removed)
        graphs.append(replace(graph, outputs=outputs, operators=operators))
    signatures = []
    for signature in model.signatures:
        named: list[tuple[str, int]] = []
        for name, tensor in signature.outputs:
            own = parts.get((signature.subgraph, tensor))
            named += [(name, tensor)] if own is None else [(f"{name}_{place}", part) for place, part in enumerate(own)]
        signatures.append(replace(signature, outputs=tuple(named)))
    if not parts:
        return model
    return without_unused(replace(model, subgraphs=tuple(graphs), signatures=tuple(signatures), sha256=""))


def _joins(graph: SubGraph) -> dict[int, FileOperator]:
    """Operators whose result is one output and nothing else's operand, and whose operands are computed once each."""
    read = [tensor for op in graph.operators for tensor in op.inputs]
    return {
        op.outputs[0]: op
        for op in graph.operators
        if traits_of(op.name).concatenates
        and graph.outputs.count(op.outputs[0]) == 1
        and op.outputs[0] not in read
        and len(set(op.inputs)) == len(op.inputs)
        and not set(op.inputs) & {*graph.inputs, *graph.outputs}
        and all(graph.tensors[tensor].data is None for tensor in op.inputs)
    }
