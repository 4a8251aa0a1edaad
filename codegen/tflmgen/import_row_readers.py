"""Operators that read how many rows of a tensor are in use: CONCATENATION, SHAPE, RESHAPE, GATHER, slices, reductions.

Each function gives the outputs, or None where the call is none of its kind and may be row-wise (import_rows.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from tflmgen.graph import Op, Value
from tflmgen.import_build import EXTENT, Builder, rows_of, with_rows
from tflmgen.import_context import Context
from tflmgen.import_row_call import RowCall, check_rows, checked, define
from tflmgen.ops.layout import normalize_axis
from tflmgen.ops.rows import Window
from tflmgen.support import constant_array
from tflmgen.types import DType, TensorType

Outputs = tuple[Value, ...] | None
TO_THE_END = 2**31 - 1


def _concatenation(context: Context, builder: Builder, call: RowCall) -> Outputs:
    found = check_rows(context, call, call.inputs)
    operands = [v for v in call.inputs if v is not None]
    if found.problems or normalize_axis(found.attributes.axis, len(operands[0].type.shape)) != 0:
        return None
    total = found.outputs[0].max_shape[0]
    most = total if call.most is None else min(total, call.most)
    joined = operands[0]
    if len(operands) == 1:
        return (joined,)
    so_far = rows_of(joined)
    for operand in operands[1:]:
        so_far = min(so_far + rows_of(operand), most)
        joined = builder.append(joined, operand, with_rows(found.outputs[0], so_far))
    return (joined,)


def _shape(context: Context, builder: Builder, call: RowCall) -> Outputs:
    output = checked(context, call, call.inputs).outputs[0]
    (value,) = (v for v in call.inputs if v is not None)
    extent = builder.extent(value)
    if output.dtype is not extent.type.dtype:
        extent = builder.op("CAST", (extent,), replace(extent.type, dtype=output.dtype))
    first = builder.view(extent, (1,))
    if len(value.type.shape) == 1:
        return (first,)
    rest = builder.integers("shape", value.type.max_shape[1:], output.dtype)
    return (builder.op("CONCATENATION", (first, rest), output, {"axis": 0}),)


def _reshape(context: Context, builder: Builder, call: RowCall) -> Outputs:
    """A shape computed at run time: the declared one, of which only the first dimension may be open, tells it all."""
    value, wanted = (*call.inputs, None)[:2]
    signature = call.tensors[0].shape_signature or ()
    if value is None or wanted is None or wanted.is_constant or signature[:1] != (-1,) or -1 in signature[1:]:
        return None
    row = max(1, TensorType(value.type.dtype, signature[1:]).elements)
    if value.type.elements % (row * rows_of(value)):
        return None
    shape = (value.type.elements // row, *signature[1:])
    viewed = builder.view(value, shape)
    context.extents[viewed] = builder.times(builder.extent(value), shape[0] // rows_of(value))
    return (viewed,)


def _gather(context: Context, builder: Builder, call: RowCall) -> Outputs:
    """Rows of a dynamic tensor: as many as there are indices, which may be dynamic themselves."""
    table, indices = (*call.inputs, None)[:2]
    if table is None or indices is None or table not in context.extents:
        return None
    found = checked(context, call, call.inputs)
    attributes = found.attributes
    if normalize_axis(attributes.axis, len(table.type.shape)) != 0 or attributes.batch_dims:
        return None
    outputs = define(context, call, found.outputs)
    builder.nodes.append(Op(context.new_id(), call.op.name, call.inputs, outputs, attributes, call.origin))
    if indices in context.extents:
        context.extents[outputs[0]] = builder.extent(indices)
    return outputs


def _slice(context: Context, builder: Builder, call: RowCall) -> Outputs:
    """SLICE from a known row on, to the end or for a known number of rows; the other dimensions stay whole."""
    value = call.inputs[0]
    begins, sizes = (constant_array(v, context.constants) for v in call.inputs[1:3])
    if value is None or value not in context.extents or begins is None or sizes is None:
        return None
    checked(context, call, call.inputs)
    begin, size = (int(a.reshape(-1)[0]) for a in (begins, sizes))
    if (begin, size) == (0, -1):
        return None
    whole = zip(value.type.max_shape[1:], begins.reshape(-1)[1:], sizes.reshape(-1)[1:], strict=True)
    if any(start != 0 or count not in (-1, dim) for dim, start, count in whole):
        return None
    if size < 0:
        return (builder.window(value, Window(begin, TO_THE_END, False), max(0, rows_of(value) - begin)),)
    return (builder.window(value, Window(begin, begin + size, True), size),)


def _strided_slice(context: Context, builder: Builder, call: RowCall) -> Outputs:
    """input[begin:end] or input[row], the other dimensions whole."""
    value = call.inputs[0]
    begins, ends, steps = (constant_array(v, context.constants) for v in call.inputs[1:4])
    if value is None or value not in context.extents or begins is None or ends is None or steps is None:
        return None
    found = checked(context, call, call.inputs)
    masks, rank = found.attributes, len(value.type.shape)
    one_row = bool(masks.shrink_axis & 1)
    rest = found.outputs[0].max_shape[not one_row :]
    plain = not (masks.ellipsis & 1 or masks.new_axis or masks.shrink_axis & ~1 or masks.offset)
    if not plain or rest != value.type.max_shape[1:] or bool(np.any(steps != 1)) or rank == 0:
        return None
    begin = 0 if masks.begin & 1 and not one_row else int(begins.reshape(-1)[0])
    end = TO_THE_END if masks.end & 1 else int(ends.reshape(-1)[0])
    if one_row:
        row = builder.window(value, Window(begin, TO_THE_END if begin == -1 else begin + 1, True), 1)
        return (builder.view(row, rest),)
    if (begin, end) == (0, TO_THE_END):
        return None
    most = max(len(range(rows)[begin:end]) for rows in range(rows_of(value) + 1))
    return (builder.window(value, Window(begin, end, False), most),)


def _reduction(context: Context, builder: Builder, call: RowCall) -> Outputs:
    """Over the rows too: those not in use become what changes nothing in the result."""
    found = checked(context, call, call.inputs)
    value, axes = call.inputs[0], constant_array(call.inputs[1], context.constants)
    if value is None or axes is None:
        return None
    reduced = {normalize_axis(int(axis), len(value.type.shape)) for axis in axes.reshape(-1)}
    is_mean = call.op.name == "MEAN"
    if 0 not in reduced or (is_mean and not value.type.dtype.is_float):
        return None
    filled = builder.fill(value, _neutral("SUM" if is_mean else call.op.name, value.type))
    name, output = ("SUM" if is_mean else call.op.name), found.outputs[0]
    result = builder.op(name, (filled, call.inputs[1]), output, call.op.options)
    if not is_mean:
        return (result,)
    count = 1
    for axis in reduced - {0}:
        count *= value.type.max_shape[axis or 0]
    number = builder.op("CAST", (builder.times(builder.extent(value), count),), replace(EXTENT, dtype=output.dtype))
    return (builder.op("DIV", (result, number), output, {"fused_activation_function": 0}),)


def _neutral(name: str, type_: TensorType) -> float:
    """The number that a reduction takes no notice of."""
    if name == "SUM":
        return type_.quantization.zero_point if type_.quantization else 0
    if name in ("REDUCE_PROD", "REDUCE_ALL"):
        return 1
    if name == "REDUCE_ANY":
        return 0
    greatest = float(np.finfo(np.float32).max)
    limits = (-greatest, greatest) if type_.dtype is DType.FLOAT32 else type_.dtype.limits
    return limits[name == "REDUCE_MIN"]


Reader = Callable[[Context, Builder, RowCall], Outputs]

READERS: Mapping[str, Reader] = {
    "CONCATENATION": _concatenation,
    "SHAPE": _shape,
    "RESHAPE": _reshape,
    "GATHER": _gather,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    **dict.fromkeys(("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL"), _reduction),
}
