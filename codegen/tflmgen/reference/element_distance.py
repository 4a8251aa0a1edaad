"""Distance of two arrays, element by element."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.reference.operation import Array


def distance(expected: Array, actual: Array) -> Array:
    """|expected - actual| per element, exact for integers; 0 for two NaNs, inf for a NaN and a number."""
    if expected.dtype.kind == "f":
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.abs(expected.astype(np.float64) - actual.astype(np.float64))
        same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
        return np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))
    # Unsigned 64-bit differences wrap around to the right distance where signed ones would overflow.
    low, high = np.minimum(expected, actual), np.maximum(expected, actual)
    gap = high.astype(np.int64).view(np.uint64) if high.dtype.kind != "u" else high.astype(np.uint64)
    return gap - (low.astype(np.int64).view(np.uint64) if low.dtype.kind != "u" else low.astype(np.uint64))


def largest_distance(expected: Array, actual: Array) -> float:
    """Maximum of distance() over all elements; 0 for empty arrays, inf for different shapes."""
    if expected.shape != actual.shape:
        return math.inf
    return float(distance(expected, actual).max(initial=0))
