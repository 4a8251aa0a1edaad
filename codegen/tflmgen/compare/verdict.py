"""Compares outputs: integers exactly, floats within a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """A float may differ from the expected e by at most absolute + relative * |e|."""

    absolute: float = 1e-5
    relative: float = 1e-5


@dataclass(frozen=True, slots=True)
class Difference:
    """The worst of `count` wrong elements out of `total`: its index, what was expected and what came."""

    count: int
    total: int
    index: tuple[int, ...]
    expected: str
    actual: str

    def __str__(self) -> str:
        where = f"[{','.join(map(str, self.index))}]"
        return f"{self.count} of {self.total} wrong, the worst at {where}: expected {self.expected}, got {self.actual}"


def difference(expected: Array, actual: Array, tolerance: Tolerance) -> Difference | None:
    """How `actual` differs, None where it does not. Both have one type. NaN equals NaN, inf the same inf."""
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
    """Which elements of `actual`, of the shape and type of `expected`, differ by more than they may."""
    gap = distance(expected, actual)
    if expected.dtype.kind != "f":
        return np.asarray(gap != 0)
    with np.errstate(invalid="ignore", over="ignore"):
        allowed = tolerance.absolute + tolerance.relative * np.abs(expected.astype(np.float64))
    return np.asarray(~(gap <= np.where(np.isfinite(expected), allowed, 0.0)))


def distance(expected: Array, actual: Array) -> Array:
    """|expected - actual| of each element, exact for integers; 0 for NaN and NaN, inf for a NaN against a number."""
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
    """The largest distance() of all elements; 0 where there are none, inf for other shapes."""
    if expected.shape != actual.shape:
        return math.inf
    return float(distance(expected, actual).max(initial=0))
