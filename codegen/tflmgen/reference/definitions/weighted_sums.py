"""Sums of products with weights: convolutions and fully connected layers, in floats, integers and hybrid.

Sources: TFLite's reference_ops and reference_integer_ops (conv.h, depthwise_conv.h, fully_connected.h,
transpose_conv.h), kernel_util.cc (multipliers), and the hybrid kernels of LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.definitions.fixed_point_numbers import quantized_multipliers, scaled, scaled_wide, wrapped
from tflmgen.reference.definitions.window_geometry import WindowAxis, axis_of, image_axes, padded, tap
from tflmgen.reference.operation import Array, Evaluation, Operation, UnsupportedError, round_half_away

_FLOAT32_EXACT = 1 << 24
"""Magnitude up to which float32 holds every integer."""


def exact_product(left: Array, right: Array) -> Array:
    """left @ right of integers, by floats wide enough for every partial sum."""
    largest = max(1, int(np.abs(left).max(initial=0))) * max(1, int(np.abs(right).max(initial=0))) * left.shape[-1]
    if largest >= 1 << 53:
        return np.asarray(left @ right)
    kind = np.float32 if largest < _FLOAT32_EXACT else np.float64
    return np.asarray(left.astype(kind) @ right.astype(kind)).astype(np.int64)


def matrix_product(left: Array, right: Array) -> Array:
    """left @ right of real numbers, or of integers exactly."""
    return np.asarray(left @ right) if left.dtype.kind == "f" else exact_product(left, right)


def is_hybrid(op: Operation) -> bool:
    """Floats by quantised weights."""
    return op.gives_floats and not op.dtype(1).is_float


def filter_scales(op: Operation) -> Array:
    """[1] or [channels]: scales of the weights."""
    quantization = op.type(1).quantization
    if quantization is None:
        raise UnsupportedError(f"{op.name} of {op.dtype(1).label} weights without quantisation")
    return np.array(quantization.scales, np.float64)


def weights(op: Operation) -> Array:
    """Integers without zero points where the layer has integers, else real numbers."""
    values = op.array(1)
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    quantization = op.type(1).quantization
    if quantization is None or not any(quantization.zero_points):
        return values.astype(np.int64)
    points = np.array(quantization.zero_points, np.int64)
    shape = [1] * values.ndim
    shape[quantization.axis if len(points) > 1 else 0] = len(points)
    return values.astype(np.int64) - points.reshape(shape)


def operand(op: Operation, index: int = 0) -> Array:
    """Elements of an input as sums need them: float64 of floats, else int64 less the zero point."""
    return op.real(index) if op.gives_floats else op.centred(index)


def is_narrow(op: Operation, bias: int) -> bool:
    """int16 layers add up 64 bits unless their bias has 32."""
    return op.output.dtype is not DType.INT16 or (op.has(bias) and op.dtype(bias) is DType.INT32)


def finished(op: Operation, sums: Array, bias: int, product_of_scales: Array, narrow: bool) -> Array:
    """Sums [..., channels] with the bias, requantised by product_of_scales / output scale, and clamped."""
    if op.gives_floats:
        return op.clamped_real(sums + op.real(bias) if op.has(bias) else sums)
    if op.has(bias):
        sums = sums + op.integers(bias)
    multipliers, shifts = quantized_multipliers(product_of_scales / op.output_scale)
    sums = scaled(wrapped(sums), multipliers, shifts) if narrow else scaled_wide(sums, multipliers, shifts)
    return op.clamped(sums + op.output_zero_point)


def layer_scales(op: Operation) -> Array:
    """Input scale times filter scales, in double."""
    return np.ones(1) if op.gives_floats else op.scale(0) * filter_scales(op)


def unrolled(image: Array, axes: tuple[WindowAxis, ...], taps: Sequence[int]) -> Array:
    """[batch, counts ..., taps * channels]: each window as a row."""
    around = padded(image, axes)
    parts = [tap(around, axes, places) for places in product(*map(range, taps))]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def _convolved(op: Operation, image: Array, filters: Array) -> Array:
    """[batch, height, width, channels]; the channels of the input may fall into groups."""
    channels, height, width, depth = filters.shape
    axes = image_axes(op.options, image.shape, (height, width))
    groups = image.shape[-1] // depth
    parts = []
    for group, share in enumerate(np.split(filters, groups)):
        part = image[..., group * depth : (group + 1) * depth] if groups > 1 else image
        parts.append(matrix_product(unrolled(part, axes, (height, width)), share.reshape(channels // groups, -1).T))
    return parts[0] if groups == 1 else np.concatenate(parts, axis=-1)


def _conv(op: Operation) -> Sequence[Array]:
    if is_hybrid(op):
        return [_hybrid_image(op, _convolved)]
    return [finished(op, _convolved(op, operand(op), weights(op)), 2, layer_scales(op), is_narrow(op, 2))]


def _depthwise_sums(op: Operation, image: Array, filters: Array) -> Array:
    """filters [1, height, width, channels]; each input channel meets `multiplier` neighbouring ones of them."""
    _, height, width, channels = filters.shape
    axes = image_axes(op.options, image.shape, (height, width))
    around = padded(image, axes)
    multiplier = channels // image.shape[-1]
    total: Array | None = None
    narrow = image.dtype.kind == "i" and np.abs(image).max(initial=0) < 1 << 9
    kind = np.int32 if narrow else image.dtype
    around, taps = around.astype(kind), filters[0].astype(kind)
    for row, column in product(range(height), range(width)):
        part = tap(around, axes, (row, column))
        part = np.repeat(part, multiplier, axis=-1) if multiplier > 1 else part
        part = part * taps[row, column]
        total = part if total is None else total + part
    assert total is not None
    return total.astype(image.dtype)


def _depthwise(op: Operation) -> Sequence[Array]:
    if is_hybrid(op):
        return [_hybrid_image(op, _depthwise_sums)]
    sums = _depthwise_sums(op, operand(op), weights(op))
    return [finished(op, sums, 2, layer_scales(op), op.output.dtype is not DType.INT16)]


def _conv_3d(op: Operation) -> Sequence[Array]:
    image, filters = op.real(0), op.real(1)
    *taps, _, channels = filters.shape
    pairs = zip("dhw", image.shape[1:4], taps, strict=True)
    axes = tuple(axis_of(op.options, letter, i, *sizes) for i, (letter, *sizes) in enumerate(pairs))
    sums = unrolled(image, axes, taps) @ filters.reshape(-1, channels)
    return [finished(op, sums, 2, np.ones(1), True)]


def _transpose_conv_3d(op: Operation) -> Sequence[Array]:
    """(output shape, filters [depth, height, width, output channels, channels], image, bias): as _transpose_conv."""
    filters, image = op.real(1), op.real(2)
    batches, *sizes, channels = (int(d) for d in op.array(0))
    pairs = zip("dhw", sizes, filters.shape[:3], strict=True)
    axes = tuple(axis_of(op.options, letter, i, *extents) for i, (letter, *extents) in enumerate(pairs))
    sums = np.zeros((batches, *sizes, channels))
    for taps in product(*map(range, filters.shape[:3])):
        part = image @ filters[taps].T
        places = [
            np.arange(image.shape[i + 1]) * axis.stride - axis.before + t * axis.dilation
            for i, (axis, t) in enumerate(zip(axes, taps, strict=True))
        ]
        inside = [(at >= 0) & (at < size) for at, size in zip(places, sizes, strict=True)]
        kept = [at[within] for at, within in zip(places, inside, strict=True)]
        batch = np.arange(batches)
        sums[np.ix_(batch, *kept)] += part[np.ix_(batch, *(np.flatnonzero(w) for w in inside))]
    return [finished(op, sums, 3, np.ones(1), True)]


def _transpose_conv(op: Operation) -> Sequence[Array]:
    """(output shape, filters [channels, height, width, depth], image, bias): each pixel is spread over a window."""
    image, filters = operand(op, 2), weights(op)
    channels, height, width, _ = filters.shape
    batches, rows, columns = (int(d) for d in op.array(0)[:3])
    shape = (batches, rows, columns, channels)
    steps = {**op.options, "dilation_h_factor": 1, "dilation_w_factor": 1}
    axes = image_axes(steps, shape, (height, width))
    tall, wide = (
        axis.before + max(axis.size, s * axis.stride + axis.taps)
        for axis, s in zip(axes, image.shape[1:3], strict=True)
    )
    sums = np.zeros((batches, tall, wide, channels), image.dtype)
    for row, column in product(range(height), range(width)):
        part = matrix_product(image, filters[:, row, column].T)
        ends = (row + image.shape[1] * axes[0].stride, column + image.shape[2] * axes[1].stride)
        sums[:, row : ends[0] : axes[0].stride, column : ends[1] : axes[1].stride] += part
    kept = sums[:, axes[0].before : axes[0].before + rows, axes[1].before : axes[1].before + columns]
    if op.gives_floats:
        return [finished(op, kept, 3, np.ones(1), True)]
    return [finished(op, kept, 3, op.scale(2) * filter_scales(op), is_narrow(op, 3))]


def _fully_connected(op: Operation) -> Sequence[Array]:
    filters = op.array(1)
    rows = op.array(0).reshape(-1, filters.shape[-1])
    if is_hybrid(op):
        result = _hybrid_rows(op, rows.astype(np.float64), filters.reshape(-1, filters.shape[-1]))
    else:
        flat = operand(op).reshape(rows.shape)
        sums = matrix_product(flat, weights(op).reshape(-1, filters.shape[-1]).T)
        result = finished(op, sums, 2, _fully_connected_scales(op), is_narrow(op, 2))
    if op.options.get("keep_num_dims"):
        return [result.reshape(*op.array(0).shape[:-1], result.shape[-1])]
    shape = op.output.max_shape
    return [result.reshape(shape) if result.size == np.prod(shape, dtype=int) and shape else result]


def _fully_connected_scales(op: Operation) -> Array:
    """One scale for all weights is multiplied by the input's in float32."""
    scales = layer_scales(op)
    if op.gives_floats or len(filter_scales(op)) > 1:
        return scales
    return np.array([float(np.float32(op.scale(0)) * np.float32(filter_scales(op)[0]))])


def quantized_rows(rows: Array, asymmetric: bool) -> tuple[Array, Array, Array]:
    """Rows of float32 as int8: (values, scale of each, zero point of each), as hybrid kernels quantise them."""
    single = np.float32
    rows = rows.astype(np.float32)
    if not asymmetric:
        largest = np.abs(rows).max(axis=1, initial=0)
        safe = np.where(largest == 0, single(1), largest)
        inverse = single(127) / safe
        values = np.clip(round_half_away(rows * inverse[:, None]), -127, 127)
        scales = np.where(largest == 0, single(1), safe / single(127))
        return np.where(largest[:, None] == 0, 0, values).astype(np.int64), scales, np.zeros(len(rows), np.int64)
    low, high = rows.min(axis=1, initial=0).astype(np.float64), rows.max(axis=1, initial=0).astype(np.float64)
    empty = low == high
    scale = np.where(empty, 1, (high - low) / 255)
    from_low, from_high = -128 - low / scale, 127 - high / scale
    error_low, error_high = 128 + np.abs(low / scale), 127 + np.abs(high / scale)
    points = np.clip(round_half_away(np.where(error_low < error_high, from_low, from_high)), -128, 127)
    scales = scale.astype(np.float32)
    inverse = single(1) / scales
    shifted = points[:, None].astype(np.float32) + rows * inverse[:, None]
    values = np.clip(round_half_away(shifted), -128, 127)
    points = np.where(empty, 0, points).astype(np.int64)
    return np.where(empty[:, None], 0, values).astype(np.int64), scales, points


def _hybrid_rows(op: Operation, rows: Array, filters: Array) -> Array:
    """Each row quantised on its own; weights of one scale, one per channel, or one per block of a row."""
    blocks = op.type(1).blocks
    asymmetric = blocks is not None or bool(op.options.get("asymmetric_quantize_inputs", False))
    values, scales, points = quantized_rows(rows, asymmetric)
    centred = values - points[:, None]
    if blocks is None:
        sums = exact_product(centred, filters.astype(np.int64).T) * scales[:, None].astype(np.float64)
        reals = sums * filter_scales(op)
    else:
        count = filters.shape[1] // blocks.size
        parts = filters.astype(np.int64).reshape(len(filters), count, blocks.size)
        sums = np.einsum("rbs,cbs->rcb", centred.reshape(len(rows), count, blocks.size), parts).astype(np.float64)
        by_block = np.array(blocks.scales, np.float64).reshape(len(filters), count)
        reals = (sums * by_block).sum(axis=2) * scales[:, None]
    return op.clamped_real(reals + op.real(2) if op.has(2) else reals)


def _hybrid_image(op: Operation, sums: Callable[[Operation, Array, Array], Array]) -> Array:
    """Each image of the batch quantised on its own: asymmetrically where the weights have a scale per channel, in
    groups of channels, and in depthwise layers."""
    image = op.real(0)
    is_grouped = op.name == "DEPTHWISE_CONV_2D" or image.shape[-1] != op.array(1).shape[-1]
    asymmetric = is_grouped or len(filter_scales(op)) > 1
    values, scales, points = quantized_rows(image.reshape(len(image), -1), asymmetric)
    centred = (values - points[:, None]).reshape(image.shape)
    reals = sums(op, centred, op.array(1).astype(np.int64)) * scales.astype(np.float64)[:, None, None, None]
    reals = reals * filter_scales(op)
    return op.clamped_real(reals + op.real(2) if op.has(2) else reals)


def _embedding(op: Operation) -> Sequence[Array]:
    """Rows of a table by number, or the nearest; rows of integers become floats by the table's scale."""
    numbers = np.clip(op.integers(0), 0, len(op.array(1)) - 1)
    table = op.array(1)[numbers]
    if op.gives_floats and table.dtype.kind != "f":
        scales = filter_scales(op)
        rows = scales[numbers] if len(scales) > 1 else scales
        return [op.rounded(table * rows.reshape(-1, *(1 for _ in table.shape[1:])))]
    return [op.rounded(table) if op.output.dtype is DType.FLOAT32 else table]


def _oriented(op: Operation, values: Array, axes: str, adjoint: str) -> Array:
    if order := op.options.get(axes):
        values = values.transpose(order)
    return values.swapaxes(-1, -2) if op.options.get(adjoint) else values


def _as_output(op: Operation, product: Array) -> Array:
    order = op.options.get("output_axes")
    return product.transpose(order) if order else product


def _batch_matmul(op: Operation) -> Sequence[Array]:
    if op.gives_floats and not op.dtype(1).is_float:
        return [_as_output(op, _hybrid(op))]
    left = _oriented(op, operand(op, 0), "left_axes", "adj_x")
    right = _oriented(op, operand(op, 1), "right_axes", "adj_y")
    product = matrix_product(left, right)
    if op.gives_floats:
        return [_as_output(op, op.rounded(product))]
    scales = np.float32(op.scale(0)) * filter_scales(op).astype(np.float32)
    multipliers = quantized_multipliers(scales.astype(np.float64) / op.output_scale)
    is_wide = op.output.dtype is DType.INT16
    result = scaled_wide(product, *multipliers) if is_wide else scaled(wrapped(product), *multipliers)
    return [_as_output(op, op.saturated(result + op.output_zero_point))]


def _hybrid(op: Operation) -> Array:
    """Rows of the left operand quantised on their own, the right one int8."""
    left = _oriented(op, op.real(0), "left_axes", "adj_x")
    right = _oriented(op, op.integers(1), "right_axes", "adj_y")
    asymmetric = bool(op.options.get("asymmetric_quantize_inputs", False))
    values, scales, points = quantized_rows(left.reshape(-1, left.shape[-1]), asymmetric)
    centred = (values - points[:, None]).reshape(left.shape)
    by_row = scales.astype(np.float64).reshape(*left.shape[:-1], 1)
    return op.rounded(matrix_product(centred, right) * by_row * filter_scales(op))


EVALUATIONS: Mapping[str, Evaluation] = {
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "CONV_3D": _conv_3d,
    "CONV_3D_TRANSPOSE": _transpose_conv_3d,
    "TRANSPOSE_CONV": _transpose_conv,
    "FULLY_CONNECTED": _fully_connected,
    "EMBEDDING_LOOKUP": _embedding,
    "BATCH_MATMUL": _batch_matmul,
}
