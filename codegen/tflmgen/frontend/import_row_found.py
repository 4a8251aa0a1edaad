"""Operators whose rows their inputs decide, such as WHERE: room for the most, and their number beside them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError, check_rows
from tflmgen.frontend.import_row_wise import row_wise, unify_extents
from tflmgen.ir import DType, TensorType, constant_array
from tflmgen.ir.graph import Value

Outputs = tuple[Value, ...] | None

FARTHEST = 2**31 - 2
"""Greatest distance of a range's ends: int32 has one more, which says that there is no place for more numbers."""

LARGEST_TABLE = 4 << 20
"""Bytes of a range's numbers, which a file of a few bytes can ask for, and which the C has all of."""


def nonzero(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """WHERE: places in the largest shape are those in the shape in use; elements not in use count as 0."""
    value, types = _checked(context, call)
    for axis in context.extents.get(value, {}):
        value = builder.fill(value, 0, axis)
    shape = (_room(call, value), len(value.type.shape))
    return builder.counted_rows("NONZERO_ROWS", (value,), (types[0].with_shape(shape),))


def unique(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """UNIQUE: each different element in use once, and for each element in use its place among these."""
    value, types = _checked(context, call)
    room = types[0].with_shape((_room(call, value),))
    rows, indices = builder.counted_rows("UNIQUE_ROWS", (value, builder.extent(value)), (room, types[1]))
    if value in context.extents:
        context.extents[indices] = context.extents[value]
    return rows, indices


def segment_sum(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """SEGMENT_SUM: as many rows as the last index in use says, and one."""
    data, ids = call.inputs
    assert data is not None
    assert ids is not None
    if set(context.extents.get(data, {})) - {0} or data.type.dtype not in (DType.FLOAT32, DType.INT32):
        raise RowError("sums rows of float32 or int32 of known sizes, by computed ids")
    if ids.type.dtype is not DType.INT32 or len(ids.type.shape) != 1 or ids.type.max_shape != data.type.max_shape[:1]:
        raise RowError("requires an int32 segment id for each row")
    limit = call.max_dims.get(0, context.bounds.largest)
    if limit is None:
        name = f"{call.origin.subgraph}:{call.tensors[0].name}"
        raise RowError(f"its segment ids are computed: say how many segments there may be with --max-rows '{name}=N'")
    room = call.declared[0].with_shape((limit, *data.type.max_shape[1:]))
    return builder.counted_rows("SEGMENT_SUM_ROWS", (data, ids, builder.extent(ids)), (room,))


def counted(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """RANGE between integers known at run time: the numbers of the largest range, of which the first count.

    A range from its limit away is empty, as in the reference; TensorFlow refuses it.
    """
    start, limit, step = call.inputs
    assert start is not None
    assert limit is not None
    stride = constant_array(step, context.constants)
    _checked(context, call)
    dtype = call.declared[0].dtype
    if stride is None or dtype not in (DType.INT32, DType.INT64) or abs(int(stride.reshape(-1)[0])) > FARTHEST:
        raise RowError("counts integers by a constant step below 2^31 - 1 where the limits are known at run time only")
    by = int(stride.reshape(-1)[0])
    room = _range_room(context, call, start, limit, by)
    distance = _distance(context, builder, (start, limit), room * by)
    extent = builder.limited_extent(distance, room * abs(by))
    extent = extent if abs(by) == 1 else builder.quotient_up(extent, abs(by))
    numbers = builder.integers("numbers", [by * k for k in range(room)], dtype)
    if not _is_zero(context, start):
        shifted = (numbers, builder.view(start, ()))
        numbers = builder.op("ADD", shifted, numbers.type, {"fused_activation_function": 0})
    return (builder.with_extent(numbers, 0, extent),)


def _distance(context: Context, builder: Builder, ends: tuple[Value, Value], reach: int) -> Value:
    """Distance of the second of two scalars from the first, in the direction of `reach`, to one more than `reach`.

    Computed in int64, where no int32 overflows. A number of rows is no less than 0, and stays as it is known.
    """
    scalars = [builder.view(end, ()) for end in ends]
    if _is_zero(context, ends[0]) and reach > 0 and _counts_rows(context, scalars[1]):
        return scalars[1]
    wide = [value if value.type.dtype is DType.INT64 else builder.cast(value, DType.INT64) for value in scalars]
    first, last = wide if reach > 0 else reversed(wide)
    difference = builder.op("SUB", (last, first), last.type, {"fused_activation_function": 0})
    for name, bound in (("MAXIMUM", 0), ("MINIMUM", abs(reach) + 1)):
        difference = builder.op(name, (difference, builder.integers("bound", bound, DType.INT64)), difference.type)
    return builder.cast(difference, DType.INT32)


def _counts_rows(context: Context, value: Value) -> bool:
    """Whether an int32 is a sum of numbers of rows, and of no other terms."""
    form = context.linear_form(value) or {}
    rows = {extent for extents in context.extents.values() for extent in extents.values()}
    is_sum = all((key is None or key in rows) and np.all(array >= 0) for key, array in form.items())
    return value.type.dtype is DType.INT32 and is_sum and any(key is not None for key in form)


def _is_zero(context: Context, value: Value) -> bool:
    array = constant_array(value, context.constants)
    return array is not None and not array.any()


def _range_room(context: Context, call: DynamicCall, start: Value, limit: Value, step: int) -> int:
    """The most numbers that a range has. Raises RowError where neither its limit nor the user says it."""
    first, last = (constant_array(start, context.constants), context.largest.get(limit))
    bounds = [n for n in (call.max_dims.get(0), context.bounds.largest) if n is not None]
    if first is not None and last is not None and step > 0:
        bounds.append(max(0, -(-(int(last.reshape(-1)[0]) - int(first.reshape(-1)[0])) // step)))
    room = max(1, min(*bounds, FARTHEST // abs(step))) if bounds else 0
    if not bounds or room * call.declared[0].dtype.numpy.itemsize > LARGEST_TABLE:
        name, known = f"{call.origin.subgraph}:{call.tensors[0].name}", f", up to {room:,} numbers" if bounds else ""
        raise RowError(f"its limit is computed{known}: say how many numbers there may be with --max-rows '{name}=N'")
    return room


def suppression(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """NON_MAX_SUPPRESSION: boxes not in use have the score that none exceeds, and no more can be selected than are."""
    boxes, scores, number = call.inputs[:3]
    limit = constant_array(number, context.constants) if number is not None else None
    if boxes is None or scores is None or limit is None or limit.size != 1:
        return None
    inputs: list[Value | None] = list(call.inputs)
    extent = unify_extents(context, builder, inputs, [(0, 0), (1, 0)])
    scores = inputs[1]
    if scores is not None and extent is not None:
        inputs[1] = builder.fill(scores, -math.inf, 0, extent)
    boxes = inputs[0]
    assert boxes is not None
    inputs[2] = builder.integers("limit", min(int(limit.reshape(-1)[0]), max(1, boxes.type.max_shape[0])))
    return row_wise(context, builder, replace(call, inputs=tuple(inputs)), frozenset({(0, 0), (1, 0)}))


def _checked(context: Context, call: DynamicCall) -> tuple[Value, tuple[TensorType, ...]]:
    """The input, and the types of the outputs. Raises RowError where a rule is broken."""
    operator, value = check_rows(context, call, call.inputs), call.inputs[0]
    if operator.problems or value is None:
        raise RowError(*operator.problems[:1])
    return value, operator.outputs


def _room(call: DynamicCall, value: Value) -> int:
    """The most rows: the user's bound, or one for each element; at least one, so that there is a tensor."""
    return max(1, min(value.type.elements, call.max_dims.get(0, value.type.elements)))
