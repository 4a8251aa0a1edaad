"""Webs of models that train on the device: weights in variables, and all that takes part in assigning them.

A step of gradient descent is far smaller than a step of int8. So the weights stay float32, and with them every subgraph
that a signature runs which assigns them.
"""

from __future__ import annotations

from tflmgen.frontend import Model, SubGraph, TensorKey, bindings
from tflmgen.kernels import traits_of
from tflmgen.quantize.web_constraints import Webs

_WEIGHTS = 1
"""Place of the weights among the operands of operators that have some."""


def trained_webs(model: Model, webs: Webs) -> frozenset[TensorKey]:
    """Roots of the webs that stay float because a signature assigns weights."""
    weights = {webs.root(variable) for variable in webs.variables.values()} & _weight_webs(model, webs)
    entries = {signature.subgraph for signature in model.signatures} or {0}
    trained = set(weights) if any(_assigns(model, webs, entry, weights) for entry in entries) else set()
    for entry in entries:
        if _assigns(model, webs, entry, weights):
            trained |= {
                webs.root((index, tensor.index))
                for index in _reached(model, entry)
                for tensor in model.subgraphs[index].tensors
            }
    return frozenset(trained)


def _weight_webs(model: Model, webs: Webs) -> set[TensorKey]:
    """Roots of webs whose values are weights of an operator, perhaps after they have moved."""
    tensors: set[TensorKey] = set()
    for graph in model.subgraphs:
        for op in graph.operators:
            traits = traits_of(op.name)
            has_weights = traits.channel_axis is not None or traits.depth_axis is not None or op.name == "BATCH_MATMUL"
            if has_weights and len(op.inputs) > _WEIGHTS and op.inputs[_WEIGHTS] >= 0:
                tensors |= {webs.root((graph.index, t)) for t in _origins(graph, op.inputs[_WEIGHTS])}
    return tensors


def _origins(graph: SubGraph, tensor: int) -> set[int]:
    """The tensor, and those that it is a view or a rearrangement of."""
    writers = {index: op for op in graph.operators for index in op.outputs}
    origins = {tensor}
    while (op := writers.get(tensor)) is not None and op.inputs:
        traits = traits_of(op.name)
        if not (traits.moves or traits.view):
            break
        tensor = op.inputs[traits.data]
        origins.add(tensor)
    return origins


def _assigns(model: Model, webs: Webs, entry: int, weights: set[TensorKey]) -> bool:
    """Whether a signature assigns one of the variables."""
    return any(
        op.name == "ASSIGN_VARIABLE" and webs.root(variable) in weights
        for index in _reached(model, entry)
        for op in model.subgraphs[index].operators
        if op.inputs and (variable := webs.variables.get(webs.root((index, op.inputs[0])))) is not None
    )


def _reached(model: Model, entry: int) -> set[int]:
    """The subgraph and all that run in it."""
    reached, pending = set[int](), [entry]
    while pending:
        index = pending.pop()
        if index not in reached:
            reached.add(index)
            pending += [b.subgraph for op in model.subgraphs[index].operators for b in bindings(op)]
    return reached
