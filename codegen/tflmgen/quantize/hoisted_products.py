"""Products of loop-invariant rows, such as the input products of recurrent layers, as one product before the loop.

A loop body that picks row t of an invariant tensor X and computes W x_t + b becomes one that picks row t of W X + b. A
product of many rows loads each weight once for several of them (Appleyard, Kocisky and Blunsom, "Optimizing Performance
of Recurrent Neural Networks on GPUs", 2016, section 3.1.2).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend import (
    Model,
    Operator,
    SubGraph,
    Tensor,
    bindings,
    constant_values,
    is_loop,
)
from tflmgen.ir import DType
from tflmgen.kernels import Comparison, traits_of
from tflmgen.quantize.graph_writer import GraphWriter
from tflmgen.quantize.integer_forms import WeightOperands, bias_operand, weight_operands
from tflmgen.quantize.loop_counters import Loop

_ALWAYS_ELEMENTS = 4096
"""Elements of the product of all rows, bytes in int8, that are always accepted."""

_MAX_GROWTH = 4
"""Elements of the product for each element of X: with more, it takes more bytes in int8 than X did in float32."""

_ROW_RANKS = {"FULLY_CONNECTED": 1, "CONV_2D": 3, "DEPTHWISE_CONV_2D": 3}
"""Trailing dimensions of one row, for operators that compute each row from the same row by constant weights."""

_PICKS = ("GATHER", "SLICE", "STRIDED_SLICE")


@dataclass(frozen=True, slots=True)
class _Product:
    """A product in a loop body.

    place  of X among the operands of the loop
    pick   takes rows of X in the body; `product` reads them, reshaped perhaps
    rank   trailing dimensions that a row has
    """

    graph: SubGraph
    loop: Operator
    place: int
    pick: Operator
    product: Operator
    rank: int
    weights: WeightOperands


def with_hoisted_products(model: Model, kept: Collection[int]) -> Model:
    """The Model with products of invariant rows before their loops, where every iteration's row is known to be used.

    kept  bodies of loops that stay as they are
    """
    while (candidate := next(_products(model, kept), None)) is not None:
        model = _hoisted(model, candidate)
    return model


def _products(model: Model, kept: Collection[int]) -> Iterator[_Product]:
    sites = [(graph, op) for graph in model.subgraphs for op in graph.operators if bindings(op)]
    uses = [binding.subgraph for _, op in sites for binding in bindings(op)]
    for graph, op in sites:
        if (
            is_loop(op)
            and bindings(op)[1].subgraph not in kept
            and all(uses.count(binding.subgraph) == 1 for binding in bindings(op))
        ):
            yield from _products_of(model, graph, op)


def _products_of(model: Model, graph: SubGraph, loop: Operator) -> Iterator[_Product]:
    body = model.subgraphs[bindings(loop)[1].subgraph]
    producers = {tensor: op for op in body.operators for tensor in op.outputs}
    for product in body.operators:
        weights, rank = weight_operands(product, body), _ROW_RANKS.get(product.name)
        bias = bias_operand(product)
        if weights is None or rank is None or (bias is not None and body.tensors[product.inputs[bias]].data is None):
            continue
        rows = product.inputs[weights.source]
        pick = producers.get(rows)
        while pick is not None and traits_of(pick.name).view:
            pick = producers.get(pick.inputs[0])
        if pick is None or pick.name not in _PICKS or pick.inputs[0] not in body.inputs:
            continue
        place = body.inputs.index(pick.inputs[0])
        candidate = _Product(graph, loop, place, pick, product, rank, weights)
        if (
            body.outputs[place] == body.inputs[place]
            and _is_supported(candidate, body)
            and _uses_all(model, candidate, body)
        ):
            yield candidate


def _is_supported(candidate: _Product, body: SubGraph) -> bool:
    """Whether the pick leaves rows whole, shapes are known, and the product of all rows is not too large."""
    product, pick, rank = candidate.product, candidate.pick, candidate.rank
    source, picked, result = (body.tensors[t] for t in (pick.inputs[0], pick.outputs[0], product.outputs[0]))
    read = body.tensors[product.inputs[candidate.weights.source]]
    if any(-1 in (t.shape_signature or ()) or not t.has_rank for t in (source, picked, result, read)):
        return False
    if source.dtype is not DType.FLOAT32 or len(source.shape) <= rank or len(result.shape) < rank:
        return False
    row = source.shape[-rank:]
    terms = body.tensors[product.inputs[candidate.weights.weights]].shape[-1]
    is_row = row == (terms,) if rank == 1 else read.shape[-rank:] == row and len(read.shape) == rank + 1
    return (
        is_row
        and picked.shape[-rank:] == row
        and _keeps_rows(pick, body, len(source.shape) - rank)
        and _fits(candidate, body)
    )


def _keeps_rows(pick: Operator, body: SubGraph, leading: int) -> bool:
    """Whether a pick leaves alone what lies beyond the first `leading` dimensions, where their sizes stay."""
    options = pick.options or {}
    if pick.name == "GATHER":
        axis, rank = int(options.get("axis", 0)), len(body.tensors[pick.inputs[0]].shape)
        return (axis + rank if axis < 0 else axis) < leading and not options.get("batch_dims", 0)
    if pick.name == "SLICE":
        return len(body.tensors[pick.outputs[0]].shape) > leading and body.tensors[pick.inputs[2]].data is not None
    steps = body.tensors[pick.inputs[3]]
    masks = (int(options.get(f"{name}_mask", 0)) for name in ("ellipsis", "new_axis"))
    is_plain = not any(masks) and steps.data is not None and bool((constant_values(steps) == 1).all())
    return is_plain and not int(options.get("shrink_axis_mask", 0)) >> leading


def _fits(candidate: _Product, body: SubGraph) -> bool:
    source = math.prod(body.tensors[candidate.pick.inputs[0]].shape)
    return math.prod(_product_shape(candidate, body)) <= max(_ALWAYS_ELEMENTS, _MAX_GROWTH * source)


def _product_shape(candidate: _Product, body: SubGraph) -> tuple[int, ...]:
    """Shape of the product of all rows, laid out as X."""
    source, result = body.tensors[candidate.pick.inputs[0]].shape, body.tensors[candidate.product.outputs[0]].shape
    return (*source[: -candidate.rank], *result[-candidate.rank :])


def _uses_all(model: Model, candidate: _Product, body: SubGraph) -> bool:
    """Whether the loop's condition lets as many iterations run as X has picks: it only compares counters."""
    source, picked = (math.prod(body.tensors[t].shape) for t in (candidate.pick.inputs[0], candidate.pick.outputs[0]))
    condition = model.subgraphs[bindings(candidate.loop)[0].subgraph]
    loop = Loop(candidate.graph, candidate.loop, condition, body)
    return _reaches(loop, condition.outputs[0], source // max(picked, 1))


def _reaches(loop: Loop, tensor: int, count: int) -> bool:
    producer = next((op for op in loop.condition.operators if tensor in op.outputs), None)
    if producer is None:
        return False
    if producer.name == "LOGICAL_AND":
        return all(_reaches(loop, operand, count) for operand in producer.inputs)
    compares = traits_of(producer.name).compares
    if compares not in (Comparison.LESS, Comparison.GREATER):
        return False
    bound = loop.fixed_value(producer.inputs[1 if compares is Comparison.LESS else 0])
    return bound is not None and bound >= count


def _hoisted(model: Model, candidate: _Product) -> Model:
    condition, body = (model.subgraphs[binding.subgraph] for binding in bindings(candidate.loop))
    shape, name = _product_shape(candidate, body), body.tensors[candidate.product.outputs[0]].name
    inner, outer, bound = _Writer(body), _Writer(candidate.graph), _Writer(condition)
    product = _compute_before(candidate, body, outer, shape)
    variable = inner.value(f"{name}_all", shape)
    _pick_inside(candidate, body, inner, variable, shape)
    after = outer.value(f"{name}_after", shape)
    loop = replace(candidate.loop, inputs=(*candidate.loop.inputs, product), outputs=(*candidate.loop.outputs, after))
    outer.operators.append(loop)
    outer.operators += [op for op in candidate.graph.operators if op.index > candidate.loop.index]
    edited = {
        candidate.graph.index: outer.between(candidate.graph.inputs, candidate.graph.outputs),
        condition.index: bound.with_input(f"{name}_all", shape),
        body.index: inner.between((*body.inputs, variable), (*body.outputs, variable)),
    }
    hoisted = replace(model, subgraphs=tuple(edited.get(graph.index, graph) for graph in model.subgraphs))
    return _without_unread(hoisted, edited[candidate.graph.index], loop.inputs, candidate.place)


def _without_unread(model: Model, graph: SubGraph, inputs: tuple[int, ...], place: int) -> Model:
    """The Model without loop variable `place` of the loop with these inputs, if nothing reads it any more."""
    loop = next(op for op in graph.operators if is_loop(op) and op.inputs == inputs)
    condition, body = (model.subgraphs[binding.subgraph] for binding in bindings(loop))
    if any(_reads(part, part.inputs[place]) for part in (condition, body)) or _reads(graph, loop.outputs[place]):
        return model
    if loop.outputs[place] in graph.outputs or body.outputs.count(body.inputs[place]) > 1:
        return model

    def without(tensors: tuple[int, ...]) -> tuple[int, ...]:
        return (*tensors[:place], *tensors[place + 1 :])

    fewer = replace(loop, inputs=without(loop.inputs), outputs=without(loop.outputs))
    operators = tuple(fewer if op is loop else op for op in graph.operators)
    changed = {
        graph.index: replace(graph, operators=operators),
        condition.index: replace(condition, inputs=without(condition.inputs)),
        body.index: replace(body, inputs=without(body.inputs), outputs=without(body.outputs)),
    }
    return replace(model, subgraphs=tuple(changed.get(graph.index, graph) for graph in model.subgraphs))


def _reads(graph: SubGraph, tensor: int) -> bool:
    return any(tensor in op.inputs for op in graph.operators)


def _compute_before(candidate: _Product, body: SubGraph, outer: _Writer, shape: tuple[int, ...]) -> int:
    """Adds what precedes the loop, and the product of all rows; its tensor."""
    graph, op, rank = candidate.graph, candidate.product, candidate.rank
    outer.operators += [other for other in graph.operators if other.index < candidate.loop.index]
    source = candidate.loop.inputs[candidate.place]
    rows = math.prod(graph.tensors[source].shape[:-rank])
    name = body.tensors[op.outputs[0]].name
    inputs = [
        index if index < 0 else outer.copy(body.tensors[index]) if body.tensors[index].data is not None else index
        for index in op.inputs
    ]
    inputs[candidate.weights.source] = outer.reshaped(
        source, (rows, *graph.tensors[source].shape[-rank:]), f"{name}_rows"
    )
    result = outer.value(f"{name}_product", (rows, *shape[-rank:]))
    outer.operators.append(replace(op, inputs=tuple(inputs), outputs=(result,)))
    return outer.reshaped(result, shape, f"{name}_before")


def _pick_inside(candidate: _Product, body: SubGraph, inner: _Writer, variable: int, shape: tuple[int, ...]) -> None:
    """The body's operators with a pick of the product in place of the product."""
    result, rank = candidate.product.outputs[0], candidate.rank
    picked = (*body.tensors[candidate.pick.outputs[0]].shape[:-rank], *shape[-rank:])
    for op in body.operators:
        if op.index != candidate.product.index:
            inner.operators.append(op)
            continue
        inputs = [variable, *candidate.pick.inputs[1:]]
        if candidate.pick.name == "SLICE":
            inputs[2] = inner.constant("size", picked)
        is_same = picked == body.tensors[result].shape
        output = result if is_same else inner.value(f"{body.tensors[result].name}_picked", picked)
        inner.operators.append(replace(candidate.pick, inputs=tuple(inputs), outputs=(output,)))
        if not is_same:
            inner.add_reshape(output, result)


class _Writer(GraphWriter):
    """A subgraph with the product of all rows; moves whose results nothing reads are left out at the end."""

    __slots__ = ()

    def value(self, name: str, shape: tuple[int, ...]) -> int:
        """A new tensor of float32."""
        self.tensors.append(Tensor.added(len(self.tensors), name, DType.FLOAT32, shape))
        return len(self.tensors) - 1

    def copy(self, tensor: Tensor) -> int:
        self.tensors.append(replace(tensor, index=len(self.tensors)))
        return len(self.tensors) - 1

    def reshaped(self, tensor: int, shape: tuple[int, ...], name: str) -> int:
        """The tensor in a shape: itself if it has it."""
        if self.tensors[tensor].shape == shape:
            return tensor
        result = self.value(name, shape)
        self.add_reshape(tensor, result)
        return result

    def add_reshape(self, source: int, result: int) -> None:
        self.add("RESHAPE", [source, self.constant("shape", self.tensors[result].shape)], result)

    def between(self, inputs: Sequence[int], outputs: Sequence[int]) -> SubGraph:
        """The subgraph with these inputs and outputs."""
        read, kept = set(outputs), []
        for op in reversed(self.operators):
            is_free = traits_of(op.name).view or op.name in _PICKS
            if not is_free or read.intersection(op.outputs):
                kept.append(op)
                read.update(op.inputs)
        self.operators = kept[::-1]
        return replace(self.finished(), inputs=tuple(inputs), outputs=tuple(outputs))

    def with_input(self, name: str, shape: tuple[int, ...]) -> SubGraph:
        """The subgraph with one more input, which it does not read."""
        self.operators = list(self.graph.operators)
        return self.between((*self.graph.inputs, self.value(name, shape)), self.graph.outputs)
