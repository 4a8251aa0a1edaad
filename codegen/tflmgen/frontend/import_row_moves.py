"""Operators that move what lies along dimensions known at run time only: splits, reversals, mirrored and tiled rows.

They become cuts, repetitions and joins of rows (dynamic_rows.py, dynamic_repeats.py) along such dimensions; the
operator itself does the rest, along the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError, bounded, checked, declared_dim
from tflmgen.frontend.import_row_shapes import exact_extent
from tflmgen.frontend.import_row_slices import TO_THE_END
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir import constant_array
from tflmgen.ir.graph import Value
from tflmgen.kernels.numeric import normalize_axis
from tflmgen.kernels.operators import Cut, Repeat, RowWindow

Outputs = tuple[Value, ...] | None
SYMMETRIC = 1
"""MIRROR_PAD's mode, as the schema numbers it, that repeats the border."""


def _named_axis(context: Context, call: DynamicCall, source: int, at: int) -> int | None:
    """The axis that input `at` names, if it is a dynamic one of input `source`."""
    value, axes = call.inputs[source], constant_array(call.inputs[at], context.constants)
    if value is None or axes is None or axes.size != 1:
        return None
    axis = normalize_axis(int(axes.reshape(-1)[0]), len(value.type.shape))
    return axis if axis in context.extents.get(value, {}) else None


def split(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """SPLIT into equal parts; an error at run time where they would not be."""
    axis, value, count = _named_axis(context, call, 1, 0), call.inputs[1], len(call.tensors)
    if axis is None or value is None or not count:
        return None
    part = builder.quotient(builder.extent(value, axis), count)
    room = max(1, value.type.max_shape[axis] // count)
    bounds = [builder.times(part, index) if index else builder.integers("begin", 0) for index in range(count + 1)]
    cut = Cut(axis, 1, False, False, False, False)
    outputs = [builder.cut(value, *pair, cut, room) for pair in pairwise(bounds)]
    for output in outputs:
        context.extents[output] = {**context.extents.get(output, {}), axis: part}
    return tuple(outputs)


def split_v(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """SPLIT_V: parts of given lengths, of which one may be what remains."""
    axis, value = _named_axis(context, call, 0, 2), call.inputs[0]
    lengths = constant_array(call.inputs[1], context.constants)
    if axis is None or value is None or lengths is None or lengths.size != len(call.tensors):
        return None
    sizes = [int(size) for size in lengths.reshape(-1)]
    fixed = sum(size for size in sizes if size >= 0)
    is_open = sizes.count(-1) == 1
    if min(sizes) < -1 or sizes.count(-1) > 1 or fixed > value.type.max_shape[axis]:
        raise RowError(
            f"SPLIT_V takes parts of {sizes} elements along axis {axis}, of at most {value.type.max_shape[axis]}"
        )
    upper_bound = value.type.max_shape[axis] if is_open else fixed
    rows = builder.limited_extent(builder.extent(value, axis), upper_bound, fixed, wrong_argument=True)
    value = builder.with_extent(value, axis, rows)
    outputs: list[Value] = []
    first = 0
    for size in sizes:
        if size < 0:
            after = sum(sizes[len(outputs) + 1 :])
            window, room = RowWindow(first, -after if after else TO_THE_END, False, axis), max(1, upper_bound - fixed)
            first = -after
        else:
            last = first + size
            window = RowWindow(first, TO_THE_END if first < 0 and last == 0 else last, True, axis)
            room, first = size, last
        outputs.append(builder.window(value, window, room))
    return tuple(outputs)


def unpack(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """UNPACK along a dynamic dimension: there are as many rows as outputs, or it is an error at run time."""
    value = call.inputs[0]
    if value is None:
        return None
    axis = normalize_axis(int((call.op.options or {}).get("axis", 0)), len(value.type.shape))
    if axis is None or axis not in context.extents.get(value, {}):
        return None
    count, room = len(call.tensors), value.type.max_shape[axis]
    if count > room:
        raise RowError(f"UNPACK makes {count} tensors of dimension {axis}, which is at most {room}")
    return row_wise(context, builder, replace(call, inputs=(builder.exactly(value, count, axis),)))


def reverse(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """REVERSE_V2: the rows in use come in reverse order."""
    value, named = call.inputs[0], constant_array(call.inputs[1], context.constants)
    if value is None or named is None:
        return None
    axes = [normalize_axis(int(axis), len(value.type.shape)) for axis in named.reshape(-1)]
    dynamic = [axis for axis in axes if axis is not None and axis in context.extents.get(value, {})]
    if not dynamic or None in axes:
        return None
    zero = builder.integers("bound", 0)
    for axis in dynamic:
        extent = builder.extent(value, axis)
        value = builder.cut(value, zero, zero, Cut(axis, -1, True, True, False, False), value.type.max_shape[axis])
        context.extents[value][axis] = extent
    rest = [int(axis) for axis in axes if axis is not None and axis not in dynamic]
    return row_wise(context, builder, replace(call, inputs=(value, builder.integers("axes", rest))))


def mirror_pad(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """MIRROR_PAD: mirrored rows are cut out and joined to the others; an error where there are too few."""
    value, table = call.inputs[0], constant_array(call.inputs[1], context.constants)
    if value is None or table is None or table.size != 2 * len(value.type.shape):
        return None
    pads = table.reshape(-1, 2).astype(int).tolist()
    dynamic = [axis for axis in context.extents.get(value, {}) if any(pads[axis])]
    if not dynamic:
        return None
    checked(context, call, call.inputs)
    skipped = 0 if int((call.op.options or {}).get("mode", 0)) == SYMMETRIC else 1
    for axis in dynamic:
        before, after = pads[axis]
        joined = value
        if before:
            first = _mirrored(builder, value, axis, before - 1 + skipped, before)
            joined = builder.append(first, value, value.type.with_dim(axis, before + value.type.max_shape[axis]), axis)
        if after:
            last = _mirrored(builder, value, axis, -1 - skipped, after)
            room = joined.type.max_shape[axis] + after
            joined = builder.append(joined, last, value.type.with_dim(axis, room), axis)
        value, pads[axis] = joined, [0, 0]
    return row_wise(context, builder, replace(call, inputs=(value, builder.integers("paddings", pads))))


def _mirrored(builder: Builder, value: Value, axis: int, begin: int, count: int) -> Value:
    """`count` rows from `begin` (negative: from the end) on, backwards."""
    end, to_first = begin - count, begin - count == -1 and begin >= 0
    bounds = (builder.integers("begin", begin), builder.integers("end", end))
    return builder.cut(value, *bounds, Cut(axis, -1, False, to_first, False, True), count)


def tile(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """TILE along dynamic dimensions, or by numbers from the run time."""
    value, multiples = call.inputs
    if value is None or multiples is None or multiples.type.elements != len(value.type.shape):
        return None
    known = constant_array(multiples, context.constants)
    dynamic = context.extents.get(value, {})
    if known is not None and all(int(known.reshape(-1)[axis]) == 1 for axis in dynamic):
        return None
    rest = [1 if n is None or axis in dynamic else n for axis, n in _numbered(known, value)]
    for axis, times in _numbered(known, value):
        size, bound = value.type.max_shape[axis], declared_dim(call, axis)
        if times is not None and axis in dynamic and times != 1:
            wanted, room = builder.times(builder.extent(value, axis), times), max(1, size * times)
        elif times is None and (axis in dynamic or bound != size):
            factors = builder.extent(value, axis), builder.element(multiples, axis)
            room = bound if bound >= 0 else bounded(context, call, axis)
            wanted = builder.limited_extent(builder.product(factors), room, max(bound, 0), bound >= 0)
        else:
            continue
        value = builder.repeat(value, wanted, room, Repeat(axis, broadcast=False))
        if times is not None or bound < 0:
            context.extents[value] = {**context.extents.get(value, {}), axis: wanted}
    return row_wise(context, builder, replace(call, inputs=(value, builder.integers("multiples", rest))))


def _numbered(known: NDArray[Any] | None, value: Value) -> list[tuple[int, int | None]]:
    """Each axis and how often it is repeated, None where only the run time knows."""
    return [(a, None if known is None else int(known.reshape(-1)[a])) for a in range(len(value.type.shape))]


def pad_at_run_time(context: Context, builder: Builder, call: DynamicCall, number: float) -> Outputs:
    """PAD and PADV2 by numbers from the run time; dimensions that the file declares as large as before stay."""
    value, table = call.inputs[:2]
    if value is None or table is None or table.type.elements != 2 * len(value.type.shape):
        return None
    for axis, size in enumerate(value.type.max_shape):
        bound = declared_dim(call, axis)
        if bound == size and axis not in context.extents.get(value, {}):
            continue
        if bound < 0:
            bound = _exact_room(context, value, table, axis)
        room = bound if bound >= 0 else bounded(context, call, axis)
        before, after = (builder.limited_extent(builder.element(table, 2 * axis + side), room) for side in (0, 1))
        total = builder.sum([before, builder.extent(value, axis), after])
        total = builder.limited_extent(total, room, max(bound, 0), bound >= 0)
        value = builder.place(value, before, number, axis, room)
        kept = {a: e for a, e in context.extents.get(value, {}).items() if a != axis}
        context.extents[value] = kept if bound >= 0 else {**kept, axis: total}
    return (value,)


def _exact_room(context: Context, value: Value, table: Value, axis: int) -> int:
    """The padded dimension where it is the same for every run, as when rows are filled up to a number; else -1."""
    extent = context.extents.get(value, {}).get(axis, value.type.max_shape[axis])
    pads = [(table, (axis, side) if len(table.type.shape) == 2 else (2 * axis + side,)) for side in (0, 1)]
    room = exact_extent(context, [extent, *pads])
    return -1 if room is None else room


def depth_to_space(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """DEPTH_TO_SPACE of dynamic rows: each row of pixels becomes `block_size` rows."""
    return _blocks(context, builder, call, lambda value, _, extent, size: (value, builder.times(extent, size)))


def space_to_depth(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """SPACE_TO_DEPTH of dynamic rows: `block_size` rows become one; an error at run time if rows are left over."""

    def divided(value: Value, axis: int, extent: Value, size: int) -> tuple[Value, Value]:
        fitted = builder.fit(value, value.type.max_shape[axis] // size * size, axis)
        return fitted, builder.quotient(extent, size)

    return _blocks(context, builder, call, divided)


def _blocks(
    context: Context, builder: Builder, call: DynamicCall, fit: Callable[[Value, int, Value, int], tuple[Value, Value]]
) -> Outputs:
    value = call.inputs[0]
    if value is None or len(value.type.shape) != 4:
        return None
    extents = dict(context.extents.get(value, {}))
    size = int((call.op.options or {}).get("block_size", 0))
    dynamic: Sequence[int] = [axis for axis in (1, 2) if axis in extents]
    if not dynamic or size < 1:
        return None
    block_extents: Mapping[int, Value] = {}
    for axis in dynamic:
        value, extent = fit(value, axis, extents[axis], size)
        block_extents = {**block_extents, axis: extent}
    (output,) = row_wise(context, builder, replace(call, inputs=(value,)), frozenset((0, axis) for axis in dynamic))
    context.extents[output] = {**context.extents.get(output, {}), **block_extents}
    return (output,)
