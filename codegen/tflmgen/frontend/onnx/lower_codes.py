"""Quantised operators as ONNX defines them: integers are codes, real = scale * (code - zero point).

Written out in floats or in int32: sums of products are exact, requantisation rounds in float32.
"""

from __future__ import annotations

import math

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32, I32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.lower_convolution import convolution
from tflmgen.frontend.onnx.lower_window import window_of
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode, dtype_of, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.quantized_tensors import (
    dequantized,
    dequantized_constant,
    known_quantization,
    quantized,
)
from tflmgen.ir import DType

EXACT_FLOAT = 1 << 24
"""Sums of integers below this are exact in float32."""


def spread(g: Graph, parameter: OnnxValue, value: OnnxValue, axis: int, block: int) -> OnnxValue:
    """A scale or zero point shaped to go with a value: of all, per index of an axis, or per block along it."""
    if parameter.size == 1:
        return g.reshape(parameter, ())
    if block:
        places = np.arange(value.shape[axis]) // block
        return g.gather(parameter, constant(places.astype(np.int32)), axis)
    return g.reshape(parameter, [n if k == axis else 1 for k, n in enumerate(value.shape)])


def _parameters(
    node: OnnxNode, value: OnnxValue, scale: OnnxValue, zero: OnnxValue | None, axis: int
) -> tuple[OnnxValue, OnnxValue | None]:
    axis = normal_axis(axis, value.rank) if scale.size > 1 else 0
    block = int(node.attribute("block_size", 0))
    return (
        spread(node.graph, scale, value, axis, block),
        None if zero is None else spread(node.graph, zero, value, axis, block),
    )


@lowers("DequantizeLinear", evaluated=False)
def dequantize_linear(node: OnnxNode) -> OnnxValue:
    """DequantizeLinear: real numbers of codes, per tensor, per axis or in blocks."""
    return real_of(node, node[0], node[1], node.optional(2), int(node.attribute("axis", 1)))


def real_of(node: OnnxNode, value: OnnxValue, scale: OnnxValue, zero: OnnxValue | None, axis: int) -> OnnxValue:
    """The real numbers of codes; scales and zero points of more than one element go along an axis."""
    g = node.graph
    kind = known_quantization(value.dtype, scale, zero)
    _note_asymmetric(node, value.dtype, zero)
    if value.constant is None and kind is not None:
        dequantised = dequantized(g, value, kind)
        if dequantised is not None:
            return dequantised
    scale, zero = _parameters(node, value, scale, zero, axis)
    if value.constant is not None and scale.constant is not None and (zero is None or zero.constant is not None):
        return dequantized_constant(value, scale.constant, None if zero is None else zero.constant)
    if value.dtype is I32 and zero is None:
        return g.mul(g.cast(value, F32), scale)
    codes = g.cast(value, I32)
    if zero is not None:
        codes = g.sub(codes, g.cast(zero, I32))
    return g.mul(g.cast(codes, F32), scale)


@lowers("QuantizeLinear")
def quantize_linear(node: OnnxNode) -> OnnxValue:
    """QuantizeLinear: codes of real numbers, in the type of the zero point, else of `output_dtype`, else uint8."""
    zero = node.optional(2)
    dtype = DType.UINT8
    if zero is not None:
        dtype = zero.dtype
    elif node.attribute("output_dtype", 0):
        dtype = dtype_of(int(node.attribute("output_dtype")))
    value = node[0] if node[0].dtype is F32 else node.graph.cast(node[0], F32)
    return quantized_as(node, value, node[1], zero, dtype)


def _note_asymmetric(node: OnnxNode, dtype: DType, zero: OnnxValue | None) -> None:
    """Tells the user of codes of 16 bits that stay in float for their zero point alone."""
    if dtype not in (DType.UINT16, DType.INT16) or zero is None or zero.constant is None or zero.size != 1:
        return
    middle = 32768 if dtype is DType.UINT16 else 0
    if int(zero.constant.reshape(-1)[0]) != middle:
        text = f"{dtype.label} values whose zero point is not {middle} are computed in float: int16 is symmetric"
        node.walker.notes[text] = None


def quantized_as(node: OnnxNode, value: OnnxValue, scale: OnnxValue, zero: OnnxValue | None, dtype: DType) -> OnnxValue:
    """The nearest codes of real numbers."""
    kind = known_quantization(dtype, scale, zero)
    _note_asymmetric(node, dtype, zero)
    if kind is not None and value.size:
        return quantized(node.graph, value, dtype, kind)
    axis = int(node.attribute("axis", 1))
    return codes_of(node.graph, value, *_parameters(node, value, scale, zero, axis), dtype)


def codes_of(g: Graph, value: OnnxValue, scale: OnnxValue, zero: OnnxValue | None, dtype: DType) -> OnnxValue:
    """The nearest codes of real values, ties to even, clamped to the type."""
    if dtype not in (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16):
        raise NodeError(f"quantises to {dtype.label}, which is unsupported")
    least, greatest = dtype.limits
    nearest = g.round_even(g.div(value, g.cast(scale, F32)))
    if zero is not None:
        nearest = g.add(nearest, g.cast(g.cast(zero, I32), F32))
    return g.cast(g.minimum(g.maximum(nearest, float(least)), float(greatest)), dtype)


@lowers("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: OnnxNode) -> list[OnnxValue]:
    """uint8 codes by the range of the values, their scale and their zero point."""
    return [*dynamic_codes(node.graph, node[0])]


def dynamic_codes(g: Graph, value: OnnxValue) -> tuple[OnnxValue, OnnxValue, OnnxValue]:
    """uint8 codes by the range of the values, which holds 0. The scale of zeros alone is 1, as ONNX Runtime's."""
    axes = list(range(value.rank))
    greatest = g.maximum(g.reshape(g.reduce_max(value, axes), ()), 0.0)
    least = g.minimum(g.reshape(g.reduce_min(value, axes), ()), 0.0)
    step = g.div(g.sub(greatest, least), 255.0)
    scale = g.where(g.equal(step, 0.0), 1.0, step)
    zero = g.round_even(g.minimum(g.maximum(g.neg(g.div(least, scale)), 0.0), 255.0))
    zero = g.cast(zero, DType.UINT8)
    return codes_of(g, value, scale, zero, DType.UINT8), scale, zero


def dynamic_product(
    g: Graph, value: OnnxValue, codes: OnnxValue, scale: OnnxValue, zero: OnnxValue | None, bias: OnnxValue | None
) -> OnnxValue:
    """Floats, quantised by the range that they have now, times codes of (depth, outputs), plus a bias."""
    own, own_scale, own_zero = dynamic_codes(g, value)
    left, right = centred(g, own, own_zero), centred(g, codes, zero, codes.rank - 1)
    sums = g.cast(integer_matmul(g, left, right), F32)
    product = g.mul(sums, g.mul(own_scale, scale))
    return product if bias is None else g.add(product, bias)


def centred(g: Graph, value: OnnxValue, zero: OnnxValue | None, axis: int = 0) -> OnnxValue:
    """Codes minus their zero point, as int32."""
    wide = g.cast(value, I32)
    if wide.constant is not None and zero is not None and zero.constant is not None:
        shown = spread(g, zero, value, axis, 0)
        assert shown.constant is not None
        return constant(wide.constant - shown.constant.astype(np.int32))
    if zero is None or (zero.constant is not None and not zero.constant.any()):
        return wide
    return g.sub(wide, g.cast(spread(g, zero, value, axis, 0), I32))


def quantized_matmul(node: OnnxNode) -> OnnxValue:
    """QLinearMatMul by a product of int32."""
    g = node.graph
    a, b = centred(g, node[0], node[2], node[0].rank - 2), centred(g, node[3], node[5], node[3].rank - 1)
    product = g.cast(integer_matmul(g, a, b), F32)
    scale_a = spread(g, node[1], node[0], node[0].rank - 2, 0)
    scale_b = spread(g, node[4], node[3], node[3].rank - 1, 0)
    ratio = g.div(g.mul(g.cast(scale_a, F32), g.cast(scale_b, F32)), g.cast(node[6], F32))
    return codes_of(g, g.mul(product, ratio), constant(1.0, F32), node[7], node[7].dtype)


def integer_convolution(node: OnnxNode, value: OnnxValue, weights: OnnxValue, bias: OnnxValue | None) -> OnnxValue:
    """A convolution of codes without their zero points, as floats: of so many channels at once that these are exact."""
    g, groups = node.graph, int(node.attribute("group", 1))
    channels, taps = weights.shape[1], math.prod(weights.shape[2:])
    together = exact_terms(weights) // taps
    if together < 1 or (together < channels and groups > 1):
        raise NodeError(f"sums {channels * taps} products of quantised values, more than float32 adds exactly")
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape") or weights.shape[2:])
    result: OnnxValue | None = None
    for start in range(0, channels, together):
        count = min(together, channels - start)
        own, filters = value, weights
        if count < channels:
            own, filters = g.part(value, 1, start, count), g.part(weights, 1, start, count)
        real = convolution(g, g.cast(own, F32), g.cast(filters, F32), None, window, groups)
        sums = g.cast(real, I32)
        result = sums if result is None else g.add(result, sums)
    assert result is not None
    return result if bias is None else g.add(result, g.reshape(bias, [1, bias.size, *[1] * (result.rank - 2)]))


def exact_terms(weights: OnnxValue) -> int:
    """Products of codes with these weights whose sum a float holds exactly."""
    largest = 255 if weights.constant is None else max(int(np.abs(weights.constant.astype(np.int64)).max(initial=1)), 1)
    return EXACT_FLOAT // (255 * largest)


def integer_matmul(g: Graph, a: OnnxValue, b: OnnxValue) -> OnnxValue:
    """A product of codes without their zero points: with constant weights by floats, as many terms as are exact."""
    if b.constant is None or b.rank < 2 or a.rank < 2:
        return g.matmul(a, b)
    together, depth = exact_terms(b), b.shape[-2]
    parts = []
    for start in range(0, depth, together):
        count = min(together, depth - start)
        left, right = g.part(a, a.rank - 1, start, count), g.part(b, b.rank - 2, start, count)
        parts.append(g.cast(g.matmul(g.cast(left, F32), g.cast(right, F32)), I32))
    return g.sum_of(parts)


@lowers("MatMulInteger")
def product_of_integers(node: OnnxNode) -> OnnxValue:
    """MatMulInteger: int32 product of codes less their zero points."""
    g, a, b = node.graph, node[0], node[1]
    return integer_matmul(g, centred(g, a, node.optional(2), a.rank - 2), centred(g, b, node.optional(3), b.rank - 1))


@lowers("ConvInteger", evaluated=False)
def convolution_of_integers(node: OnnxNode) -> OnnxValue:
    """ConvInteger: int32 convolution of codes less their zero points."""
    g = node.graph
    return integer_convolution(node, centred(g, node[0], node.optional(2)), centred(g, node[1], node.optional(3)), None)


def quantized_convolution(node: OnnxNode) -> OnnxValue:
    """QLinearConv by a convolution of integers."""
    g = node.graph
    value, weights = centred(g, node[0], node[2]), centred(g, node[3], node[5])
    sums = g.cast(integer_convolution(node, value, weights, node.optional(8)), F32)
    scales = spread(g, node[4], sums, 1, 0)
    ratio = g.div(g.mul(g.reshape(node[1], ()), scales), g.reshape(node[6], ()))
    return codes_of(g, g.mul(sums, ratio), constant(1.0, F32), node[7], node[7].dtype)
