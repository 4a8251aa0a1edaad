"""How far an output of a converted model is from its source's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.compare import largest_distance
from tflmgen.reference import Array

FLOOR = 0.01
"""Share of the tolerance that is relative to the inputs' greatest magnitude: what cancels out leaves rounding."""


def is_within(got: Array, want: Array, tolerance: float, magnitude: float) -> bool:
    """Whether two arrays are equal: integers exactly, floats within the tolerance. magnitude: of the inputs."""
    if got.shape != want.shape:
        return False
    if want.dtype.kind != "f":
        return bool(np.array_equal(got, want))
    got, want = _without_limit(got), _without_limit(want)
    allowed = tolerance * max(_scale(want), FLOOR * magnitude)
    with np.errstate(all="ignore"):
        return bool(np.allclose(got, want, rtol=tolerance, atol=allowed, equal_nan=True))


def relative_error(got: Array, want: Array) -> float:
    """Greatest difference, relative to the greatest finite magnitude."""
    got, want = _without_limit(got), _without_limit(want)
    scale = _scale(want)
    return largest_distance(want, got) / scale if scale else largest_distance(want, got)


def magnitude_of(inputs: Sequence[Array]) -> float:
    """Greatest magnitude of float inputs, at least 1."""
    return max((float(np.abs(a).max(initial=1.0)) for a in inputs if a.dtype.kind == "f"), default=1.0)


def _scale(array: Array) -> float:
    """Greatest finite magnitude."""
    return float(np.abs(array[np.isfinite(array)].astype(np.float64)).max(initial=0.0))


def _without_limit(array: Array) -> Array:
    """The array with infinities for the greatest float, where TFLite's kernels end what other frameworks let go on."""
    if array.dtype != np.float32:
        return array
    return np.where(np.abs(array) >= np.finfo(np.float32).max, np.copysign(np.inf, array), array)
