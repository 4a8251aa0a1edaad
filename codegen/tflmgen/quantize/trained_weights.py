"""Webs of models that train on the device: weights in variables, and all that takes part in assigning them.

A step of gradient descent is far smaller than a step of int8. So the weights stay float32, and with them every subgraph
that a signature runs which assigns them. Gradient descent adds a step, which follows from the weights, to the weights.
A matrix that is computed otherwise, such as a cache of keys that rows are stored in, the sum of outer products of
linear attention, or a memory that fades, is an activation, though a product reads it as weights."""

from __future__ import annotations

from collections.abc import Iterator

from tflmgen.frontend import TensorKey
from tflmgen.frontend.model_graph import TensorUses, bindings, constant_values, is_loop
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import traits_of
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


_WEIGHTS = 1
"""Place of the weights among the operands of operators that have some."""

_LEAST_DECAY = 0.99
"""Factor of the weights from which on it is the weight decay of an optimiser; a memory that forgets has less."""


def trained_webs(model: Model, webs: Webs) -> frozenset[TensorKey]:
    """Roots of the webs that stay float because a signature assigns weights."""
    variables = {webs.root(variable) for variable in webs.variables.values()}
    weights = variables & _weight_webs(model, webs)
    weights = {root for root in weights if _gets_a_step(model, webs, root)}
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
            has_weights = traits.channel_axis is not None or traits.depth_axis is not None or traits.products
            if has_weights and len(op.inputs) > _WEIGHTS and op.inputs[_WEIGHTS] >= 0:
                tensors |= {webs.root((graph.index, t)) for t in _origins(graph, op.inputs[_WEIGHTS])}
    return tensors


def _gets_a_step(model: Model, webs: Webs, weights: TensorKey) -> bool:
    """Whether a value of the web is the sum of another and of what depends on it."""
    for graph in model.subgraphs:
        results = {op.outputs[0]: op for op in graph.operators if traits_of(op.name).adds}
        for op in graph.operators:
            is_assigned = op.name == "ASSIGN_VARIABLE" and webs.root((graph.index, op.inputs[1])) == weights
            ends = op.inputs[1:2] if is_assigned else [t for t in op.outputs if webs.root((graph.index, t)) == weights]
            for tensor in (origin for end in ends for origin in _origins(graph, end) if origin in results):
                for own, step in (results[tensor].inputs, results[tensor].inputs[::-1]):
                    old = {webs.root((graph.index, t)) for t in _origins(graph, own, allows_decay=True)}
                    if weights in old and depends_on(model, webs, (graph.index, step), weights):
                        return True
    return False


def _origins(graph: SubGraph, tensor: int, allows_decay: bool = False) -> set[int]:
    """The tensor, and those that it is a view or a rearrangement of, or a little less than."""
    writers = TensorUses.of(graph).producers
    origins = {tensor}
    while (op := writers.get(tensor)) is not None and op.inputs:
        traits = traits_of(op.name)
        if traits.moves or traits.view:
            tensor = op.inputs[traits.roles.data]
        elif allows_decay and traits.multiplies == 1 and (source := _decayed(graph, op)) is not None:
            tensor = source
        else:
            break
        origins.add(tensor)
    return origins


def _decayed(graph: SubGraph, product: FileOperator) -> int | None:
    """The operand of a product with a constant little below 1."""
    for source, factor in (product.inputs, product.inputs[::-1]):
        tensor = graph.tensors[factor]
        if tensor.data is None or tensor.dtype is not DType.FLOAT32:
            continue
        values = constant_values(tensor)
        if ((values >= _LEAST_DECAY) & (values <= 1)).all():
            return source
    return None


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
