"""Numbers that float32 has with its full precision."""

from __future__ import annotations

from typing import Any

import numpy as np

STEP = 2.0**-23
"""Largest relative error of a number that is rounded to float32 and is neither too great nor too small for it."""


_LARGE_ADDEND, _CANCELLATION = 8.0, 256.0
"""Addends beyond the first whose sum is less than they are by the second factor, 8 bits of 24, were meant to round."""


def fits_float32(numbers: Any) -> bool:
    """Whether float32 has all numbers but for its usual rounding: none overflows, and none loses digits near 0."""
    exact = np.asarray(numbers, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.all(np.abs(exact.astype(np.float32) - exact) <= STEP * np.abs(exact)))


def cancels(first: Any, second: Any) -> bool:
    """Whether the sum of two addends is so much less than they are that adding one after the other rounds.

    x + 2^23 - 2^23 is x rounded to an integer in float32, and x as a real number.
    """
    addends = np.maximum(np.abs(first), np.abs(second))
    return bool(np.any((addends > _LARGE_ADDEND) & (np.abs(first + second) * _CANCELLATION < addends)))
