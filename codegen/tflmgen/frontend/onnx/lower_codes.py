"""Quantised operators as ONNX defines them: integers are codes, real = scale * (code - zero point).

Written out in floats or in int32: sums of products are exact, requantisation rounds in float32.
"""

from __future__ import annotations

import math

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32, I32
from tflmgen.frontend.onnx.laid_out import Graph, Value, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lower_convolution import convolution
from tflmgen.frontend.onnx.lower_matrix import matmul
from tflmgen.frontend.onnx.lower_reduce import reduce
from tflmgen.frontend.onnx.lower_window import window_of
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node, dtype_of, normal_axis
from tflmgen.frontend.onnx.quantized_tensors import (
    dequantized,
    dequantized_constant,
    known_quantization,
    quantized,
)
from tflmgen.ir import DType

EXACT_FLOAT = 1 << 24
"""Sums of integers below this are exact in float32."""


def spread(g: Graph, parameter: Value, value: Value, axis: int, block: int) -> Value:
    """A scale or zero point shaped to go with a value: of all, per index of an axis, or per block along it."""
    if parameter.size == 1:
        return m.reshape(g, parameter, ())
    if block:
        places = np.arange(value.shape[axis]) // block
        return m.gather(g, parameter, constant(places.astype(np.int32)), axis)
    return m.reshape(g, parameter, [n if k == axis else 1 for k, n in enumerate(value.shape)])


def _parameters(node: Node, value: Value, scale: Value, zero: Value | None, axis: int) -> tuple[Value, Value | None]:
    axis = normal_axis(axis, value.rank) if scale.size > 1 else 0
    block = int(node.attribute("block_size", 0))
    return (
        spread(node.graph, scale, value, axis, block),
        None if zero is None else spread(node.graph, zero, value, axis, block),
    )


@lowers("DequantizeLinear")
def dequantize_linear(node: Node) -> Value:
    """DequantizeLinear: real numbers of codes, per tensor, per axis or in blocks."""
    return real_of(node, node[0], node[1], node.optional(2), int(node.attribute("axis", 1)))


def real_of(node: Node, value: Value, scale: Value, zero: Value | None, axis: int) -> Value:
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
        return c.mul(g, c.cast(g, value, F32), scale)
    codes = c.cast(g, value, I32)
    if zero is not None:
        codes = c.sub(g, codes, c.cast(g, zero, I32))
    return c.mul(g, c.cast(g, codes, F32), scale)


@lowers("QuantizeLinear")
def quantize_linear(node: Node) -> Value:
    """QuantizeLinear: codes of real numbers, in the type of the zero point, else of `output_dtype`, else uint8."""
    zero = node.optional(2)
    dtype = DType.UINT8
    if zero is not None:
        dtype = zero.dtype
    elif node.attribute("output_dtype", 0):
        dtype = dtype_of(int(node.attribute("output_dtype")))
    value = node[0] if node[0].dtype is F32 else c.cast(node.graph, node[0], F32)
    return quantized_as(node, value, node[1], zero, dtype)


def _note_asymmetric(node: Node, dtype: DType, zero: Value | None) -> None:
    """Tells the user of codes of 16 bits that stay in float for their zero point alone."""
    if dtype not in (DType.UINT16, DType.INT16) or zero is None or zero.constant is None or zero.size != 1:
        return
    middle = 32768 if dtype is DType.UINT16 else 0
    if int(zero.constant.reshape(-1)[0]) != middle:
        text = f"{dtype.label} values whose zero point is not {middle} are computed in float: int16 is symmetric"
        node.walker.notes[text] = None


def quantized_as(node: Node, value: Value, scale: Value, zero: Value | None, dtype: DType) -> Value:
    """The nearest codes of real numbers."""
    kind = known_quantization(dtype, scale, zero)
    _note_asymmetric(node, dtype, zero)
    if kind is not None and value.size:
        return quantized(node.graph, value, dtype, kind)
    axis = int(node.attribute("axis", 1))
    return codes_of(node.graph, value, *_parameters(node, value, scale, zero, axis), dtype)


def codes_of(g: Graph, value: Value, scale: Value, zero: Value | None, dtype: DType) -> Value:
    """The nearest codes of real values, ties to even, clamped to the type."""
    if dtype not in (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16):
        raise NodeError(f"quantises to {dtype.label}, which is unsupported")
    least, greatest = dtype.limits
    nearest = c.round_even(g, c.div(g, value, c.cast(g, scale, F32)))
    if zero is not None:
        nearest = c.add(g, nearest, c.cast(g, c.cast(g, zero, I32), F32))
    return c.cast(g, c.minimum(g, c.maximum(g, nearest, float(least)), float(greatest)), dtype)


@lowers("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> list[Value]:
    """uint8 codes by the range of the values, their scale and their zero point."""
    return [*dynamic_codes(node.graph, node[0])]


def dynamic_codes(g: Graph, value: Value) -> tuple[Value, Value, Value]:
    """uint8 codes by the range of the values, which holds 0. The scale of zeros alone is 1, as ONNX Runtime's."""
    axes = list(range(value.rank))
    greatest = c.maximum(g, m.reshape(g, reduce(g, "REDUCE_MAX", value, axes), ()), 0.0)
    least = c.minimum(g, m.reshape(g, reduce(g, "REDUCE_MIN", value, axes), ()), 0.0)
    step = c.div(g, c.sub(g, greatest, least), 255.0)
    scale = c.where(g, c.equal(g, step, 0.0), 1.0, step)
    zero = c.round_even(g, c.minimum(g, c.maximum(g, c.neg(g, c.div(g, least, scale)), 0.0), 255.0))
    zero = c.cast(g, zero, DType.UINT8)
    return codes_of(g, value, scale, zero, DType.UINT8), scale, zero


def dynamic_product(
    g: Graph, value: Value, codes: Value, scale: Value, zero: Value | None, bias: Value | None
) -> Value:
    """Floats, quantised by the range that they have now, times codes of (depth, outputs), plus a bias."""
    own, own_scale, own_zero = dynamic_codes(g, value)
    left, right = centred(g, own, own_zero), centred(g, codes, zero, codes.rank - 1)
    sums = c.cast(g, integer_matmul(g, left, right), F32)
    product = c.mul(g, sums, c.mul(g, own_scale, scale))
    return product if bias is None else c.add(g, product, bias)


def centred(g: Graph, value: Value, zero: Value | None, axis: int = 0) -> Value:
    """Codes minus their zero point, as int32."""
    wide = c.cast(g, value, I32)
    if wide.constant is not None and zero is not None and zero.constant is not None:
        shown = spread(g, zero, value, axis, 0)
        assert shown.constant is not None
        return constant(wide.constant - shown.constant.astype(np.int32))
    if zero is None or (zero.constant is not None and not zero.constant.any()):
        return wide
    return c.sub(g, wide, c.cast(g, spread(g, zero, value, axis, 0), I32))


def quantized_matmul(node: Node) -> Value:
    """QLinearMatMul by a product of int32."""
    g = node.graph
    a, b = centred(g, node[0], node[2], node[0].rank - 2), centred(g, node[3], node[5], node[3].rank - 1)
    product = c.cast(g, integer_matmul(g, a, b), F32)
    scale_a = spread(g, node[1], node[0], node[0].rank - 2, 0)
    scale_b = spread(g, node[4], node[3], node[3].rank - 1, 0)
    ratio = c.div(g, c.mul(g, c.cast(g, scale_a, F32), c.cast(g, scale_b, F32)), c.cast(g, node[6], F32))
    return codes_of(g, c.mul(g, product, ratio), constant(1.0, F32), node[7], node[7].dtype)


def integer_convolution(node: Node, value: Value, weights: Value, bias: Value | None) -> Value:
    """A convolution of codes without their zero points, as floats: of so many channels at once that these are exact."""
    g, groups = node.graph, int(node.attribute("group", 1))
    channels, taps = weights.shape[1], math.prod(weights.shape[2:])
    together = exact_terms(weights) // taps
    if together < 1 or (together < channels and groups > 1):
        raise NodeError(f"sums {channels * taps} products of quantised values, more than float32 adds exactly")
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape") or weights.shape[2:])
    total: Value | None = None
    for start in range(0, channels, together):
        count = min(together, channels - start)
        own, filters = value, weights
        if count < channels:
            own, filters = m.part(g, value, 1, start, count), m.part(g, weights, 1, start, count)
        real = convolution(g, c.cast(g, own, F32), c.cast(g, filters, F32), None, window, groups)
        sums = c.cast(g, real, I32)
        total = sums if total is None else c.add(g, total, sums)
    assert total is not None
    return total if bias is None else c.add(g, total, m.reshape(g, bias, [1, bias.size, *[1] * (total.rank - 2)]))


def exact_terms(weights: Value) -> int:
    """Products of codes with these weights whose sum a float holds exactly."""
    largest = 255 if weights.constant is None else max(int(np.abs(weights.constant.astype(np.int64)).max(initial=1)), 1)
    return EXACT_FLOAT // (255 * largest)


def integer_matmul(g: Graph, a: Value, b: Value) -> Value:
    """A product of codes without their zero points: with constant weights by floats, as many terms as are exact."""
    if b.constant is None or b.rank < 2 or a.rank < 2:
        return matmul(g, a, b)
    together, depth = exact_terms(b), b.shape[-2]
    parts = []
    for start in range(0, depth, together):
        count = min(together, depth - start)
        left, right = m.part(g, a, a.rank - 1, start, count), m.part(g, b, b.rank - 2, start, count)
        parts.append(c.cast(g, matmul(g, c.cast(g, left, F32), c.cast(g, right, F32)), I32))
    return c.total(g, "ADD", parts)


@lowers("MatMulInteger")
def product_of_integers(node: Node) -> Value:
    """MatMulInteger: int32 product of codes less their zero points."""
    g, a, b = node.graph, node[0], node[1]
    return integer_matmul(g, centred(g, a, node.optional(2), a.rank - 2), centred(g, b, node.optional(3), b.rank - 1))


@lowers("ConvInteger")
def convolution_of_integers(node: Node) -> Value:
    """ConvInteger: int32 convolution of codes less their zero points."""
    g = node.graph
    return integer_convolution(node, centred(g, node[0], node.optional(2)), centred(g, node[1], node.optional(3)), None)


def quantized_convolution(node: Node) -> Value:
    """QLinearConv by a convolution of integers."""
    g = node.graph
    value, weights = centred(g, node[0], node[2]), centred(g, node[3], node[5])
    sums = c.cast(g, integer_convolution(node, value, weights, node.optional(8)), F32)
    scales = spread(g, node[4], sums, 1, 0)
    ratio = c.div(g, c.mul(g, m.reshape(g, node[1], ()), scales), m.reshape(g, node[6], ()))
    return codes_of(g, c.mul(g, sums, ratio), constant(1.0, F32), node[7], node[7].dtype)
