"""Functions of int16 as tables of 513 entries with linear interpolation.

Source of the algorithm: LUTPopulate in TFLite's kernels/internal/common.h. Entries are shifted by half of the
interpolation error at the midpoint.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.numeric.header_constants import header_constant

STEPS = 2**16 >> header_constant("interpolate.h", "TFLMGEN_INTERPOLATED_BITS")
"""Number of intervals of a table."""

Floats = NDArray[np.float32]


def _round(values: Floats) -> Floats:
    """Rounds to the nearest integer, halves away from zero."""
    rounded: Floats = np.copysign(np.floor(np.abs(values) + np.float32(0.5)), values)
    return rounded


def interpolated_table(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    input_scale: np.float32,
    input_zero_point: int,
    output_scale: np.float32,
) -> NDArray[np.int16]:
    """The table of `function` of an int16 with this quantisation; outputs have zero point 0. In single precision."""
    least = input_scale * np.float32(-32768 - input_zero_point)
    greatest_input = input_scale * np.float32(32767 - input_zero_point)
    step = (greatest_input - least) / np.float32(STEPS)
    factor = np.float32(65536) / (output_scale * np.float32(32767) - output_scale * np.float32(-32768))
    points = least + np.arange(STEPS + 1, dtype=np.float32) * step

    def scaled(at: Floats) -> Floats:
        result: Floats = function(at.astype(np.float64)).astype(np.float32) * factor
        return result

    samples = _round(scaled(points))
    between = _round((scaled(points[1:]) + samples[:-1]) / np.float32(2))
    middle = _round(scaled(points[:-1] + step / np.float32(2)))
    table = np.append(
        samples[:-1] - _round((between - middle) / np.float32(2)), _round(scaled(np.array([greatest_input])))
    )
    return np.clip(table, -32768, 32767).astype(np.int16)
