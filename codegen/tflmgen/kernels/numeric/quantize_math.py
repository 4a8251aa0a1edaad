"""The arithmetic of TFLite's quantisation, done at build time: fixed-point multipliers and activation ranges.

Every function reproduces the rounding of the reference implementation (TFLite's kernels/internal/quantization_util.cc
and kernels/kernel_util.cc), since its results decide bits of the output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from tflmgen.ir import DType, Quantization

FLOAT_MAX = float(np.finfo(np.float32).max)
MAX_SHIFT = 30
"""Largest left shift of tflmgen_requantize."""


class Activation(Enum):
    """Fused activation functions that kernels apply; the value is the schema's number."""

    NONE = 0
    RELU = 1
    RELU_N1_TO_1 = 2
    RELU6 = 3

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest real value."""
        return {
            Activation.NONE: (-FLOAT_MAX, FLOAT_MAX),
            Activation.RELU: (0.0, FLOAT_MAX),
            Activation.RELU_N1_TO_1: (-1.0, 1.0),
            Activation.RELU6: (0.0, 6.0),
        }[self]


def parse_activation(code: int) -> Activation:
    """The fused activation with the schema's number `code`. Raises ValueError if kernels do not support it."""
    names = {4: "tanh", 5: "sign bit"}
    try:
        return Activation(code)
    except ValueError:
        raise ValueError(f"the fused activation {names.get(code, code)} is not supported") from None


def fused_activation(options: Mapping[str, Any] | None) -> Activation:
    """The activation that an operator's options name, none by default. Raises ValueError as parse_activation() does."""
    return parse_activation(int((options or {}).get("fused_activation_function", 0)))


def round_half_away(value: float) -> int:
    """C's round(): to the nearest integer, halves away from zero."""
    magnitude = math.floor(abs(value))
    if abs(value) - magnitude >= 0.5:
        magnitude += 1
    return magnitude if value > 0 else -magnitude


@lru_cache(maxsize=1 << 16)
def quantize_multiplier(real: float) -> tuple[int, int]:
    """`real` as (multiplier, shift) with real = multiplier * 2**(shift - 31), |multiplier| in [2**30, 2**31) or 0.

    Values under 2**-32 become 0. The caller checks shift <= MAX_SHIFT (`is_representable`).
    """
    if real == 0.0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    multiplier = round_half_away(mantissa * 2**31)
    if multiplier == 2**31:
        multiplier //= 2
        shift += 1
    if shift < -31:
        return 0, 0
    return multiplier, shift


def capped_multiplier(real: float) -> tuple[int, int]:
    """quantize_multiplier(), or the greatest multiplier and shift of 32 bits, as TFLite Micro has them."""
    multiplier, shift = quantize_multiplier(real)
    return (multiplier, shift) if shift <= MAX_SHIFT else (2**31 - 1, MAX_SHIFT)


def is_representable(real: float) -> bool:
    """Whether tflmgen_requantize can multiply by `real`."""
    return math.isfinite(real) and quantize_multiplier(real)[1] <= MAX_SHIFT


def quantize_value(real: float, quantization: Quantization) -> int:
    """The quantised form of `real`, not yet clamped to the type. Divides in single precision, as the reference does."""
    with np.errstate(over="ignore"):
        quotient = float(np.float32(real) / np.float32(quantization.scale))
    limit = float(2**31)
    return quantization.zero_point + round_half_away(min(max(quotient, -limit), limit))


def activation_range(activation: Activation, dtype: DType, quantization: Quantization) -> tuple[int, int]:
    """Smallest and largest quantised output of `activation`, within the limits of `dtype`."""
    least, greatest = dtype.limits
    low, high = activation.bounds
    if low != -FLOAT_MAX:
        least = max(least, quantize_value(low, quantization))
    if high != FLOAT_MAX:
        greatest = min(greatest, quantize_value(high, quantization))
    return least, greatest
