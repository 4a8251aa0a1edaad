"""Element types of tensors: scales and zero points of ranges, weights and comparisons, and arrays in them.

The formulas are those of TFLite's quantisation specification: int8 activations are asymmetric with a range that holds
0, int16 activations and weights symmetric. Scales are rounded to float32, as files store them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.model_graph import ElementType, along_axis
from tflmgen.ir import DType, Quantization, contents
from tflmgen.quantize.range_choice import affine_for, stored_scale

Range = tuple[float, float]

EVERYTHING: Range = (-math.inf, math.inf)
NOTHING: Range = (math.inf, -math.inf)


def hull(*ranges: Range) -> Range:
    """The least range with all values of these ranges; NOTHING for none."""
    return min((low for low, _ in ranges), default=math.inf), max((high for _, high in ranges), default=-math.inf)


def clipped(values: Range, bounds: Range) -> Range:
    """The range of values that end at bounds."""
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in values)
    return low, high


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


def element_contents(values: Array, element: ElementType) -> bytes:
    """Bytes of real numbers in an element type."""
    if element.quantization is not None:
        values = quantized(values, element.quantization, element.dtype)
    return contents(values, element.dtype)


def centred(element: ElementType) -> ElementType:
    """An element type of as large numbers whose zero point is 0."""
    if element.quantization is None or element.quantization.zero_point == 0:
        return element
    bounds = representable_range(element.quantization, element.dtype)
    affine = affine_for(*bounds, dtype=element.dtype, symmetric=True)
    return ElementType(element.dtype, Quantization((affine.scale,), (affine.zero_point,)))


def widened(element: ElementType, factor: float) -> ElementType:
    """An element type whose range is so many times as wide."""
    if element.quantization is None:
        return element
    low, high = representable_range(element.quantization, element.dtype)
    return ElementType(element.dtype, range_quantization(low * factor, high * factor, element.dtype))


def within(element: ElementType, bounds: Range, values: Sequence[Range]) -> ElementType:
    """An element type whose range ends where the values of all members of a group make no difference any more."""
    low, high = bounds
    if element.quantization is None or element.dtype is not DType.INT8:
        return element
    least, greatest = representable_range(element.quantization, element.dtype)
    if low <= least and greatest <= high:
        return element
    # The wide range ended within one of its large steps of the values, which may be many of the new, smaller ones.
    step, ends = element.quantization.scale, (min(v[0] for v in values), max(v[1] for v in values))
    least = ends[0] if least - step < ends[0] < least else least
    greatest = ends[1] if greatest < ends[1] < greatest + step else greatest
    return ElementType(element.dtype, range_quantization(max(low, least), min(high, greatest), element.dtype))


def scale_of(element: ElementType) -> float:
    """The scale; 0 for floats."""
    return element.quantization.scale if element.quantization is not None else 0.0


def of_dtype(element: ElementType, dtype: DType) -> ElementType:
    """An element type of a web in the type of an operator: the same range at another width."""
    if element.dtype is dtype:
        return element
    if element.quantization is None:
        raise ValueError("a web in float has no range")
    low, high = representable_range(element.quantization, element.dtype)
    return ElementType(dtype, range_quantization(low, high, dtype))


_STEP = 1 / 256
"""Step of which TFLite Micro compares multiples, for int8 operands."""

_WIDEST_RATIO = 2.0**14
"""Greatest ratio of an operand's scale to the common one, with which int16 elements stay within 31 bits."""

_Place = TypeVar("_Place")


def comparison_types(types: Mapping[_Place, ElementType]) -> Mapping[_Place, ElementType]:
    """Element types of a comparison's operands, from those that their webs have."""
    scales = [element.quantization.scale for element in types.values() if element.quantization is not None]
    is_int8 = all(element.dtype is DType.INT8 for element in types.values())
    if not scales or (is_int8 and min(scales) >= _STEP * 0.999 and max(scales) < 1):
        return types
    common = Quantization((float(np.float32(max(min(scales) / 4, max(scales) / _WIDEST_RATIO))),), (0,))
    return dict.fromkeys(types, ElementType(DType.INT32, common))
