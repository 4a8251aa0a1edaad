"""Operators that calculate, on numpy arrays by TFLite's definitions and nothing of the compiler.

Of int8 and int16 with quantisation, as TFLite Micro rounds; windows and products of float32 too, exact as long as
sums of products are. One function per operator, each of a Call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend.tflite.model import Tensor

from support.fixed_point import (
    as_int32,
    multiply_by_quantized_multiplier,
    multiply_wide_by_quantized_multiplier,
    quantize_multiplier,
)

Array = NDArray[Any]
QUANTIZED = ("int8", "int16")
SAME_PADDING = 0
Range = tuple[float, float]
FUSED_RANGES: Sequence[Range] = ((-np.inf, np.inf), (0.0, np.inf), (-1.0, 1.0), (0.0, 6.0))
"""What fused activations clamp to, by their numbers in the schema: NONE, RELU, RELU_N1_TO_1, RELU6."""


@dataclass(frozen=True, slots=True)
class Call:
    """One operator: the values of its inputs, their tensors in the file, its output's tensor and its options.

    Absent inputs, which are the last, are left out.
    """

    inputs: Sequence[Array]
    tensors: Sequence[Tensor]
    output: Tensor
    options: Mapping[str, Any]

    def scale(self, i: int) -> float:
        return _scale(self.tensors[i])

    @property
    def output_scale(self) -> float:
        return _scale(self.output)

    def centred(self, i: int) -> Array:
        """An input in int64 less its zero point; floats as they are."""
        tensor, values = self.tensors[i], self.inputs[i]
        if tensor.quantization is None or values.dtype.kind == "f":
            return values
        return values.astype(np.int64) - tensor.quantization.zero_points[0]


def _scale(tensor: Tensor) -> float:
    assert tensor.quantization is not None
    return float(tensor.quantization.scales[0])


def _zero_point(tensor: Tensor) -> int:
    return tensor.quantization.zero_points[0] if tensor.quantization else 0


def _fused_range(call: Call) -> Range:
    activation: int = call.options.get("fused_activation_function", 0)
    return FUSED_RANGES[activation]


def _clamped(call: Call, values: Array, reals: Range) -> Array:
    """Values in the output's type, within a range of real numbers."""
    assert call.output.dtype is not None
    kind: np.dtype[Any] = call.output.dtype.numpy
    if kind.kind == "f":
        return np.clip(values, *reals)
    info: Any = np.iinfo(kind)
    low, high = (_quantized(call.output, real) if np.isfinite(real) else real for real in reals)
    return np.clip(values, max(info.min, low), min(info.max, high)).astype(kind)


def _quantized(tensor: Tensor, real: float) -> int:
    quotient = np.float32(real) / np.float32(_scale(tensor))
    return _zero_point(tensor) + int(np.sign(quotient) * np.floor(np.abs(np.float64(quotient)) + 0.5))


def _by_real(values: Array, real: float) -> Array:
    return multiply_by_quantized_multiplier(values, *quantize_multiplier(real))


def _with_output_zero_point(call: Call, values: Array, reals: Range = FUSED_RANGES[0]) -> Array:
    return _clamped(call, values + _zero_point(call.output), reals)


def _common_scale(combine: Callable[[Array, Array], Array]) -> Callable[[Call], Array]:
    """ADD and SUB: both operands shifted left, scaled to twice the larger scale, combined and scaled back."""

    def evaluate(call: Call) -> Array:
        left_shift = 15 if call.output.type_name == "int16" else 20
        twice = 2 * max(call.scale(0), call.scale(1))
        first, second = (_by_real(call.centred(i) << left_shift, call.scale(i) / twice) for i in (0, 1))
        total = _by_real(combine(first, second), twice / ((1 << left_shift) * call.output_scale))
        return _with_output_zero_point(call, total, _fused_range(call))

    return evaluate


def _product(call: Call) -> Array:
    product = _by_real(call.centred(0) * call.centred(1), call.scale(0) * call.scale(1) / call.output_scale)
    return _with_output_zero_point(call, product, _fused_range(call))


def _windows(call: Call, taps: tuple[int, ...]) -> tuple[Array, Array]:
    """The input at (batch, y, x, tap's row, tap's column, channel) of each output pixel, and what is inside of it."""
    image, indices, inside = call.centred(0), [], []
    for axis, letter in ((1, "h"), (2, "w")):
        stride, dilation = call.options[f"stride_{letter}"], call.options.get(f"dilation_{letter}_factor", 1)
        size, count = image.shape[axis], call.output.shape[axis]
        missing = (count - 1) * stride + (taps[axis - 1] - 1) * dilation + 1 - size
        before = max(0, missing) // 2 if call.options["padding"] == SAME_PADDING else 0
        places = np.arange(count)[:, None] * stride + np.arange(taps[axis - 1]) * dilation - before
        indices.append(places.clip(0, size - 1))
        inside.append((places >= 0) & (places < size))
    values = image[:, indices[0][:, None, :, None], indices[1][None, :, None, :]]
    return values, (inside[0][:, None, :, None] & inside[1][None, :, None, :])[..., None]


def _finished_sum(call: Call, sums: Array, reals: Sequence[float], wide: bool) -> Array:
    """Sums of products with the bias added, requantised by one real multiplier per channel or for all."""
    if len(call.inputs) > 2:
        sums = sums + call.inputs[2]
    if call.inputs[0].dtype.kind != "f":
        multiply = multiply_wide_by_quantized_multiplier if wide else multiply_by_quantized_multiplier
        sums = sums if wide else as_int32(sums)
        pairs = [quantize_multiplier(real) for real in np.resize(reals, sums.shape[-1])]
        sums = np.stack([multiply(sums[..., c], *pair) for c, pair in enumerate(pairs)], axis=-1)
        sums = sums + _zero_point(call.output)
    return _clamped(call, sums, _fused_range(call))


def _channel_multipliers(call: Call) -> list[float]:
    """input scale * filter scale / output scale in double, of each channel that has a scale."""
    filters = call.tensors[1].quantization
    if filters is None:
        return [1.0]
    return [call.scale(0) * float(scale) / call.output_scale for scale in filters.scales]


def _is_wide(call: Call) -> bool:
    """Whether the accumulator has 64 bits: for int16 outputs, unless the bias has 32 bits."""
    narrow = len(call.tensors) > 2 and call.tensors[2].type_name == "int32"
    return call.output.type_name == "int16" and not narrow


def _convolution(call: Call) -> Array:
    weights = call.centred(1)
    channels, *taps, depth = weights.shape
    values, inside = _windows(call, (taps[0], taps[1]))
    groups = values.shape[-1] // depth
    parts = np.where(inside, values, 0).reshape(*values.shape[:-1], groups, depth)
    sums = np.einsum("nyxijgc,goijc->nyxgo", parts, weights.reshape(groups, -1, *taps, depth))
    return _finished_sum(call, sums.reshape(*sums.shape[:3], channels), _channel_multipliers(call), _is_wide(call))


def _depthwise(call: Call) -> Array:
    weights = call.centred(1)[0]
    values, inside = _windows(call, weights.shape[:2])
    repeated = np.repeat(np.where(inside, values, 0), weights.shape[2] // values.shape[-1], axis=-1)
    sums = (repeated * weights).sum(axis=(3, 4))
    return _finished_sum(call, sums, _channel_multipliers(call), call.output.type_name == "int16")


def _fully_connected(call: Call) -> Array:
    weights = call.centred(1)
    sums = (call.centred(0).reshape(-1, weights.shape[1]) @ weights.T).reshape(call.output.shape)
    reals = _channel_multipliers(call)
    if len(reals) == 1 and call.inputs[0].dtype.kind != "f":
        # One scale for all channels: the product of scales is a float's.
        reals = [float(np.float32(call.scale(0)) * np.float32(call.scale(1))) / call.output_scale]
    return _finished_sum(call, sums, reals, _is_wide(call))


def _average_pool(call: Call) -> Array:
    """AVERAGE_POOL_2D: means of the elements inside of the input; halves are rounded away from zero.

    The zero point is the same on both sides.
    """
    values, inside = _windows(call, (call.options["filter_height"], call.options["filter_width"]))
    sums = np.where(inside, values + _zero_point(call.tensors[0]), 0).sum(axis=(3, 4))
    counts = inside.sum(axis=(2, 3))
    means = np.sign(sums) * ((np.abs(sums) + counts // 2) // counts)
    return _clamped(call, means, _fused_range(call))


def _max_pool(call: Call) -> Array:
    values, inside = _windows(call, (call.options["filter_height"], call.options["filter_width"]))
    lowest = -np.inf if values.dtype.kind == "f" else np.iinfo(np.int64).min
    maxima = np.where(inside, values + _zero_point(call.tensors[0]), lowest).max(axis=(3, 4))
    return _clamped(call, maxima, _fused_range(call))


def _relu(call: Call) -> Array:
    real = float(np.float32(call.scale(0)) / np.float32(call.output_scale))
    return _with_output_zero_point(call, _by_real(call.centred(0), real), FUSED_RANGES[1])


def _requantized(call: Call) -> Array:
    return _with_output_zero_point(call, _by_real(call.centred(0), call.scale(0) / call.output_scale))


def _padded(call: Call) -> Array:
    """PAD and PADV2: the input padded with the number of PADV2, else with the zero point."""
    fill = call.inputs[2].item() if len(call.inputs) > 2 else _zero_point(call.output)
    return np.pad(call.inputs[0], call.inputs[1], constant_values=fill)


WINDOWED: Mapping[str, Callable[[Call], Array]] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "MAX_POOL_2D": _max_pool,
    "PAD": _padded,
    "PADV2": _padded,
}
"""Of any element type."""

REQUANTIZING: Mapping[str, Callable[[Call], Array]] = {
    "ADD": _common_scale(np.add),
    "AVERAGE_POOL_2D": _average_pool,
    "MUL": _product,
    "QUANTIZE": _requantized,
    "RELU": _relu,
    "SUB": _common_scale(np.subtract),
}
"""Of QUANTIZED types."""
