"""Element types of another range or width than those of measured values."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.ir import DType, Quantization
from tflmgen.quantize.integer_forms import ElementType
from tflmgen.quantize.quantization_scales import range_quantization, representable_range
from tflmgen.quantize.range_choice import affine_for
from tflmgen.quantize.value_ranges import Range


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
