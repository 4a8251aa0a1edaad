"""Products of loop-invariant rows, such as the input products of recurrent layers, as one product before the loop.

A loop body that picks row t of an invariant tensor X and computes W x_t + b becomes one that picks row t of W X + b. A
product of many rows loads each weight once for several of them (Appleyard, Kocisky and Blunsom, "Optimizing Performance
of Recurrent Neural Networks on GPUs", 2016, section 3.1.2).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from tflmgen.frontend.model_graph import (
    SubGraphRewrite,
    TensorUses,
    WeightOperands,
    bindings,
    constant_values,
    is_loop,
    without_operands,
)
from tflmgen.frontend.tflite import FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import Comparison, Connective, traits_of
from tflmgen.quantize.integer_forms import bias_operand, weight_operands
from tflmgen.quantize.loop_counters import CountedLoop

_ALWAYS_ELEMENTS = 4096
"""Elements of the product of all rows, bytes in int8, that are always accepted."""

_MAX_GROWTH = 4
"""Elements of the product for each element of X: with more, it takes more bytes in int8 than X did in float32."""


@dataclass(frozen=True, slots=True)
class _Product:
    """A product in a loop body.

    place  of X among the operands of the loop
    pick   takes rows of X in the body; `product` reads them, reshaped perhaps
    rank   trailing dimensions that a row has
    """

    graph: SubGraph
    loop: FileOperator
    place: int
    pick: FileOperator
    product: FileOperator
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


def _products_of(model: Model, graph: SubGraph, loop: FileOperator) -> Iterator[_Product]:
    body = model.subgraphs[bindings(loop)[1].subgraph]
    producers = TensorUses.of(body).producers
    for product in body.operators:
        weights, rank = weight_operands(product, body), _row_rank(product)
        bias = bias_operand(product)
        if weights is None or rank is None or (bias is not None and body.tensors[product.inputs[bias]].data is None):
            continue
        rows = product.inputs[weights.source]
        pick = producers.get(rows)
        while pick is not None and traits_of(pick.name).view:
            pick = producers.get(pick.inputs[0])
        if pick is None or not _picks(pick) or pick.inputs[0] not in body.inputs:
            continue
        place = body.inputs.index(pick.inputs[0])
        candidate = _Product(graph, loop, place, pick, product, rank, weights)
        if (
            body.outputs[place] == body.inputs[place]
            and _is_supported(candidate, body)
            and _uses_all(model, candidate, body)
        ):
            yield candidate


def _row_rank(op: FileOperator) -> int | None:
    """Trailing dimensions of one row of an operator that computes each row from the same row; None for others."""
    traits = traits_of(op.name)
    return None if traits.channel_axis is None else 1 if traits.window is None else 3


def _picks(op: FileOperator) -> bool:
    """Whether an operator takes rows of its first operand: a cut, or a choice by indices."""
    return bool(traits_of(op.name).cuts) or traits_of(op.name).roles.table == 0


def _has_sizes(pick: FileOperator) -> bool:
    """Whether a cut says what sizes it takes; others say ends and steps."""
    return traits_of(pick.name).cuts and len(pick.inputs) == 3


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


def _keeps_rows(pick: FileOperator, body: SubGraph, leading: int) -> bool:
    """Whether a pick leaves alone what lies beyond the first `leading` dimensions, where their sizes stay."""
    options = pick.options or {}
    if not traits_of(pick.name).cuts:
        axis, rank = int(options.get("axis", 0)), len(body.tensors[pick.inputs[0]].shape)
        return (axis + rank if axis < 0 else axis) < leading and not options.get("batch_dims", 0)
    if _has_sizes(pick):
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
    loop = CountedLoop(candidate.graph, candidate.loop, condition, body)
    return _reaches(loop, condition.outputs[0], source // max(picked, 1))


def _reaches(loop: CountedLoop, tensor: int, count: int) -> bool:
    producer = next((op for op in loop.condition.operators if tensor in op.outputs), None)
    if producer is None:
        return False
    if traits_of(producer.name).connective is Connective.AND:
        return all(_reaches(loop, operand, count) for operand in producer.inputs)
    compares = traits_of(producer.name).compares
    if compares not in (Comparison.LESS, Comparison.GREATER):
        return False
    bound = loop.fixed_value(producer.inputs[1 if compares is Comparison.LESS else 0])
    return bound is not None and bound >= count


def _hoisted(model: Model, candidate: _Product) -> Model:
    condition, body = (model.subgraphs[binding.subgraph] for binding in bindings(candidate.loop))
    shape, name = _product_shape(candidate, body), body.tensors[candidate.product.outputs[0]].name
    inner, outer, bound = (SubGraphRewrite(graph) for graph in (body, candidate.graph, condition))

    def with_product(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
        if op is not candidate.loop:
            return False
        product = _compute_before(candidate, body, rewrite, shape)
        after = rewrite.value(f"{name}_after", shape)
        rewrite.operators.append(replace(op, inputs=(*op.inputs, product), outputs=(*op.outputs, after)))
        return True

    outer.apply(with_product)
    variable = inner.value(f"{name}_all", shape)
    inner.apply(lambda rewrite, op: op is candidate.product and _pick_inside(candidate, body, rewrite, variable, shape))
    unused = bound.value(f"{name}_all", shape)
    edited = {
        candidate.graph.index: outer.result(),
        condition.index: replace(bound.result(), inputs=(*condition.inputs, unused)),
        body.index: replace(inner.result(), inputs=(*body.inputs, variable), outputs=(*body.outputs, variable)),
    }
    hoisted = replace(model, subgraphs=tuple(edited.get(graph.index, graph) for graph in model.subgraphs))
    return _without_unread(hoisted, candidate)


def _without_unread(model: Model, candidate: _Product) -> Model:
    """The Model without the variable of the rows, if nothing reads it any more."""
    place, graph = candidate.place, model.subgraphs[candidate.graph.index]
    condition, body = (model.subgraphs[binding.subgraph] for binding in bindings(candidate.loop))
    result = candidate.loop.outputs[place]
    if any(part.inputs[place] in TensorUses.of(replace(part, outputs=())).readers for part in (condition, body)):
        return model
    if result in TensorUses.of(graph).readers or body.outputs.count(body.inputs[place]) > 1:
        return model
    return without_operands(model, {condition.index: {place}, body.index: {place}})


def _compute_before(candidate: _Product, body: SubGraph, outer: SubGraphRewrite, shape: tuple[int, ...]) -> int:
    """Adds the product of all rows; its tensor."""
    op, rank = candidate.product, candidate.rank
    source = candidate.loop.inputs[candidate.place]
    name, whole = body.tensors[op.outputs[0]].name, outer.tensors[source].shape
    rows = math.prod(whole[:-rank])
    inputs = [
        index if index < 0 or body.tensors[index].data is None else outer.add_tensor(body.tensors[index])
        for index in op.inputs
    ]
    inputs[candidate.weights.source] = _reshaped(outer, source, (rows, *whole[-rank:]), f"{name}_rows")
    result = outer.value(f"{name}_product", (rows, *shape[-rank:]))
    outer.operators.append(replace(op, inputs=tuple(inputs), outputs=(result,)))
    return _reshaped(outer, result, shape, f"{name}_before")


def _pick_inside(
    candidate: _Product, body: SubGraph, inner: SubGraphRewrite, variable: int, shape: tuple[int, ...]
) -> bool:
    """Adds a pick of the product in place of the product; True."""
    result, rank = candidate.product.outputs[0], candidate.rank
    picked = (*body.tensors[candidate.pick.outputs[0]].shape[:-rank], *shape[-rank:])
    inputs = [variable, *candidate.pick.inputs[1:]]
    if _has_sizes(candidate.pick):
        inputs[2] = inner.constant("size", picked)
    is_same = picked == body.tensors[result].shape
    output = result if is_same else inner.value(f"{body.tensors[result].name}_picked", picked)
    inner.operators.append(replace(candidate.pick, inputs=tuple(inputs), outputs=(output,)))
    if not is_same:
        inner.reshape(output, result)
    return True


def _reshaped(graph: SubGraphRewrite, tensor: int, shape: tuple[int, ...], name: str) -> int:
    """The tensor in a shape: itself if it has it."""
    if graph.tensors[tensor].shape == shape:
        return tensor
    result = graph.value(name, shape)
    graph.reshape(tensor, result)
    return result
