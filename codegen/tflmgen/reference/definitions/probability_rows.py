"""SOFTMAX, LOG_SOFTMAX and normalisations of rows: TFLite's softmax.h, log_softmax.h and l2normalization.h."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.definitions.elementwise_unary import int16_table, interpolated
from tflmgen.reference.definitions.fixed_point_numbers import (
    INT32_MAX,
    INT32_MIN,
    divided_by_power,
    doubling_high_product,
    exp_on_negative,
    fixed,
    half_sum,
    inverse_square_roots,
    leading_sign_bits,
    one_over_one_plus,
    quantized_multiplier,
    reciprocal,
    saturating_shift,
    scaled,
    wrapped,
)
from tflmgen.reference.operation import Array, Evaluation, Operation

DIFFERENCE_BITS, SUM_BITS, LOG_BITS = 5, 12, 4
"""Integer bits of differences to the greatest input, of sums of exponentials, and of logarithms."""


def _exponents(op: Operation, scale: float) -> tuple[Array, Array, Array]:
    """(differences in Q5.26, which of them count, exponentials in Q0.31) of int8 rows."""
    multiplier, shift = quantized_multiplier(scale)
    x = op.integers(0)
    differences = x - x.max(axis=-1, keepdims=True)
    counts = differences >= -_radius(shift)
    requantised = np.where(counts, scaled(np.where(counts, differences, 0), multiplier, shift), 0)
    return requantised, counts, np.where(counts, exp_on_negative(requantised, DIFFERENCE_BITS), 0)


def _radius(shift: int) -> int:
    return math.floor(((1 << DIFFERENCE_BITS) - 1) * (1 << (31 - DIFFERENCE_BITS)) / (1 << shift))


def _input_scale(op: Operation) -> float:
    beta = float(np.float32(op.options.get("beta", 1.0)))
    return min(beta * op.scale(0) * (1 << (31 - DIFFERENCE_BITS)), 2.0**31 - 1)


def row_exponentials(op: Operation) -> Array:
    """Exponentials of int8 rows in Q0.31."""
    _, _, exponentials = _exponents(op, _input_scale(op))
    return exponentials


def softmax(op: Operation) -> Sequence[Array]:
    """SOFTMAX along the last axis: floats in float64, int8 and uint8 by fixed-point exponentials, int16 by tables."""
    if op.gives_floats:
        x = op.real(0)
        exponentials = np.exp((x - x.max(axis=-1, keepdims=True)) * float(np.float32(op.options.get("beta", 1.0))))
        return [op.rounded(exponentials / exponentials.sum(axis=-1, keepdims=True))]
    if op.dtype() is DType.INT16:
        return [_int16_softmax(op)]
    _, counts, exponentials = _exponents(op, _input_scale(op))
    sums = divided_by_power(exponentials, SUM_BITS).sum(axis=-1, keepdims=True)
    inverse, bits = reciprocal(sums, SUM_BITS)
    low, high = op.output.dtype.limits
    shares = divided_by_power(doubling_high_product(inverse, exponentials), bits + 31 - op.output.dtype.bits)
    return [np.where(counts, (shares + low).clip(low, high), low).astype(op.output.dtype.numpy)]


EXPONENTIAL = int16_table(np.exp, np.float32(10.0 / 65535.0), 32767, np.float32(2.0 / 65535.0))
RECIPROCAL = int16_table(lambda x: 1 / (1 + x), np.float32(1.0 / 65535.0), -32768, np.float32(2.0 / 65535.0))


def _int16_softmax(op: Operation) -> Array:
    """SOFTMAX of int16, by interpolation in tables of the exponential and of 1 / (1 + x)."""
    beta = float(np.float32(op.options.get("beta", 1.0)))
    multiplier, shift = quantized_multiplier(op.scale(0) * beta / (10.0 / 65535.0))
    x = op.integers(0)
    differences = scaled(x - x.max(axis=-1, keepdims=True), multiplier, shift) + 32767
    exponentials = interpolated(np.clip(differences, -32768, 32767), EXPONENTIAL).astype(np.int64)
    sums = exponentials.sum(axis=-1, keepdims=True)
    headroom = leading_sign_bits(sums) + 1
    normalized = ((sums << (headroom - 1)) + (1 << 13)) >> 14
    inverse = interpolated(np.clip(normalized - (1 << 15) - (1 << 16), -32768, 32767), RECIPROCAL).astype(np.int64)
    right = 31 - headroom
    shares = (exponentials * inverse + (np.int64(1) << (right - 1))) >> right
    return np.asarray(shares.clip(0, 32767).astype(np.int16))


def log_softmax(op: Operation) -> Sequence[Array]:
    """LOG_SOFTMAX along the last axis: floats in float64, int8 in fixed point."""
    if op.gives_floats:
        x = op.real(0)
        shifted = x - x.max(axis=-1, keepdims=True)
        return [op.rounded(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))]
    scale = _input_scale(op)
    multiplier, shift = quantized_multiplier(scale)
    reverse, reverse_shift = quantized_multiplier(1 / _as_fixed(multiplier, shift))
    x = op.integers(0)
    differences = x - x.max(axis=-1, keepdims=True)
    _, _, exponentials = _exponents(op, scale)
    logs = _log_at_least_one(divided_by_power(exponentials, SUM_BITS).sum(axis=-1, keepdims=True))
    least = np.maximum(-_radius(shift) - 1, scaled(wrapped(logs + INT32_MIN), reverse, reverse_shift))
    counts = differences > least
    requantised = scaled(np.where(counts, differences, 0), multiplier, shift)
    results = divided_by_power(requantised - logs, 31 - DIFFERENCE_BITS - LOG_BITS) + 127
    return [np.where(counts, results.clip(-128, 127), -128).astype(np.int8)]


def _as_fixed(multiplier: int, shift: int) -> float:
    return multiplier * 2.0 ** (shift - 31)


def _log_at_least_one(x: Array) -> Array:
    """log(x) in Q5.26 for x >= 1 in Q12.19 (log_x_for_x_greater_than_or_equal_to_1_impl): a power of two, or of two
    times the root of a half, is split off; of the rest a quotient of polynomials is taken."""
    times, fourth_root = doubling_high_product, math.sqrt(math.sqrt(2.0))
    log_2, root_half = fixed(math.log(2.0), 0), fixed(math.sqrt(0.5), 0)
    center = fixed(math.sqrt(math.sqrt(0.5)), 0)
    numerator, denominator = fixed(11.0 / 240.0 * fourth_root, 0), fixed(1.0 / 20.0 * fourth_root, 0)
    offset, slope = fixed(2.0 / fourth_root - fourth_root, 0), fixed(0.25 * fourth_root, 0)
    accumulator_bits = DIFFERENCE_BITS + 1
    unit, quarter = 31 - accumulator_bits, 1 << (29 - accumulator_bits)

    zeros = leading_sign_bits(x) + 1
    first = saturated_shift(times(saturated_shift(x, zeros - 1), root_half), 1)
    zeros_b = leading_sign_bits(times(x, root_half))
    rest = np.minimum(first, saturated_shift(x, zeros_b))
    power = np.maximum(((SUM_BITS - zeros) << unit) + quarter, ((SUM_BITS - zeros_b) << unit) - quarter)

    half, q = half_sum(rest, center), wrapped(2 * (rest - center))
    square = times(q, q)
    above = wrapped(times(q, rest) + times(times(q, square), numerator))
    below = wrapped(times(half, wrapped(offset + q + times(denominator, square))) + times(slope, q))
    quotient = times(divided_by_power(above, accumulator_bits), one_over_one_plus(below))
    return saturating_shift(wrapped(times(power, log_2) + quotient), 1)


def saturated_shift(values: Array, exponent: Any) -> Array:
    """Values shifted left by `exponent` bits, saturated at the limits of int32."""
    return np.asarray(np.clip(np.asarray(values, np.int64) << exponent, INT32_MIN, INT32_MAX))


def l2_normalization(op: Operation) -> Sequence[Array]:
    """L2_NORMALIZATION: rows of the last axis divided by their Euclidean norm; integers by its reciprocal in fixed
    point."""
    if op.gives_floats:
        x = op.real(0)
        norm = np.maximum(np.sqrt((x * x).sum(axis=-1, keepdims=True)), 1e-6)
        return [op.clamped_real(x / norm)]
    x = op.centred(0)
    squares = (x * x).sum(axis=-1)
    multipliers, shifts = inverse_square_roots(squares[..., None])
    return [op.saturated(scaled(x, multipliers, shifts + 7))]


def local_response(op: Operation) -> Sequence[Array]:
    """LOCAL_RESPONSE_NORMALIZATION: each element over a power of the squares around it in its row."""
    x, radius = op.real(0), int(op.options.get("radius", 0))
    squares = np.pad(np.square(x), [(0, 0)] * (x.ndim - 1) + [(radius, radius)])
    windows = np.lib.stride_tricks.sliding_window_view(squares, 2 * radius + 1, axis=-1)
    sums = windows[..., : 2 * radius].sum(axis=-1)
    bias, alpha, beta = (float(np.float32(op.options.get(name, 0.0))) for name in ("bias", "alpha", "beta"))
    with np.errstate(all="ignore"):
        return [op.rounded(x * (bias + alpha * sums) ** -beta)]


def normalize(op: Operation) -> Sequence[Array]:
    """Layer, RMS or L2 normalisation of contiguous rows: (input, gain, bias)."""
    depth, epsilon = int(op.options["depth"]), float(op.options["epsilon"])
    rows = op.real(0).reshape(-1, depth)
    if op.options["centred"]:
        rows = rows - rows.mean(axis=1, keepdims=True)
    factor = float(op.options["factor"])
    result = rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True) * factor + epsilon)
    for index, apply in ((1, np.multiply), (2, np.add)):
        if op.has(index):
            result = apply(result, op.real(index).reshape(-1))
    return [op.rounded(result.reshape(op.array(0).shape))]


EVALUATIONS: Mapping[str, Evaluation] = {
    "SOFTMAX": softmax,
    "LOG_SOFTMAX": log_softmax,
    "L2_NORMALIZATION": l2_normalization,
    "LOCAL_RESPONSE_NORMALIZATION": local_response,
    "NORMALIZE": normalize,
}
