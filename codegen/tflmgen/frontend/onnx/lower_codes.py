"""Quantised operators as ONNX defines them: integers are codes, real = scale * (code - zero point).

Written out in floats or in int32: sums of products are exact, requantisation rounds in float32.
"""

from __future__ import annotations

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


def _parameters(node: Node, value: Value) -> tuple[Value, Value | None]:
    scale, zero = node[1], node.optional(2)
    axis = normal_axis(int(node.attribute("axis", 1)), value.rank) if scale.size > 1 else 0
    block = int(node.attribute("block_size", 0))
    return (
        spread(node.graph, scale, value, axis, block),
        None if zero is None else spread(node.graph, zero, value, axis, block),
    )


@lowers("DequantizeLinear")
def dequantize_linear(node: Node) -> Value:
    g, value = node.graph, node[0]
    scale, zero = _parameters(node, value)
    if value.dtype is I32 and zero is None:
        return c.mul(g, c.cast(g, value, F32), scale)
    codes = c.cast(g, value, I32)
    if zero is not None:
        codes = c.sub(g, codes, c.cast(g, zero, I32))
    return c.mul(g, c.cast(g, codes, F32), scale)


@lowers("QuantizeLinear")
def quantize_linear(node: Node) -> Value:
    scale, zero = _parameters(node, node[0])
    dtype = DType.UINT8
    if zero is not None:
        dtype = zero.dtype
    elif node.attribute("output_dtype", 0):
        dtype = dtype_of(int(node.attribute("output_dtype")))
    value = node[0] if node[0].dtype is F32 else c.cast(node.graph, node[0], F32)
    return codes_of(node.graph, value, scale, zero, dtype)


def codes_of(g: Graph, value: Value, scale: Value, zero: Value | None, dtype: DType) -> Value:
    """The nearest codes of real values, ties to even, clamped to the type."""
    if dtype not in (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16):
        raise NodeError(f"quantises to {dtype.label}, which is unsupported")
    least, most = dtype.limits
    nearest = c.round_even(g, c.div(g, value, c.cast(g, scale, F32)))
    if zero is not None:
        nearest = c.add(g, nearest, c.cast(g, c.cast(g, zero, I32), F32))
    return c.cast(g, c.minimum(g, c.maximum(g, nearest, float(least)), float(most)), dtype)


@lowers("DynamicQuantizeLinear")
def dynamic_quantize_linear(node: Node) -> list[Value]:
    """uint8 codes by the range of the values, which always holds 0."""
    g, value = node.graph, node[0]
    axes = list(range(value.rank))
    most = c.maximum(g, m.reshape(g, reduce(g, "REDUCE_MAX", value, axes), ()), 0.0)
    least = c.minimum(g, m.reshape(g, reduce(g, "REDUCE_MIN", value, axes), ()), 0.0)
    scale = c.div(g, c.sub(g, most, least), 255.0)
    divisor = c.where(g, c.equal(g, scale, 0.0), 1.0, scale)
    zero = c.round_even(g, c.minimum(g, c.maximum(g, c.neg(g, c.div(g, least, divisor)), 0.0), 255.0))
    zero = c.cast(g, zero, DType.UINT8)
    return [codes_of(g, value, divisor, zero, DType.UINT8), scale, zero]


def centred(g: Graph, value: Value, zero: Value | None, axis: int = 0) -> Value:
    """Codes minus their zero point, as int32."""
    wide = c.cast(g, value, I32)
    if zero is None or (zero.constant is not None and not zero.constant.any()):
        return wide
    return c.sub(g, wide, c.cast(g, spread(g, zero, value, axis, 0), I32))


@lowers("QLinearMatMul")
def quantized_matmul(node: Node) -> Value:
    g = node.graph
    a, b = centred(g, node[0], node[2], node[0].rank - 2), centred(g, node[3], node[5], node[3].rank - 1)
    product = c.cast(g, matmul(g, a, b), F32)
    scale_a = spread(g, node[1], node[0], node[0].rank - 2, 0)
    scale_b = spread(g, node[4], node[3], node[3].rank - 1, 0)
    ratio = c.div(g, c.mul(g, c.cast(g, scale_a, F32), c.cast(g, scale_b, F32)), c.cast(g, node[6], F32))
    return codes_of(g, c.mul(g, product, ratio), constant(1.0, F32), node[7], node[7].dtype)


def integer_convolution(node: Node, value: Value, weights: Value, bias: Value | None) -> Value:
    """A convolution of codes without their zero points, as floats: exact while no sum exceeds 24 bits."""
    g = node.graph
    terms = weights.size // weights.shape[0]
    if terms * 255 * 255 > EXACT_FLOAT:
        raise NodeError(f"sums {terms} products of codes, which floats don't hold exactly")
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape") or weights.shape[2:])
    real = convolution(g, c.cast(g, value, F32), c.cast(g, weights, F32), None, window, int(node.attribute("group", 1)))
    made = c.cast(g, real, I32)
    return made if bias is None else c.add(g, made, m.reshape(g, bias, [1, bias.size, *[1] * (made.rank - 2)]))


@lowers("ConvInteger")
def convolution_of_integers(node: Node) -> Value:
    g = node.graph
    return integer_convolution(node, centred(g, node[0], node.optional(2)), centred(g, node[1], node.optional(3)), None)


@lowers("QLinearConv")
def quantized_convolution(node: Node) -> Value:
    g = node.graph
    value, weights = centred(g, node[0], node[2]), centred(g, node[3], node[5])
    sums = c.cast(g, integer_convolution(node, value, weights, node.optional(8)), F32)
    scales = spread(g, node[4], sums, 1, 0)
    ratio = c.div(g, c.mul(g, m.reshape(g, node[1], ()), scales), m.reshape(g, node[6], ()))
    return codes_of(g, c.mul(g, sums, ratio), constant(1.0, F32), node[7], node[7].dtype)
