"""Weights and biases of integer operators: the integers from which floats were dequantised, as TFLite stores them."""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.onnx.graph_rewrite import Array, Element, GraphRewrite
from tflmgen.ir import DType, Quantization

_WIDEST = {DType.INT32: 2.0**31 - 1, DType.INT64: 2.0**62}


def integer_weights(graph: GraphRewrite, tensor: int, axis: int) -> int | None:
    """Symmetric int8 or int4 in place of a constant of floats; None where its integers don't fit or weren't kept.

    axis  along which scales may differ
    """
    codes = graph.codes.get(tensor)
    if codes is None or codes.integers.size == 0:
        return None
    scales = _scales(codes.scales, axis)
    low, high = int(codes.integers.min()), int(codes.integers.max())
    if scales is None or low < -128 or high > 127:
        return None
    narrow = codes.dtype is DType.INT4 and low >= -8 and high <= 7
    element = Element(DType.INT4 if narrow else DType.INT8, Quantization(scales, (0,) * len(scales), axis))
    return graph.constant(tensor, codes.integers.astype(np.int8), element)


def integer_operand(graph: GraphRewrite, tensor: int) -> int | None:
    """int8 of one scale in place of a constant of floats, with the zero point nearest to 0 by which they fit."""
    codes = graph.codes.get(tensor)
    if codes is None or codes.integers.size == 0:
        return None
    scales = _scales(codes.scales, None)
    low, high = int(codes.integers.min()), int(codes.integers.max())
    zero = min(max(0, -128 - low), 127 - high)
    if scales is None or high - low > 255 or not -128 <= zero <= 127:
        return None
    element = Element(DType.INT8, Quantization(scales, (zero,)))
    return graph.constant(tensor, (codes.integers + zero).astype(np.int8), element)


def _scales(scales: Array, axis: int | None) -> tuple[float, ...] | None:
    """The scale of each index of an axis; None where they differ along others. Equal ones are one scale."""
    rows = scales.reshape(1, -1) if axis is None else np.moveaxis(scales, axis, 0).reshape(scales.shape[axis], -1)
    if not (rows == rows[:, :1]).all():
        return None
    first = rows[:, 0]
    return (float(first[0]),) if (first == first[0]).all() else tuple(float(scale) for scale in first)


def integer_bias(graph: GraphRewrite, tensor: int, filtered: int, weights: int) -> int | None:
    """int32 (int64 beside int16) in steps of the input's scale times the weights', nearest to the floats."""
    values = graph.values(tensor)
    kind, element = graph.tensors[weights].quantization, graph.element(filtered)
    if values is None or values.dtype.kind != "f" or kind is None or element is None:
        return None
    source = np.float32(element.quantization.scale)
    scales = np.array([np.float32(source * np.float32(scale)) for scale in kind.scales], np.float64)
    dtype = DType.INT64 if element.dtype is DType.INT16 else DType.INT32
    with np.errstate(all="ignore"):
        integers = np.rint(values.reshape(-1).astype(np.float64) / scales)
    if not (np.abs(integers) <= _WIDEST[dtype]).all():
        return None
    quantization = Quantization(tuple(float(s) for s in scales), (0,) * len(scales))
    return graph.constant(tensor, integers.astype(dtype.numpy), Element(dtype, quantization))
