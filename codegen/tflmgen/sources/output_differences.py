"""Difference of a converted model's output from its source's."""

from __future__ import annotations

import numpy as np

from tflmgen.reference import Array, largest_distance

FLOOR = 0.01
"""Share of the tolerance that is relative to the inputs' greatest magnitude: what cancels out leaves rounding."""


def is_within(actual: Array, expected: Array, tolerance: float, magnitude: float) -> bool:
    """Whether two arrays are equal: integers exactly, floats within the tolerance. magnitude: of the inputs."""
    if actual.shape != expected.shape:
        return False
    if expected.dtype.kind != "f":
        return bool(np.array_equal(actual, expected))
    actual, expected = _without_limit(actual), _without_limit(expected)
    allowed = tolerance * max(_scale(expected), FLOOR * magnitude)
    with np.errstate(all="ignore"):
        return bool(np.allclose(actual, expected, rtol=tolerance, atol=allowed, equal_nan=True))


def relative_error(actual: Array, expected: Array, magnitude: float) -> float:
    """Greatest difference, relative to the magnitude by which is_within() judges. magnitude: of the inputs."""
    actual, expected = _without_limit(actual), _without_limit(expected)
    scale = max(_scale(expected), FLOOR * magnitude) if expected.dtype.kind == "f" else _scale(expected)
    return largest_distance(expected, actual) / scale if scale else largest_distance(expected, actual)


def _scale(array: Array) -> float:
    """Greatest finite magnitude."""
    return float(np.abs(array[np.isfinite(array)].astype(np.float64)).max(initial=0.0))


def _without_limit(array: Array) -> Array:
    """The array with infinities for the greatest float, where TFLite's kernels end what other frameworks let go on."""
    if array.dtype != np.float32:
        return array
    return np.where(np.abs(array) >= np.finfo(np.float32).max, np.copysign(np.inf, array), array)
