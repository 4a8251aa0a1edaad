"""Gradients of operators that move, cut, join and sum elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tflmgen.gradients.rule import GradientRule, Gradients, NoGradientError, RuleContext
from tflmgen.ir import DType


def _sole(gradients: Sequence[int | None]) -> int:
    """The gradient of an operator's only result."""
    assert gradients[0] is not None
    return gradients[0]


def _reshape(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    return [context.arithmetic.reshape(_sole(gradients), context.shape(0))]


def _transpose(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    order = context.constants(1, "permutation")
    return [context.arithmetic.transpose(_sole(gradients), [int(axis) for axis in np.argsort(order)])]


def _concatenation(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a, gradient = context.arithmetic, _sole(gradients)
    if context.node.activation:
        raise NoGradientError("a fused activation")
    axis = int(context.node.options["axis"]) % len(a.shape(gradient))
    results: list[int | None] = []
    begin = [0] * len(a.shape(gradient))
    for place in range(len(context.node.inputs)):
        shape = context.shape(place)
        results.append(a.slice(gradient, list(begin), shape) if context.needs(place) else None)
        begin[axis] += shape[axis]
    return results


def _joined(context: RuleContext, gradients: Sequence[int | None], axis: int) -> int:
    """Gradients of the parts of a tensor, joined; zeros where a part has none."""
    a = context.arithmetic
    parts = [
        a.zeros(context.output_shape(place)) if gradient is None else gradient
        for place, gradient in enumerate(gradients)
    ]
    return a.concatenate(parts, axis)


def _split(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    axis = context.constants(0, "axis")[0] % len(context.shape(1))
    return [None, _joined(context, gradients, axis)]


def _split_by_sizes(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    return [_joined(context, gradients, context.constants(2, "axis")[0] % len(context.shape(0)))]


def _pack(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a, gradient = context.arithmetic, _sole(gradients)
    axis = int(context.node.options.get("axis", 0)) % len(a.shape(gradient))
    results: list[int | None] = []
    for place in range(len(context.node.inputs)):
        begin = [place if k == axis else 0 for k in range(len(a.shape(gradient)))]
        size = [1 if k == axis else n for k, n in enumerate(a.shape(gradient))]
        part = a.reshape(a.slice(gradient, begin, size), context.shape(place)) if context.needs(place) else None
        results.append(part)
    return results


def _unpack(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a = context.arithmetic
    axis = int(context.node.options.get("axis", 0)) % len(context.shape(0))
    rows = [size if k != axis else 1 for k, size in enumerate(context.shape(0))]
    parts = [a.zeros(tuple(rows)) if gradient is None else a.reshape(gradient, rows) for gradient in gradients]
    return [a.concatenate(parts, axis)]


def _slice(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """Back to its place among zeros."""
    a, gradient, shape = context.arithmetic, _sole(gradients), context.shape(0)
    if context.source.values(context.node.inputs[1]) is None:
        return [_put(context, gradient, context.input(1))]
    begin = context.constants(1, "begin")
    around = [(b, n - b - s) for b, n, s in zip(begin, shape, a.shape(gradient), strict=True)]
    return [a.pad(gradient, around)]


def _put(context: RuleContext, gradient: int, begin: int) -> int:
    """A gradient at a place known at run time among zeros in the shape of input 0."""
    a = context.arithmetic
    shape = context.shape(0)
    return a.graph.compute("DYNAMIC_UPDATE_SLICE", [a.zeros(shape), gradient, begin], shape)


def _strided_slice(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """Gradient among zeros, of a cut at places that are known; steps other than 1 leave zeros between elements."""
    a, options, shape = context.arithmetic, context.node.options, context.shape(0)
    if options.get("ellipsis_mask") or options.get("new_axis_mask"):
        raise NoGradientError("an ellipsis or a new axis")
    begins, ends, steps = (context.constants(place, "place or step") for place in (1, 2, 3))
    cuts = []
    for axis, size in enumerate(shape):
        begin: int | None = begins[axis] if axis < len(begins) else None
        end: int | None = ends[axis] if axis < len(ends) else None
        step = steps[axis] if axis < len(steps) else 1
        begin = None if int(options.get("begin_mask", 0)) >> axis & 1 else begin
        end = None if int(options.get("end_mask", 0)) >> axis & 1 else end
        if begin is not None and int(options.get("shrink_axis_mask", 0)) >> axis & 1:
            begin %= size
            end, step = begin + 1, 1
        elif begin is not None and end is not None and options.get("offset"):
            end += begin
        cuts.append(range(size)[begin:end:step])
    if any(len(cut) > 1 and cut.step < 0 for cut in cuts):
        raise NoGradientError("a negative step")
    gradient = a.reshape(_sole(gradients), [len(cut) for cut in cuts])
    for axis, cut in enumerate(cuts):
        if len(cut) > 1 and cut.step > 1:
            gradient = _with_gaps(context, gradient, axis, cut.step)
    sizes = a.shape(gradient)
    around = [(cut.start, n - cut.start - size) for cut, n, size in zip(cuts, shape, sizes, strict=True)]
    return [a.pad(gradient, around)]


def _with_gaps(context: RuleContext, gradient: int, axis: int, step: int) -> int:
    """Elements along an axis `step` apart, zeros between them."""
    a = context.arithmetic
    shape = a.shape(gradient)
    wide = a.reshape(gradient, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
    around = [(0, 0)] * (len(shape) + 1)
    around[axis + 1] = (0, step - 1)
    padded = a.pad(wide, around)
    spread = a.reshape(padded, (*shape[:axis], shape[axis] * step, *shape[axis + 1 :]))
    size = [(n - 1) * step + 1 if k == axis else n for k, n in enumerate(shape)]
    return a.slice(spread, [0] * len(shape), size)


def _pad(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    around = np.reshape(context.constants(1, "padding"), (-1, 2))
    by_input = None
    if context.needs(0):
        by_input = context.arithmetic.slice(_sole(gradients), [int(b) for b, _ in around], context.shape(0))
    if context.needs(2):
        raise NoGradientError("padding that trains")
    return [by_input]


def _gather(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """Each row to its place; rows that are chosen several times add up.

    The rows of all batches are those of one tensor, and the axis is the first, while they are scattered.
    """
    a, gradient, shape = context.arithmetic, _sole(gradients), context.shape(0)
    batch, axis = (int(context.node.options.get(name, 0)) for name in ("batch_dims", "axis"))
    batch, axis = batch % (len(context.shape(1)) + 1), axis % len(shape)
    indices = context.input(1)
    if a.graph.dtype(indices) is not DType.INT32:
        indices = a.cast(indices, DType.INT32)
    if math.prod(a.shape(indices)) == 1:
        parts = [a.integers([0] * axis), a.reshape(indices, (1,)), a.integers([0] * (len(shape) - axis - 1))]
        begin = a.concatenate([part for part in parts if a.shape(part) != (0,)], 0)
        return [_put(context, a.reshape(gradient, (*shape[:axis], 1, *shape[axis + 1 :])), begin)]
    batches, chosen = math.prod(shape[:batch]), len(context.shape(1)) - batch
    if batches > 1:
        first = np.arange(batches, dtype=np.int32).reshape(*shape[:batch], *(1,) * chosen) * shape[axis]
        operands = [indices, a.graph.constant(first, DType.INT32)]
        indices = a.graph.compute("ADD", operands, a.shape(indices), DType.INT32)
    count, before, after = math.prod(a.shape(indices)), shape[batch:axis], shape[axis + 1 :]
    rows = a.reshape(gradient, (batches, math.prod(before), count // batches, math.prod(after)))
    rows = a.reshape(a.transpose(rows, (0, 2, 1, 3)), (count, math.prod(before) * math.prod(after)))
    all_rows = (batches * shape[axis], math.prod(before) * math.prod(after))
    scattered = a.graph.compute("SCATTER_ND", [a.reshape(indices, (count, 1)), rows, a.integers(all_rows)], all_rows)
    scattered = a.reshape(scattered, (batches, shape[axis], math.prod(before), math.prod(after)))
    return [a.reshape(a.transpose(scattered, (0, 2, 1, 3)), shape)]


def _embedding(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a, shape = context.arithmetic, context.shape(1)
    indices = context.input(0)
    operands = [a.reshape(indices, (*a.shape(indices), 1)), _sole(gradients), a.integers(list(shape))]
    return [None, a.graph.compute("SCATTER_ND", operands, shape)]


def _gather_nd(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a, shape = context.arithmetic, context.shape(0)
    operands = [context.input(1), _sole(gradients), a.integers(list(shape))]
    return [a.graph.compute("SCATTER_ND", operands, shape)]


def _scatter_nd(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a = context.arithmetic
    return [None, a.graph.compute("GATHER_ND", [_sole(gradients), context.input(0)], context.shape(1))]


def _update_slice(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """The written place has its gradient from the update, all others from the operand."""
    a, gradient, begin = context.arithmetic, _sole(gradients), context.input(2)
    shape, update = context.shape(0), context.shape(1)
    by_operand = by_update = None
    if context.needs(0):
        operands = [gradient, a.zeros(update), begin]
        by_operand = a.graph.compute("DYNAMIC_UPDATE_SLICE", operands, shape)
    if context.needs(1):
        by_update = a.graph.compute("SLICE", [gradient, begin, a.integers(list(update))], update)
    return [by_operand, by_update]


def _tile(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """The sum over the copies along one axis after the other."""
    a, shape, gradient = context.arithmetic, context.shape(0), _sole(gradients)
    for axis, (repeats, size) in enumerate(zip(context.constants(1, "multiple"), shape, strict=True)):
        if repeats > 1:
            before, after = a.shape(gradient)[:axis], a.shape(gradient)[axis + 1 :]
            copies = a.reshape(gradient, (math.prod(before), repeats, size * math.prod(after)))
            gradient = a.reshape(a.sum(copies, [1]), (*before, size, *after))
    return [gradient]


def _broadcast(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    return [context.arithmetic.reduced_to(_sole(gradients), context.shape(0))]


def _inverse(name: str) -> GradientRule:
    """Rule for a permutation of elements that another operator with the same options and further operands undoes."""

    def rule(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
        others = [context.input(place) for place in range(1, len(context.node.inputs))]
        graph = context.arithmetic.graph
        options = dict(context.node.options)
        return [graph.compute(name, [_sole(gradients), *others], context.shape(0), options=options)]

    return rule


def reduced_axes(context: RuleContext) -> list[int]:
    """Axes that a reduction lacks in its result."""
    rank = len(context.shape(0))
    return sorted({axis % rank for axis in context.constants(1, "axis")}) if rank else []


def kept_axes(context: RuleContext, gradient: int) -> int:
    """A reduction's gradient or result with the axes that it lacks, of one element."""
    axes = reduced_axes(context)
    return context.arithmetic.reshape(
        gradient, [1 if axis in axes else size for axis, size in enumerate(context.shape(0))]
    )


def _sum(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    return [context.arithmetic.spread(kept_axes(context, _sole(gradients)), context.shape(0))]


def _mean(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    a = context.arithmetic
    count = math.prod(context.shape(0)[axis] for axis in reduced_axes(context))
    return [a.spread(a.scale(kept_axes(context, _sole(gradients)), 1 / count), context.shape(0))]


def _extreme(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """In equal parts to all elements that are the extreme one."""
    a = context.arithmetic
    is_extreme = a.compare("EQUAL", context.input(0), kept_axes(context, context.output()))
    ones = a.cast(is_extreme, DType.FLOAT32)
    share = a.divide(kept_axes(context, _sole(gradients)), a.sum(ones, reduced_axes(context), keep=True))
    return [a.multiply(ones, share)]


def _cumulative_sum(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    """The cumulative sum from the other end."""
    graph, options = context.arithmetic.graph, dict(context.node.options)
    options["reverse"] = not options.get("reverse", False)
    axis = context.arithmetic.integers(context.constants(1, "axis")[0])
    return [graph.compute("CUMSUM", [_sole(gradients), axis], context.shape(0), options=options)]


def _fill(context: RuleContext, gradients: Sequence[int | None]) -> Gradients:
    return [None, context.arithmetic.reshape(context.arithmetic.total(_sole(gradients)), context.shape(1))]


RULES: Mapping[str, GradientRule] = {
    "BATCH_TO_SPACE_ND": _inverse("SPACE_TO_BATCH_ND"),
    "BROADCAST_TO": _broadcast,
    "CONCATENATION": _concatenation,
    "CUMSUM": _cumulative_sum,
    "DEPTH_TO_SPACE": _inverse("SPACE_TO_DEPTH"),
    "DYNAMIC_UPDATE_SLICE": _update_slice,
    "EMBEDDING_LOOKUP": _embedding,
    "EXPAND_DIMS": _reshape,
    "FILL": _fill,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "MEAN": _mean,
    "PACK": _pack,
    "PAD": _pad,
    "PADV2": _pad,
    "REDUCE_MAX": _extreme,
    "REDUCE_MIN": _extreme,
    "RESHAPE": _reshape,
    "REVERSE_SEQUENCE": _inverse("REVERSE_SEQUENCE"),
    "REVERSE_V2": _inverse("REVERSE_V2"),
    "SCATTER_ND": _scatter_nd,
    "SLICE": _slice,
    "SPACE_TO_BATCH_ND": _inverse("BATCH_TO_SPACE_ND"),
    "SPACE_TO_DEPTH": _inverse("DEPTH_TO_SPACE"),
    "SPLIT": _split,
    "SPLIT_V": _split_by_sizes,
    "SQUEEZE": _reshape,
    "STRIDED_SLICE": _strided_slice,
    "SUM": _sum,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
}
