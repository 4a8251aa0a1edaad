"""Imports operators that read the extent of a tensor: CONCATENATION, GATHER, reductions, SOFTMAX, PAD.

Each function returns the outputs, or None for a call that it does not handle and that may be row-wise
(import_row_wise.py). Operators on whole shapes are in import_row_shapes.py, slices in import_row_slices.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_batches import batch_to_space, space_to_batch
from tflmgen.frontend.import_row_call import DynamicCall, check_rows, checked
from tflmgen.frontend.import_row_found import counted, nonzero, segment_sum, suppression, unique
from tflmgen.frontend.import_row_moves import (
    depth_to_space,
    mirror_pad,
    pad_at_run_time,
    reverse,
    space_to_depth,
    split,
    split_v,
    tile,
    unpack,
)
from tflmgen.frontend.import_row_points import gather_nd, scatter_nd
from tflmgen.frontend.import_row_recurrent import recurrent
from tflmgen.frontend.import_row_resize import resize
from tflmgen.frontend.import_row_shapes import broadcast_to, filled_shape, fully_connected, reshape, shape_of
from tflmgen.frontend.import_row_slices import slice_rows, strided_slice_rows
from tflmgen.frontend.import_row_transposed import transpose
from tflmgen.frontend.import_row_windows import slide, slide_volume
from tflmgen.frontend.import_row_wise import row_wise, unify_extents
from tflmgen.ir import DType, TensorType, constant_array
from tflmgen.ir.graph import Value
from tflmgen.kernels import Traits, traits_of
from tflmgen.kernels.numeric import normalize_axis
from tflmgen.kernels.operators import in_use
from tflmgen.kernels.specification import Operators

Outputs = tuple[Value, ...] | None


def _concatenation(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    operands = [v for v in call.inputs if v is not None]
    rank = len(operands[0].type.shape)
    axis = normalize_axis(int((call.op.options or {}).get("axis", 0)), rank)
    if axis is None or any(len(v.type.shape) != rank for v in operands):
        return None
    if all(axis not in context.extents.get(v, {}) for v in operands):
        return None
    inputs: list[Value | None] = list(operands)
    common_extents: dict[int, Value] = {}
    for other_axis in range(rank):
        if other_axis != axis and any(other_axis in context.extents.get(v, {}) for v in operands):
            extent = unify_extents(context, builder, inputs, [(index, other_axis) for index in range(len(inputs))])
            if extent is not None:
                common_extents[other_axis] = extent
    operator = check_rows(context, call, tuple(inputs))
    if operator.problems:
        return None
    total_rows = operator.outputs[0].max_shape[axis]
    capacity = min(total_rows, call.max_dims.get(axis, total_rows))
    joined = operands[0]
    for position, operand in enumerate(v for v in inputs if v is not None):
        if position == 0:
            joined = operand
            continue
        rows = min(joined.type.max_shape[axis] + operand.type.max_shape[axis], capacity)
        joined = builder.append(joined, operand, operator.outputs[0].with_dim(axis, rows), axis)
        context.extents[joined].update(common_extents)
    return (joined,)


def _gather(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """GATHER along a dynamic dimension: one row per index. The indices may be dynamic too."""
    table, indices = (*call.inputs, None)[:2]
    if table is None or indices is None:
        return None
    axis = normalize_axis(int((call.op.options or {}).get("axis", 0)), len(table.type.shape))
    if axis is None or axis not in context.extents.get(table, {}):
        return None
    return row_wise(context, builder, call, frozenset({(0, axis)}))


def _reduction(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """Reductions over dynamic dimensions: rows not in use are filled with the neutral element."""
    value, axes = call.inputs[0], constant_array(call.inputs[1], context.constants)
    if value is None or axes is None:
        return None
    reduced = {normalize_axis(int(axis), len(value.type.shape)) for axis in axes.reshape(-1)}
    dynamic = sorted(axis for axis in context.extents.get(value, {}) if axis in reduced)
    if not dynamic:
        return None
    checked(context, call, call.inputs)
    is_mean = call.op.name == "MEAN"
    name = "SUM" if is_mean else call.op.name
    neutral = _neutral(context, name, value.type)
    if neutral is None:
        return None
    inputs = _filled(builder, value, dynamic, neutral), call.inputs[1]
    absorbed = frozenset((0, axis) for axis in dynamic)
    if not is_mean:
        return row_wise(context, builder, replace(call, inputs=inputs), absorbed)
    count = math.prod(value.type.max_shape[axis or 0] for axis in reduced.difference(dynamic))
    number = builder.times(builder.product([builder.extent(value, axis) for axis in dynamic]), count)
    if not value.type.dtype.is_float:
        mean = replace(call, op=replace(call.op, name="MEAN_IN_USE"), inputs=(*inputs, number))
        return row_wise(context, builder, mean, absorbed)
    summed = replace(call, op=replace(call.op, name=name), inputs=inputs)
    (result,) = row_wise(context, builder, summed, absorbed)
    return (_divided(context, builder, result, number),)


def _divided(context: Context, builder: Builder, total: Value, number: Value) -> Value:
    divisor = builder.cast(number, total.type.dtype)
    mean = builder.op("DIV", (total, divisor), total.type, {"fused_activation_function": 0})
    if total in context.extents:
        context.extents[mean] = context.extents[total]
    return mean


def _filled(builder: Builder, value: Value, axes: Iterable[int], number: float) -> Value:
    for axis in axes:
        value = builder.fill(value, number, axis)
    return value


def _neutral(context: Context, name: str, type_: TensorType) -> float | None:
    """Neutral element of a reduction, in units of `type_`; None if the operator declares none."""
    neutral = traits_of(name, context.operators).neutral
    if neutral == 0 and type_.quantization is not None:
        return type_.quantization.zero_point
    if neutral is None or math.isfinite(neutral):
        return neutral
    greatest = float(np.finfo(np.float32).max)
    limits = (-greatest, greatest) if type_.dtype is DType.FLOAT32 else type_.dtype.limits
    return limits[neutral > 0]


def _along_last(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """SOFTMAX and similar along a dynamic last dimension: elements not in use do not contribute."""
    value = call.inputs[0]
    if value is None or not value.type.shape:
        return None
    axis = len(value.type.shape) - 1
    extents = context.extents.get(value, {})
    neutral = _neutral(context, call.op.name, value.type)
    if axis not in extents or neutral is None:
        return None
    # The least quantised element is no exact substitute for minus infinity.
    if value.type.dtype is DType.FLOAT32 or traits_of(call.op.name, context.operators).neutral == 0:
        rows = replace(call, inputs=(builder.fill(value, neutral, axis),))
    else:
        checked(context, call, call.inputs)
        rows = replace(call, op=replace(call.op, name=in_use(call.op.name)), inputs=(value, extents[axis]))
    (output,) = row_wise(context, builder, rows, frozenset({(0, axis)}))
    context.extents[output] = {**context.extents.get(output, {}), axis: extents[axis]}
    return (output,)


def _along_named(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """ARG_MAX and ARG_MIN: rows not in use get the losing extreme; among equals the first wins."""
    value, axes = call.inputs[0], constant_array(call.inputs[1], context.constants)
    if value is None or axes is None or axes.size != 1:
        return None
    axis = normalize_axis(int(axes.reshape(-1)[0]), len(value.type.shape))
    neutral = _neutral(context, call.op.name, value.type)
    if axis is None or neutral is None or axis not in context.extents.get(value, {}):
        return None
    return _compared(context, builder, call, axis, 1, neutral)


def _top(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """TOPK_V2: rows not in use lose; a run-time error if there are fewer than it takes."""
    value, count = call.inputs[:2]
    if value is None or count is None or count.type.elements != 1 or not value.type.shape:
        return None
    axis = len(value.type.shape) - 1
    least = -math.inf if value.type.dtype.is_float else value.type.dtype.limits[0]
    fixed = constant_array(count, context.constants)
    if fixed is None:
        return _top_of_computed(context, builder, call, axis, least)
    if axis not in context.extents.get(value, {}):
        return None
    checked(context, call, call.inputs)
    return _compared(context, builder, call, axis, int(fixed.reshape(-1)[0]), least)


def _top_of_computed(
    context: Context, builder: Builder, call: DynamicCall, axis: int, least: float
) -> tuple[Value, ...]:
    """TOPK_V2 of a number known at run time only: the most that it may be, of which so many are in use."""
    value, count = call.inputs[:2]
    assert value is not None
    assert count is not None
    room = value.type.max_shape[axis]
    greatest = context.largest.get(count)
    limit = room if greatest is None else min(room, int(greatest.reshape(-1)[0]))
    extent = builder.extent(value, axis)
    number = builder.view(count, ()) if count.type.shape else count
    rest = builder.limited_extent(builder.difference(extent, number), room, 0, wrong_argument=True)
    in_use = builder.limited_extent(builder.difference(extent, rest), limit)
    if (form := context.linear_form(number)) is not None:
        context.linear[in_use] = form
    fixed = replace(call, inputs=(value, builder.integers("count", limit)))
    checked(context, fixed, fixed.inputs)
    outputs = _compared(context, builder, fixed, axis, 0, least)
    for output in outputs:
        context.extents[output] = {**context.extents.get(output, {}), axis: in_use}
    return outputs


def _compared(
    context: Context, builder: Builder, call: DynamicCall, axis: int, minimum: int, loser: float
) -> tuple[Value, ...]:
    """An operator that compares the elements along an axis, of which there must be `minimum`; `loser` loses."""
    value = call.inputs[0]
    assert value is not None
    extent = builder.limited_extent(builder.extent(value, axis), value.type.max_shape[axis], minimum, True)
    if value.type.dtype.is_float:
        loser = math.copysign(math.inf, loser)
    filled = builder.fill(value, loser, axis, extent)
    return row_wise(context, builder, replace(call, inputs=(filled, *call.inputs[1:])), frozenset({(0, axis)}))


def _reverse(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """Reverse CUMSUM: rows not in use, which it sums first, become 0."""
    value, axes = call.inputs[0], constant_array(call.inputs[1], context.constants)
    if value is None or axes is None or not (call.op.options or {}).get("reverse", False):
        return None
    axis = normalize_axis(int(axes.reshape(-1)[0]), len(value.type.shape))
    extents = context.extents.get(value, {})
    if axis is None or axis not in extents:
        return None
    filled = builder.fill(value, 0, axis)
    inputs = (filled, call.inputs[1])
    (output,) = row_wise(context, builder, replace(call, inputs=inputs), frozenset({(0, axis)}))
    context.extents[output] = {**context.extents.get(output, {}), axis: extents[axis]}
    return (output,)


def _pad(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """PAD along dynamic dimensions: everything after the rows in use becomes padding."""
    value, pads = call.inputs[0], constant_array(call.inputs[1], context.constants)
    if value is None:
        return None
    number: float = value.type.quantization.zero_point if value.type.quantization else 0
    if len(call.inputs) > 2:
        padding = constant_array(call.inputs[2], context.constants)
        if padding is None or padding.size != 1:
            return None
        number = padding.reshape(-1)[0].item()
    if pads is None:
        return pad_at_run_time(context, builder, call, number)
    extents = context.extents.get(value, {})
    padded = {a: (int(b), int(e)) for a, (b, e) in enumerate(pads.reshape(-1, 2)) if a in extents and (b or e)}
    if not padded:
        return None
    (output,) = row_wise(context, builder, call, frozenset((0, axis) for axis in padded))
    for axis, (before, after) in padded.items():
        in_use = builder.plus(extents[axis], before)
        context.extents[output] = {**context.extents.get(output, {}), axis: in_use}
        output = builder.fill(output, number, axis)
        context.extents[output] = {**context.extents[output], axis: builder.plus(in_use, after)}
    return (output,)


def _batch_matmul(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """BATCH_MATMUL over a dynamic depth: rows not in use become 0 in both operands."""
    inputs = list(call.inputs[:2])
    options = call.op.options or {}
    depths = []
    for index, name in enumerate(("adj_x", "adj_y")):
        value = inputs[index]
        if value is None or len(value.type.shape) < 2:
            return None
        depths.append((index, len(value.type.shape) - (2 if bool(options.get(name, False)) == (index == 0) else 1)))
    if not any((v := inputs[index]) is not None and axis in context.extents.get(v, {}) for index, axis in depths):
        return None
    extent = unify_extents(context, builder, inputs, depths)
    for index, axis in depths:
        value = inputs[index]
        if value is not None and extent is not None:
            inputs[index] = builder.fill(value, _neutral(context, call.op.name, value.type) or 0, axis, extent)
    return row_wise(context, builder, replace(call, inputs=tuple(inputs)), frozenset(depths))


Reader = Callable[[Context, Builder, DynamicCall], Outputs]

READERS: Mapping[str, Reader] = {
    "CONCATENATION": _concatenation,
    "SHAPE": shape_of,
    "RESHAPE": reshape,
    "FULLY_CONNECTED": fully_connected,
    "FILL": filled_shape,
    "BROADCAST_TO": broadcast_to,
    "GATHER": _gather,
    "GATHER_ND": gather_nd,
    "SCATTER_ND": scatter_nd,
    "SLICE": slice_rows,
    "STRIDED_SLICE": strided_slice_rows,
    "BATCH_MATMUL": _batch_matmul,
    "CUMSUM": _reverse,
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"), slide),
    "WHERE": nonzero,
    "UNIQUE": unique,
    "SEGMENT_SUM": segment_sum,
    "RANGE": counted,
    **dict.fromkeys(("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"), suppression),
    "TOPK_V2": _top,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "UNPACK": unpack,
    "REVERSE_V2": reverse,
    "MIRROR_PAD": mirror_pad,
    "TILE": tile,
    "RESIZE_NEAREST_NEIGHBOR": resize,
    "RESIZE_BILINEAR": resize,
    "DEPTH_TO_SPACE": depth_to_space,
    "SPACE_TO_DEPTH": space_to_depth,
    "CONV_3D": slide_volume,
    "TRANSPOSE_CONV": transpose,
    "SPACE_TO_BATCH_ND": space_to_batch,
    "BATCH_TO_SPACE_ND": batch_to_space,
}
"""Operators that are imported each in a way of its own."""

BY_TRAIT: tuple[tuple[Callable[[Traits], bool], Reader], ...] = (
    (lambda traits: traits.pads, _pad),
    (lambda traits: traits.along_named, _along_named),
    (lambda traits: traits.along_last, _along_last),
    (lambda traits: traits.reduces, _reduction),
)


def reader_of(name: str, operators: Operators) -> Reader | None:
    """The importer of an operator on dynamic dimensions; None for operators that are at most row-wise."""
    if name in operators and operators[name].updates:
        return recurrent
    traits = traits_of(name, operators)
    return READERS.get(name) or next((reader for holds, reader in BY_TRAIT if holds(traits)), None)
