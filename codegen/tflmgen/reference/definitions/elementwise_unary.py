"""Functions of one element: of real numbers, by tables of int8, and in fixed point.

Sources: TFLite's reference_ops and integer_ops (logistic.h, tanh.h, hard_swish.h, leaky_relu.h), lut.h and
TFLite Micro's kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.definitions.fixed_point_numbers import (
    INT32_MAX,
    divided_by_power,
    inverse_square_roots,
    logistic,
    quantized_multiplier,
    scaled,
    scaled_by,
    tanh,
)
from tflmgen.reference.operation import Array, Evaluation, Operation, quantized, round_half_away

Real = Callable[[Any], Any]

_ERF, _ERFC = (np.vectorize(function, otypes=[np.float64]) for function in (math.erf, math.erfc))


def _logistic(x: Any) -> Any:
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + _ERF(np.asarray(x) * math.sqrt(0.5)))


def _gelu_by_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def _single_elu(x: Any) -> Any:
    """exp(x) - 1 of a rounded exp(x), as the entries of tables are."""
    return np.where(x < 0, np.exp(np.minimum(x, 0)).astype(np.float32) - np.float32(1), x)


def single_gelu(x: Any, by_tanh: bool) -> Any:
    """In single precision, as LiteRT's gelu.h computes the entries of its tables."""
    x, half = np.asarray(x, np.float32), np.float32(0.5)
    if not by_tanh:
        return half * x * _ERFC(x * np.float32(-math.sqrt(0.5))).astype(np.float32)
    inner = np.float32(math.sqrt(2 / math.pi)) * (x + np.float32(0.044715) * x * x * x)
    return half * x * (np.float32(1) + np.tanh(inner.astype(np.float64)).astype(np.float32))


def _hard_swish(x: Any) -> Any:
    return x * np.clip(x + 3, 0, 6) / 6


def of_reals(function: Real) -> Evaluation:
    """An evaluation of float operators: `function` in float64, rounded to the output's type."""
    return lambda op: [op.rounded(np.asarray(function(op.real(0))))]


def of_numbers(function: Real) -> Evaluation:
    """An evaluation of float or integer operators: `function` in float64 or on integers, in the output's own type."""

    def evaluate(op: Operation) -> Sequence[Array]:
        if op.gives_floats:
            return [op.rounded(np.asarray(function(op.real(0))))]
        return [np.asarray(function(op.integers(0))).astype(op.output.dtype.numpy)]

    return evaluate


def of_int8_table(op: Operation, function: Real) -> Sequence[Array]:
    """LUTPopulate of int8: each result rounded from a float32 of the real function."""
    values = np.arange(-128, 128) - op.zero_point(0)
    with np.errstate(all="ignore"):
        reals = np.asarray(function((np.float32(op.scale(0)) * values.astype(np.float32)).astype(np.float64)))
        inverse = np.float32(1) / np.float32(op.output_scale)
        rounded = round_half_away(reals.astype(np.float32) * inverse) + np.float32(op.output_zero_point)
    table = np.nan_to_num(rounded, nan=-128).clip(-128, 127).astype(np.int8)
    return [table[op.integers(0) + 128]]


def of_int16_table(op: Operation, function: Real) -> Sequence[Array]:
    """LUTPopulate of int16: 513 entries, each corrected by half of the error in the middle; linear in between."""
    scale, zero_point = np.float32(op.scale(0)), op.zero_point(0)
    return [interpolated(op.integers(0), int16_table(function, scale, zero_point, np.float32(op.output_scale)))]


def int16_table(function: Real, scale: Any, zero_point: int, output_scale: Any) -> Array:
    """513 entries of a function over the range of int16 with this quantisation; results have zero point 0."""

    def of(points: Any) -> Any:
        return np.asarray(function(np.asarray(points, np.float64))).astype(np.float32)

    single = np.float32
    low, high = scale * single(-32768 - zero_point), scale * single(32767 - zero_point)
    step = (high - low) / single(512)
    factor = single(65536) / (output_scale * single(32767) - output_scale * single(-32768))
    points = low + np.arange(512, dtype=np.float32) * step
    entries = round_half_away(of(points) * factor)
    next_points = low + np.arange(1, 513, dtype=np.float32) * step
    interpolation = round_half_away((of(next_points) * factor + entries) / single(2))
    middle = round_half_away(of(points + step / single(2)) * factor)
    corrected = np.clip(entries - round_half_away((interpolation - middle) / single(2)), -32768, 32767)
    last = np.clip(round_half_away(of(high) * factor), -32768, 32767)
    return np.append(corrected, last).astype(np.int64)


def interpolated(values: Array, table: Array) -> Array:
    """LUTLookup of int16: the top 9 bits choose the entry, the low 7 lie between it and the next."""
    index = 256 + (values >> 7)
    base, slope = table[index], table[index + 1] - table[index]
    return np.asarray((base + ((slope * (values & 127) + 64) >> 7)).astype(np.int16))


def of_floats_or_tables(function: Real, of_table: Real | None = None) -> Evaluation:
    """An evaluation that computes floats directly, and int8 and int16 by TFLite's tables of `function`.

    of_table  the function in the single precision of int8 tables, where that matters
    """

    def evaluate(op: Operation) -> Sequence[Array]:
        with np.errstate(all="ignore"):
            if op.gives_floats:
                return [op.rounded(np.asarray(function(op.real(0))))]
            return (
                of_int16_table(op, function)
                if op.output.dtype is DType.INT16
                else of_int8_table(op, of_table or function)
            )

    return evaluate


def _rectified(low: float, high: float) -> Evaluation:
    """RELU and its like: requantised and clamped; floats are clamped."""

    def evaluate(op: Operation) -> Sequence[Array]:
        if op.gives_floats:
            return [op.rounded(np.clip(op.array(0), low, high))]
        real = float(np.float32(op.scale(0)) / np.float32(op.output_scale))
        least, greatest = op.output.dtype.limits
        zero_point = op.output_zero_point
        least = max(least, quantized(low, op.output_scale, zero_point))
        if np.isfinite(high):
            greatest = min(greatest, quantized(high, op.output_scale, zero_point))
        if real == 1.0 and op.zero_point(0) == zero_point:
            return [op.array(0).clip(least, greatest).astype(op.output.dtype.numpy)]
        values = scaled(op.centred(0), *quantized_multiplier(real)) + zero_point
        return [values.clip(least, greatest).astype(op.output.dtype.numpy)]

    return evaluate


def _leaky_relu(op: Operation) -> Sequence[Array]:
    alpha = float(np.float32(op.options.get("alpha", 0.0)))
    if op.gives_floats:
        x = op.real(0)
        return [op.rounded(np.where(x > 0, x, x * alpha))]
    x = op.centred(0)
    positive = scaled_by(x, op.scale(0) / op.output_scale)
    negative = scaled_by(x, op.scale(0) * alpha / op.output_scale)
    return [op.saturated(np.where(x >= 0, positive, negative) + op.output_zero_point)]


def _fixed_logistic(op: Operation) -> Sequence[Array]:
    if op.gives_floats:
        return [op.rounded(_logistic(op.real(0)))]
    if op.output.dtype is DType.INT16:
        return [_int16_logistic(op.integers(0), *_int16_multiplier(op.scale(0), 0))]
    argument, below, above = _q4_27(op)
    result = divided_by_power(logistic(argument, 4), 23)
    result = np.where(result == 256, 255, result) - 128
    return [np.where(below, -128, np.where(above, 127, result)).astype(np.int8)]


def _fixed_tanh(op: Operation) -> Sequence[Array]:
    if op.gives_floats:
        return [op.rounded(np.tanh(op.real(0)))]
    if op.output.dtype is DType.INT16:
        return [_int16_tanh(op.integers(0), *_int16_multiplier(op.scale(0), 1))]
    argument, below, above = _q4_27(op)
    result = divided_by_power(tanh(argument, 4), 24)
    result = np.where(result == 128, 127, result)
    return [np.where(below, -128, np.where(above, 127, result)).astype(np.int8)]


def _q4_27(op: Operation) -> tuple[Array, Array, Array]:
    """An int8 in Q4.27, and where it lies below or above what that holds."""
    factor = op.scale(0) * float(1 << 27)
    # CalculateInputRadius: of the exponent itself, which a multiplier of 32 bits does not have at the ends.
    radius = min(math.floor(math.ldexp(15.0, 27 - math.frexp(factor)[1])), INT32_MAX)
    multiplier, shift = quantized_multiplier(factor)
    x = op.centred(0)
    inside = np.clip(x, -radius, radius)
    return scaled(inside, multiplier, shift), x <= -radius, x >= radius


def _int16_multiplier(scale: float, limit: int) -> tuple[int, int]:
    """(multiplier, shift to the right) that bring an int16 to steps of 1/4096 times 3: LOGISTIC and TANH of int16.

    A scale that is a power of two from 2**-12 to 2**(most - 12) needs no multiplier but 3.
    """
    log = math.log2(scale)
    rounded = round(log)
    if abs(log - rounded) < 1e-3 and 0 <= rounded + 12 <= limit:
        return 3 << (rounded + 12), 0
    multiplier, shift = scale * 4096 * 3, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        shift += 1
        multiplier *= 2.0
    return int(multiplier), shift


def _sigmoid_table() -> Array:
    """sigmoid_table_uint16: the logistic function at multiples of 1/24 in Q0.16, each raised by half of what a chord
    between its neighbours lies below the curve."""
    exact = _logistic(np.arange(256) / 24.0)
    second_derivative = exact * (1 - exact) * (1 - 2 * exact)
    return np.append(np.round((exact - second_derivative / (16 * 24**2)) * 65536)[:-1], 65535).astype(np.int64)


SIGMOID_TABLE = _sigmoid_table()


def _interpolated_sigmoid(magnitude: Array, bits: int, limit: int) -> Array:
    """Logistic function in Q0.16 << bits, linear between entries 1 << bits apart; `limit` behind the table."""
    index = magnitude >> bits
    at = np.minimum(index, 254)
    low, high, weight = SIGMOID_TABLE[at], SIGMOID_TABLE[at + 1], magnitude & ((1 << bits) - 1)
    return np.where(index >= 255, limit, (low << bits) + weight * (high - low))


def table_logistic(scaled_input: Array) -> Array:
    """Logistic of x * 4096 * 3 in Q0.15 (integer_ops/logistic.h)."""
    result = _interpolated_sigmoid(np.abs(scaled_input), 9, 0x7FFF << 10)
    result = np.where(scaled_input >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1) >> 10
    return result.astype(np.int16)


def table_tanh(scaled_input: Array) -> Array:
    """tanh of x * 4096 * 3 in Q0.15, by the table of the logistic function."""
    result = _interpolated_sigmoid(np.abs(scaled_input), 8, 0xFFFF << 8)
    positive = result - (1 << 23) + (1 << 7)
    negative = -result + (1 << 23) + (1 << 7) - 1
    return (np.where(scaled_input >= 0, positive, negative) >> 8).astype(np.int16)


def _int16_logistic(x: Array, multiplier: int, shift: int) -> Array:
    return table_logistic(_steps(x, multiplier, shift))


def _int16_tanh(x: Array, multiplier: int, shift: int) -> Array:
    return table_tanh(_steps(x, multiplier, shift))


def _steps(x: Array, multiplier: int, shift: int) -> Array:
    rounding = 1 << (shift - 1) if shift > 0 else 0
    return (x * multiplier + rounding) >> shift


def _quantized_hard_swish(op: Operation) -> Sequence[Array]:
    """HardSwish of int8: x at 2**7 the scale, a relu-ish factor in Q0.15, and their product."""
    if op.gives_floats:
        return [op.rounded(_hard_swish(op.real(0)))]
    fine = np.float32(op.scale(0)) / np.float32(128)
    output_multiplier, output_shift = quantized_multiplier(float(np.float32(fine) / np.float32(op.output_scale)))
    relu_multiplier, relu_shift = quantized_multiplier(float(np.float32(fine) / (np.float32(3) / np.float32(32768))))
    output_16, relu_16 = _multiplier_of_16_bits(output_multiplier), _multiplier_of_16_bits(relu_multiplier)
    fine_input = op.centred(0) << 7
    pre = _high_product_of_16_bits(fine_input, output_16)
    relu = fine_input
    if relu_shift > 0:
        relu = np.clip(relu << (relu_shift - 1), -32768, 32767)
    relu = _high_product_of_16_bits(relu, relu_16)
    if relu_shift > 0:
        relu = np.clip(relu << 1, -32768, 32767)
    if relu_shift < 0:
        relu = divided_by_power(relu, -relu_shift)
    relu = (relu + 32768) >> 1
    product = relu * pre
    product = np.where(product >= 0, product >> 15, -(-product >> 15))
    result = divided_by_power(product, -output_shift) if output_shift <= 0 else product << output_shift
    return [op.saturated(result + op.output_zero_point)]


def _multiplier_of_16_bits(multiplier: int) -> int:
    return 32767 if multiplier >= INT32_MAX - (1 << 15) else (multiplier + (1 << 15)) >> 16


def _high_product_of_16_bits(a: Array, b: int) -> Array:
    """SaturatingRoundingDoublingHighMul of int16: rounded halves away from zero."""
    product = a * b
    nudged = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return np.asarray(np.minimum((nudged + np.where(nudged < 0, 32767, 0)) >> 15, 32767))


def _rsqrt(op: Operation) -> Sequence[Array]:
    if op.gives_floats:
        with np.errstate(all="ignore"):
            return [op.rounded(1 / np.sqrt(op.real(0)))]
    multiplier, shift = quantized_multiplier(1.0 / (math.sqrt(op.scale(0)) * op.output_scale))
    values = op.centred(0)
    inverse, inverse_shift = inverse_square_roots(values)
    results = scaled(scaled(1, inverse, inverse_shift + 20), multiplier, shift - 20) + op.output_zero_point
    return [op.saturated(np.where(values <= 0, op.output.dtype.limits[1], results))]


def _abs(op: Operation) -> Sequence[Array]:
    if op.gives_floats or op.output.quantization is None or op.output.dtype is DType.INT32:
        return of_numbers(np.abs)(op)
    magnitude = np.abs(op.centred(0))
    if op.scale(0) == op.output_scale:
        return [op.saturated(magnitude + op.output_zero_point)]
    real = float(np.float32(op.scale(0)) / np.float32(op.output_scale))
    return [op.saturated(scaled_by(magnitude, real) + op.output_zero_point)]


def _round_half_even(x: Any) -> Any:
    return np.rint(x)


def _gelu_of(op: Operation) -> Sequence[Array]:
    by_tanh = bool(op.options.get("approximate"))
    if op.gives_floats:
        return of_reals(_gelu_by_tanh if by_tanh else _gelu)(op)
    return of_floats_or_tables(partial(single_gelu, by_tanh=by_tanh))(op)


def _bucketize(op: Operation) -> Sequence[Array]:
    """Numbers of boundaries that are no greater; NaN is behind all of them."""
    boundaries = np.array(op.options.get("boundaries") or (), np.float32)
    values = op.array(0).astype(np.float32)
    return [np.where(np.isnan(values), boundaries.size, np.searchsorted(boundaries, values, "right")).astype(np.int32)]


def _fake_quant(op: Operation) -> Sequence[Array]:
    """Rounded to the codes of a range in which 0 is one, in float32 as TFLite's kernel does."""
    single = np.float32
    low, high = single(bool(op.options.get("narrow_range", False))), single((1 << int(op.options["num_bits"])) - 1)
    start, end = single(op.options["min"]), single(op.options["max"])
    scale = (end - start) / (high - low)
    zero = np.clip(np.floor(low - start / scale + single(0.5)), low, high)
    least, greatest = (low - zero) * scale, (high - zero) * scale
    steps = (np.clip(op.array(0).astype(single), least, greatest) - least) * (single(1) / scale)
    return [op.rounded(round_half_away(steps) * scale + least)]


EVALUATIONS: Mapping[str, Evaluation] = {
    "ABS": _abs,
    "NEG": of_numbers(np.negative),
    "SIGN": of_numbers(np.sign),
    "SQUARE": of_numbers(np.square),
    "LOGICAL_NOT": lambda op: [np.logical_not(op.array(0))],
    "SQRT": of_reals(np.sqrt),
    "RSQRT": _rsqrt,
    "EXP": of_floats_or_tables(np.exp),
    "LOG": of_floats_or_tables(np.log),
    "SIN": of_reals(np.sin),
    "COS": of_reals(np.cos),
    "FLOOR": of_reals(np.floor),
    "CEIL": of_reals(np.ceil),
    "ROUND": of_reals(_round_half_even),
    "RELU": _rectified(0.0, np.inf),
    "RELU6": _rectified(0.0, 6.0),
    "RELU_N1_TO_1": _rectified(-1.0, 1.0),
    "RELU_0_TO_1": _rectified(0.0, 1.0),
    "LEAKY_RELU": _leaky_relu,
    "ELU": of_floats_or_tables(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x), _single_elu),
    "TANH": _fixed_tanh,
    "LOGISTIC": _fixed_logistic,
    "HARD_SWISH": _quantized_hard_swish,
    "GELU": _gelu_of,
    "SILU": of_reals(lambda x: x * _logistic(x)),
    "FAKE_QUANT": _fake_quant,
    "BUCKETIZE": _bucketize,
    "LOOKUP": lambda op: [op.array(1)[op.integers(0) + 128]],
}
