"""Fixed-point functions that define TFLite's quantised kernels, evaluated at build time for tables.

Numbers are 32-bit integers `raw` that represent raw / 2**(31 - integer_bits). Source of the algorithms: gemmlowp's
fixedpoint.h (barrel-shifted exp, Newton-Raphson division), reproduced here on Python integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_Integers = NDArray[np.int64]

INT32_END = 2**31
"""The first integer beyond int32; -INT32_END is the least int32."""

ONE = INT32_END - 1
"""1.0 with no integer bits, saturated."""

_EXP_FACTORS = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)
"""(e, exp(-2**e) with no integer bits)."""


def saturate(value: int, bits: int = 32) -> int:
    """`value` clamped to the range of a signed integer of `bits`."""
    limit = 1 << (bits - 1)
    return min(max(value, -limit), limit - 1)


def wrap(value: int, bits: int) -> int:
    """`value` wrapped to a signed integer of `bits` (two's complement)."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def doubling_high_multiply(a: int, b: int, bits: int = 32) -> int:
    """round(a * b / 2**(bits-1)), halves up; saturates for the square of the smallest integer."""
    return saturate((a * b + (1 << (bits - 2))) >> (bits - 1), bits)


def rounding_divide(value: int, exponent: int) -> int:
    """round(value / 2**exponent), halves away from zero."""
    half = (1 << exponent) >> 1
    return (value + half) >> exponent if value >= 0 else -((-value + half) >> exponent)


def requantize(value: int, multiplier: int, shift: int) -> int:
    """value * multiplier * 2**(shift - 31) with two roundings; equal to tflmgen_requantize."""
    # Asked for every threshold of every channel: calls of wrap() and saturate() only where they change something.
    if shift > 0:
        value <<= shift
    if not -INT32_END <= value < INT32_END:
        value = wrap(value, 32)
    high = (value * multiplier + (1 << 30)) >> 31
    if not -INT32_END <= high < INT32_END:
        high = saturate(high)
    return high if shift >= 0 else rounding_divide(high, -shift)


def requantized(values: _Integers, multiplier: int | _Integers, shift: int | _Integers) -> _Integers:
    """requantize() of each value of an array; arrays of multipliers and shifts broadcast."""
    shifted = np.asarray(values << np.maximum(shift, 0)).astype(np.uint32).view(np.int32).astype(np.int64)
    high = np.minimum((shifted * multiplier + (1 << 30)) >> 31, INT32_END - 1)
    right = np.maximum(np.negative(shift), 0)
    half = (1 << right) >> 1
    rounded: _Integers = np.where(high >= 0, (high + half) >> right, -((half - high) >> right))
    return rounded


def exp_on_negative(raw: int, integer_bits: int) -> int:
    """exp of a number <= 0 with at most 5 integer bits; the result has none."""
    if raw == 0:
        return ONE
    fraction_bits = 31 - integer_bits
    quarter = 1 << (fraction_bits - 2)
    rest = (raw & (quarter - 1)) - quarter
    remainder = rest - raw
    result = _exp_near_zero(saturate(rest << integer_bits))
    for exponent, factor in _EXP_FACTORS:
        if exponent < integer_bits and remainder & (1 << (fraction_bits + exponent)):
            result = doubling_high_multiply(result, factor)
    return result


def _exp_near_zero(raw: int) -> int:
    """exp on [-1/4, 0): the Taylor polynomial of degree 4 around -1/8."""
    x = raw + (1 << 28)
    x2 = doubling_high_multiply(x, x)
    x3 = doubling_high_multiply(x2, x)
    x4 = doubling_high_multiply(x2, x2)
    third = 715827883
    tail = rounding_divide(doubling_high_multiply(rounding_divide(x4, 2) + x3, third) + x2, 1)
    exp_eighth = 1895147668
    return exp_eighth + doubling_high_multiply(exp_eighth, x + tail)


def _reciprocal(raw: int) -> int:
    """2 / (1 + x) with 2 integer bits, for x in [0, 1] with none: three Newton-Raphson steps."""
    half_denominator = (raw + ONE + 1) // 2
    x = 1515870810 + doubling_high_multiply(half_denominator, -1010580540)
    for _ in range(3):
        error = (1 << 29) - doubling_high_multiply(half_denominator, x)
        x += saturate(doubling_high_multiply(x, error) << 2)
    return x


def logistic(raw: int, integer_bits: int) -> int:
    """1 / (1 + exp(-x)); the result has no integer bits."""
    if raw == 0:
        return 1 << 30
    positive = saturate(_reciprocal(exp_on_negative(-abs(raw), integer_bits)) << 1)
    return positive if raw > 0 else ONE - positive


def tanh(raw: int, integer_bits: int) -> int:
    """tanh(x); the result has no integer bits."""
    if raw == 0:
        return 0
    magnitude = saturate((_reciprocal(exp_on_negative(-abs(raw), integer_bits + 1)) - (1 << 29)) << 2)
    return magnitude if raw > 0 else -magnitude


def inverse_sqrt(value: int) -> tuple[int, int]:
    """(multiplier, shift) with 1 / sqrt(value) = multiplier * 2**(shift - 31); equal to tflmgen_inverse_sqrt.

    Newton-Raphson on `value` brought to [1/4, 1) with three integer bits; 0 counts as 1.
    """
    if value <= 1:
        return ONE, 0
    right_shift = 11
    while value >= 1 << 29:
        value, right_shift = value // 4, right_shift + 1
    while value < 1 << 27:
        value, right_shift = value * 4, right_shift - 1
    half = rounding_divide(value >> 1, 1)
    three_halves = (1 << 28) + (1 << 27)
    root = 1 << 28
    for _ in range(5):
        square = doubling_high_multiply(root, root)
        cube = saturate(doubling_high_multiply(square, root) << 6)
        step = doubling_high_multiply(three_halves, root) - doubling_high_multiply(half, cube)
        root = saturate(step << 3)
    multiplier = doubling_high_multiply(root, 1518500250)
    return (wrap(multiplier << -right_shift, 32), 0) if right_shift < 0 else (multiplier, -right_shift)
