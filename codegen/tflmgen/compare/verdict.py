"""Compares outputs: integers exactly, floats within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.reference import distance

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerance of floats: |actual - expected| <= absolute + relative * max(|expected|, largest |expected| * SHARE)."""

    absolute: float = 1e-5
    relative: float = 1e-5


SHARE = 1 / 16
"""Share of an output's largest magnitude that counts for its other elements: sums that cancel, as those of a Fourier
transform, round in units of their terms."""

FILLING = 1e30
"""Least magnitude of elements that are no results, such as the least float as padding."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`count` wrong elements out of `total`, with the index and values of the worst one."""

    count: int
    total: int
    index: tuple[int, ...]
    expected: str
    actual: str

    def __str__(self) -> str:
        location = f"[{','.join(map(str, self.index))}]"
        return (
            f"{self.count} of {self.total} wrong, the worst at {location}: expected {self.expected}, got {self.actual}"
        )


def difference(expected: Array, actual: Array, tolerance: Tolerance) -> Difference | None:
    """Difference of two arrays of the same type; None if they agree. NaN equals NaN, inf equals the same inf."""
    if expected.shape != actual.shape:
        shapes = f"shape {list(expected.shape)}", f"shape {list(actual.shape)}"
        return Difference(max(expected.size, 1), max(expected.size, 1), (), *shapes)
    wrong, gap = wrong_elements(expected, actual, tolerance), distance(expected, actual)
    if not wrong.any():
        return None
    worst = int(np.argmax(np.where(wrong, gap, 0).reshape(-1)))
    index = tuple(int(i) for i in np.unravel_index(worst, expected.shape))
    return Difference(int(wrong.sum()), expected.size, index, str(expected[index]), str(actual[index]))


def wrong_elements(expected: Array, actual: Array, tolerance: Tolerance) -> NDArray[np.bool_]:
    """Mask of the elements of `actual` outside the tolerance; both arrays have the same shape and type."""
    gap = distance(expected, actual)
    if expected.dtype.kind != "f":
        return np.asarray(gap != 0)
    with np.errstate(invalid="ignore", over="ignore"):
        magnitudes = np.abs(expected.astype(np.float64))
        largest = magnitudes[magnitudes < FILLING].max(initial=0.0)
        tolerated = tolerance.absolute + tolerance.relative * np.maximum(magnitudes, largest * SHARE)
    return np.asarray(~(gap <= np.where(np.isfinite(expected), tolerated, 0.0)))
