"""Fixed-point arithmetic of gemmlowp and TFLite, on int64 arrays that hold 32-bit or 64-bit integers.

Sources: gemmlowp's fixedpoint.h, and quantization_util.cc, common.h and cppmath.h of TensorFlow Lite.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from tflmgen.reference.operation import Array

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
"""The least and the greatest int32."""


def wrapped(values: Any) -> Array:
    """Integers modulo 2**32, as int32 has them."""
    return np.asarray(values, np.int64).astype(np.int32).astype(np.int64)


@lru_cache(maxsize=1 << 16)
def quantized_multiplier(real: float) -> tuple[int, int]:
    """(multiplier in Q0.31, shift to the left) of a real factor: QuantizeMultiplier."""
    if real == 0:
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = math.floor(abs(fraction) * 2**31 + 0.5) * (1 if fraction > 0 else -1)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    if shift < -31:
        return 0, 0
    return (INT32_MAX, 30) if shift > 30 else (multiplier, shift)


def quantized_multipliers(reals: Any) -> tuple[Array, Array]:
    """quantized_multiplier() of each factor."""
    pairs = [quantized_multiplier(float(real)) for real in np.atleast_1d(reals)]
    return np.array([m for m, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int64)


def doubling_high_product(a: Any, b: Any) -> Array:
    """SaturatingRoundingDoublingHighMul: round(a * b / 2**31), halves away from zero."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    # C divides towards zero, >> rounds down.
    quotient = (nudged + np.where(nudged < 0, INT32_MAX, 0)) >> 31
    return np.asarray(np.minimum(quotient, INT32_MAX))


def divided_towards_zero(values: Array, divisor: int) -> Array:
    """Integer quotients as C rounds them: towards zero."""
    return np.where(values >= 0, values // divisor, -(-values // divisor))


def divided_by_power(values: Any, exponent: Any) -> Array:
    """RoundingDivideByPOT: values / 2**exponent to the nearest, halves away from zero."""
    values, exponent = np.asarray(values, np.int64), np.asarray(exponent, np.int64)
    mask = (np.int64(1) << exponent) - 1
    threshold = (mask >> 1) + (values < 0)
    return np.asarray((values >> exponent) + ((values & mask) > threshold))


def scaled(values: Any, multiplier: Any, shift: Any) -> Array:
    """MultiplyByQuantizedMultiplier of int32, with two roundings: values * multiplier * 2**(shift - 31)."""
    shift = np.asarray(shift, np.int64)
    shifted = wrapped(np.asarray(values, np.int64) << np.maximum(shift, 0))
    return divided_by_power(doubling_high_product(shifted, multiplier), np.maximum(-shift, 0))


def scaled_by(values: Any, real: float) -> Array:
    """scaled() by a real factor."""
    return scaled(values, *quantized_multiplier(real))


def scaled_wide(values: Any, multiplier: Any, shift: Any) -> Array:
    """MultiplyByQuantizedMultiplier of int64 accumulators: by 16 bits of the multiplier, with one rounding."""
    multiplier = np.asarray(multiplier, np.int64)
    reduced = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - np.asarray(shift, np.int64)
    return np.asarray((np.asarray(values, np.int64) * reduced + (np.int64(1) << (total - 1))) >> total)


def saturating_shift(values: Any, exponent: int) -> Array:
    """SaturatingRoundingMultiplyByPOT: values * 2**exponent, saturated to int32; rounded for negative exponents."""
    if exponent < 0:
        return divided_by_power(values, -exponent)
    return np.asarray(np.clip(np.asarray(values, np.int64) << exponent, INT32_MIN, INT32_MAX))


def leading_sign_bits(values: Any) -> Array:
    """CountLeadingSignBits of int32: how far each can be shifted left without overflow; 31 for zero."""
    magnitude = np.where(np.asarray(values) >= 0, values, -1 - np.asarray(values, np.int64))
    return 31 - np.ceil(np.log2(magnitude.astype(np.float64) + 1)).astype(np.int64)


def fixed(real: float, integer_bits: int) -> int:
    """A real constant as a 32-bit fixed-point number with this many integer bits."""
    return int(min(math.floor(real * 2.0 ** (31 - integer_bits) + 0.5), INT32_MAX))


_EXP_LN2 = ((-2, 1672461947), (-1, 1302514674), (0, 790015084), (1, 290630308), (2, 39332535), (3, 720401), (4, 242))
"""(k, exp(-2**k) in Q0.31) of gemmlowp's exp_on_negative_values."""


def _exp_on_last_quarter(a: Array) -> Array:
    """exp(a) for a in [-1/4, 0), Q0.31: a Taylor polynomial of degree 4 around -1/8."""
    x = wrapped(a + (1 << 28))
    x2 = doubling_high_product(x, x)
    x3 = doubling_high_product(x2, x)
    x4_over_4 = divided_by_power(doubling_high_product(x2, x2), 2)
    sum_ = divided_by_power(doubling_high_product(wrapped(x4_over_4 + x3), 715827883) + x2, 1)
    return wrapped(1895147668 + doubling_high_product(1895147668, wrapped(x + sum_)))


def exp_on_negative(a: Any, integer_bits: int) -> Array:
    """exp(a) in Q0.31 for a <= 0 with this many integer bits."""
    a = np.asarray(a, np.int64)
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    low = (a & (quarter - 1)) - quarter
    result = _exp_on_last_quarter(low << integer_bits)
    remainder = low - a
    for exponent, multiplier in _EXP_LN2:
        if integer_bits > exponent:
            bit = 1 << (fraction_bits + exponent)
            result = np.where(remainder & bit, doubling_high_product(result, multiplier), result)
    if integer_bits > 5:
        result = np.where(a < -(1 << (fraction_bits + 5)), 0, result)
    return np.where(a == 0, INT32_MAX, result)


def half_sum(a: Any, b: Any) -> Array:
    """RoundingHalfSum: (a + b) / 2, halves away from zero."""
    total = np.asarray(a, np.int64) + np.asarray(b, np.int64)
    return np.where(total >= 0, (total + 1) >> 1, -((1 - total) >> 1))


def _reciprocal_steps(a: Any) -> Array:
    """Newton's iterations on 1 / ((1 + a) / 2), in Q2.29."""
    half_denominator = half_sum(a, INT32_MAX)
    x = wrapped(1515870810 + doubling_high_product(half_denominator, -1010580540))
    for _ in range(3):
        one_minus = wrapped((1 << 29) - doubling_high_product(half_denominator, x))
        x = wrapped(x + saturating_shift(doubling_high_product(x, one_minus), 2))
    return x


def one_over_one_plus(a: Any) -> Array:
    """1 / (1 + a) for a in [0, 1], both in Q0.31."""
    return saturating_shift(_reciprocal_steps(a), 1)


def one_minus_over_one_plus(a: Any) -> Array:
    """(1 - a) / (1 + a) for a in [0, 1], both in Q0.31."""
    return saturating_shift(_reciprocal_steps(a) - (1 << 29), 2)


def logistic(a: Any, integer_bits: int) -> Array:
    """1 / (1 + exp(-a)) in Q0.31."""
    a = np.asarray(a, np.int64)
    positive = one_over_one_plus(exp_on_negative(-np.abs(a), integer_bits))
    return np.where(a == 0, 1 << 30, np.where(a > 0, positive, INT32_MAX - positive))


def tanh(a: Any, integer_bits: int) -> Array:
    """tanh(a) in Q0.31: of exp(-2 |a|), whose argument has one more integer bit."""
    a = np.asarray(a, np.int64)
    positive = one_minus_over_one_plus(exp_on_negative(-np.abs(a), integer_bits + 1))
    return np.where(a == 0, 0, np.where(a < 0, -positive, positive))


def reciprocal(values: Any, integer_digits: int) -> tuple[Array, Array]:
    """(1 / values in Q0.31 scaled into range, number of bits over one): GetReciprocal, for positive values."""
    values = np.asarray(values, np.int64)
    headroom_plus_one = leading_sign_bits(values) + 1
    normalized = wrapped((values << headroom_plus_one) - (1 << 31))
    return one_over_one_plus(normalized), integer_digits - headroom_plus_one


def inverse_square_roots(values: Any) -> tuple[Array, Array]:
    """(multipliers, shifts to the left) of 1 / sqrt(value): GetInvSqrtQuantizedMultiplierExp with reverse_shift -1."""
    values = np.asarray(values, np.int64)
    value, shift = np.maximum(values, 2), np.full(values.shape, 11, np.int64)
    while (large := value >= 1 << 29).any():
        value, shift = np.where(large, value // 4, value), shift + large
    pairs = leading_sign_bits(value) // 2 - 1
    value, shift = value << (2 * pairs), shift - pairs
    half_input, half_three = divided_by_power(value >> 1, 1), (1 << 28) + (1 << 27)
    x: Any = np.full(values.shape, 1 << 28, np.int64)
    for _ in range(5):
        cube = saturating_shift(doubling_high_product(doubling_high_product(x, x), x), 6)
        difference = wrapped(doubling_high_product(half_three, x) - doubling_high_product(half_input, cube))
        x = saturating_shift(difference, 3)
    x = doubling_high_product(x, 1518500250) << np.maximum(-shift, 0)
    is_at_most_one = values <= 1
    return np.where(is_at_most_one, INT32_MAX, x), np.where(is_at_most_one, 0, -np.maximum(shift, 0))
