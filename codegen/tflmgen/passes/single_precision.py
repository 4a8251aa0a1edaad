"""Numbers that float32 has with its full precision."""

from __future__ import annotations

from typing import Any

import numpy as np

STEP = 2.0**-23
"""Largest relative error of a number that is rounded to float32 and is neither too great nor too small for it."""


def fits_float32(numbers: Any) -> bool:
    """Whether float32 has all numbers but for its usual rounding: none overflows, and none loses digits near 0."""
    exact = np.asarray(numbers, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.all(np.abs(exact.astype(np.float32) - exact) <= STEP * np.abs(exact)))
