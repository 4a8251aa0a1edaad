"""TFLite's fixed-point arithmetic on numpy arrays, from its definitions (gemmlowp/fixedpoint.h, TFLite's common.h).

Every array is int64 and holds what the C variable would: `int32` wraps as the machine's does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1


def quantize_multiplier(real: float) -> tuple[int, int]:
    """QuantizeMultiplier: `real` is about multiplier / 2^31 * 2^shift, the multiplier from 2^30 to 2^31 - 1, or 0."""
    if real == 0.0:
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = math.floor(fraction * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def as_int32(values: Array) -> Array:
    return values.astype(np.int32).astype(np.int64)


def saturating_rounding_doubling_high_mul(a: Array, b: int) -> Array:
    """The upper half of 2ab, rounded to nearest, from zero at ties; only the square of the least number saturates."""
    product = a * b
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    towards_zero = np.sign(nudged) * (np.abs(nudged) >> 31)
    return np.where((a == INT32_MIN) & (b == INT32_MIN), INT32_MAX, towards_zero)


def rounding_divide_by_pot(x: Array, exponent: int) -> Array:
    """x / 2^exponent, rounded to nearest and from zero at ties."""
    mask = (1 << exponent) - 1
    threshold = (mask >> 1) + (x < 0)
    return (x >> exponent) + ((x & mask) > threshold)


def multiply_by_quantized_multiplier(x: Array, multiplier: int, shift: int) -> Array:
    """TFLite Micro's for int32, which rounds twice: after the product, and after the shift to the right."""
    shifted = as_int32(x << max(shift, 0))
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, multiplier), max(-shift, 0))


def multiply_wide_by_quantized_multiplier(x: Array, multiplier: int, shift: int) -> Array:
    """The overload for int64 accumulators: by the multiplier's upper 16 bits, rounded once, ties upwards."""
    reduced = (multiplier + (1 << 15)) >> 16 if multiplier < 0x7FFF0000 else 0x7FFF
    total_shift = 15 - shift
    return as_int32((x * reduced + (1 << (total_shift - 1))) >> total_shift)
