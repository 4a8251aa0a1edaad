"""Scales and zero points of ranges and weights, and arrays in them.

The formulas are those of TFLite's quantisation specification: int8 activations are asymmetric with a range that holds
0, int16 activations and weights symmetric. Scales are rounded to float32, as files store them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend import along_axis
from tflmgen.ir import DType, Quantization
from tflmgen.quantize.range_choice import affine_for, stored_scale

Array = NDArray[Any]


def range_quantization(minimum: float, maximum: float, dtype: DType) -> Quantization:
    """Quantisation of int8 or int16 in which `minimum` to `maximum`, widened to hold 0, is representable."""
    affine = affine_for(minimum, maximum, dtype, symmetric=dtype is DType.INT16)
    return Quantization((affine.scale,), (affine.zero_point,))


def representable_range(quantization: Quantization, dtype: DType) -> tuple[float, float]:
    """Least and greatest real number of a tensor quantised per tensor."""
    least, greatest = dtype.limits
    return tuple((limit - quantization.zero_point) * quantization.scale for limit in (least, greatest))  # type: ignore[return-value]


def weight_quantization(weights: Array, axis: int | None) -> Quantization:
    """Symmetric int8 quantisation of weights: one scale per index of `axis`, or one for all if it is None."""
    others = tuple(i for i in range(weights.ndim) if i != axis)
    largest = np.atleast_1d(np.abs(weights).max(axis=others, initial=0.0))
    scales = tuple(stored_scale(float(value) / 127) for value in largest)
    return Quantization(scales, (0,) * len(scales), axis or 0)


def quantized(values: Array, quantization: Quantization, dtype: DType) -> Array:
    """Nearest quantised elements, clipped to the range of `dtype`."""
    scales, zeros = along_axis(quantization, values.ndim)
    elements = np.rint(np.asarray(values, np.float64) / scales) + zeros
    clipped: Array = np.clip(elements, *_bounds(dtype)).astype(dtype.numpy)
    return clipped


def _bounds(dtype: DType) -> tuple[float, float]:
    """Limits of a type as float64 numbers that convert to it: the greatest int64 is none."""
    least, greatest = dtype.limits
    return float(least), float(greatest) if dtype.bits < 64 else float(2**62)
