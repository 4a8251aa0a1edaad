"""Operators with scales of their own: QLinear* of ONNX and ONNX Runtime, and those of dynamic quantisation.

Where the scales and weights are known at build time, each is the operator of real numbers between conversions, of which
integer_operators.py makes an integer operator. Otherwise it is composed as in lower_codes.py.
"""

from __future__ import annotations

from dataclasses import replace

import onnx

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.lower_codes import (
    dynamic_product,
    quantized_as,
    quantized_convolution,
    quantized_matmul,
    real_of,
)
from tflmgen.frontend.onnx.lowerings import LOWERINGS, lowers
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.quantized_tensors import known_quantization

LATEST = 13
"""Version of the operator set whose forms ONNX Runtime's own operators follow."""


def lower_as(node: OnnxNode, op: str, *inputs: OnnxValue | None) -> OnnxValue:
    """The result of another operator with the node's attributes."""
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    proto.op_type, proto.domain = op, ""
    version = node.version if node.proto.domain in ("", "ai.onnx") else LATEST
    lowered = LOWERINGS[op](replace(node, proto=proto, inputs=inputs, version=version))
    first = lowered if isinstance(lowered, OnnxValue) else lowered[0]
    assert first is not None
    return first


def _real(node: OnnxNode, place: int, axis: int = 0) -> OnnxValue:
    """Real numbers of the operand at a place, which its scale and zero point follow."""
    return real_of(node, node[place], node[place + 1], node.optional(place + 2), axis)


def _is_known(node: OnnxNode, *places: int) -> bool:
    """Whether the codes at these places are constants or have one scale that is known."""
    for place in places:
        value, scale, zero = node[place], node[place + 1], node.optional(place + 2)
        known = scale.constant is not None and (zero is None or zero.constant is not None)
        if not known or (value.constant is None and known_quantization(value.dtype, scale, zero) is None):
            return False
    return True


def _result(node: OnnxNode, value: OnnxValue, place: int) -> OnnxValue:
    """Codes by the scale at a place, which the zero point follows; of the first operand's type without one."""
    zero = node.optional(place + 1)
    return quantized_as(node, value, node[place], zero, node[0].dtype if zero is None else zero.dtype)


@lowers("QLinearConv", evaluated=False)
def linear_convolution(node: OnnxNode) -> OnnxValue:
    """QLinearConv: with known scales, a convolution of reals that quantisation turns into one of integers, else in
    codes."""
    if node[3].constant is None or not _is_known(node, 0, 3) or node[6].constant is None:
        return quantized_convolution(node)
    bias = node.optional(8)
    if bias is not None:
        if bias.constant is None:
            return quantized_convolution(node)
        scale = constant(node.known(1, "its scale").reshape(-1) * node.known(4, "its scale").reshape(-1), F32)
        bias = real_of(node, bias, scale, None, 0)
    convolved = lower_as(node, "Conv", _real(node, 0), _real(node, 3), bias)
    return _result(node, convolved, 6)


@lowers("QLinearMatMul")
def linear_matmul(node: OnnxNode) -> OnnxValue:
    """QLinearMatMul: with known scales, a product of reals that quantisation turns into one of integers, else in
    codes."""
    if not _is_known(node, 0, 3) or node[6].constant is None or node[4].size > 1 < node[3].rank - 1:
        return quantized_matmul(node)
    return _result(node, lower_as(node, "MatMul", _real(node, 0), _real(node, 3, node[3].rank - 1)), 6)


@lowers("com.microsoft.QLinearAdd", "com.microsoft.QLinearMul")
def linear_arithmetic(node: OnnxNode) -> OnnxValue:
    """QLinearAdd and QLinearMul: the operator of reals, requantised."""
    return _result(node, lower_as(node, node.op.removeprefix("QLinear"), _real(node, 0), _real(node, 3)), 6)


@lowers("com.microsoft.QLinearSigmoid", "com.microsoft.QLinearLeakyRelu")
def linear_function(node: OnnxNode) -> OnnxValue:
    """QLinearSigmoid and QLinearLeakyRelu: the operator of reals, requantised."""
    return _result(node, lower_as(node, node.op.removeprefix("QLinear"), _real(node, 0)), 3)


@lowers("com.microsoft.QLinearReduceMean")
def linear_mean(node: OnnxNode) -> OnnxValue:
    """QLinearReduceMean: the mean of reals, requantised."""
    return _result(node, lower_as(node, "ReduceMean", _real(node, 0)), 3)


@lowers("com.microsoft.QLinearSoftmax")
def linear_softmax(node: OnnxNode) -> OnnxValue:
    """QLinearSoftmax: over one axis since operator set 13 (attribute `opset`); before, over all axes from it on."""
    version = int(node.attribute("opset", LATEST))
    return _result(node, lower_as(replace(node, version=version), "Softmax", _real(node, 0)), 3)


@lowers("com.microsoft.QLinearAveragePool", "com.microsoft.QLinearGlobalAveragePool")
def linear_pool(node: OnnxNode) -> OnnxValue:
    """QLinearAveragePool and QLinearGlobalAveragePool, also with channels last: the pool of reals, requantised."""
    value = _real(node, 0)
    is_last = bool(node.attribute("channels_last", 0))
    if is_last:
        value = transpose(value, [0, value.rank - 1, *range(1, value.rank - 1)])
    pooled = lower_as(node, node.op.removeprefix("QLinear"), value)
    if is_last:
        pooled = transpose(pooled, [0, *range(2, pooled.rank), 1])
    return _result(node, pooled, 3)


@lowers("com.microsoft.QLinearConcat")
def linear_concatenation(node: OnnxNode) -> OnnxValue:
    """The result's scale and zero point come first, then each operand with its own."""
    parts = [_real(node, place) for place in range(2, len(node.inputs), 3)]
    joined = node.graph.concat(parts, node.axis(parts[0].rank))
    return quantized_as(node, joined, node[0], node.optional(1), node[1].dtype)


@lowers("com.microsoft.QLinearWhere")
def linear_choice(node: OnnxNode) -> OnnxValue:
    """QLinearWhere: the choice among reals of either operand, requantised."""
    chosen = node.graph.where(node[0], _real(node, 1), _real(node, 4))
    return quantized_as(node, chosen, node[7], node.optional(8), node[1].dtype)


@lowers("com.microsoft.QGemm")
def linear_product(node: OnnxNode) -> OnnxValue:
    """A product with a bias in int32, whose scale is the operands'; floats if no scale of the result is there."""
    a, b = _real(node, 0), _real(node, 3, 0 if node.attribute("transB", 0) else 1)
    bias = node.optional(6)
    if bias is not None:
        alpha = float(node.attribute("alpha", 1.0))
        scale = node.graph.mul(node.graph.mul(node.graph.reshape(node[1], ()), node[4]), alpha)
        if node[1].constant is not None and node[4].constant is not None:
            scale = constant(node[1].constant.reshape(()) * node[4].constant * alpha, F32)
        bias = real_of(node, bias, scale, None, bias.rank - 1)
    product = lower_as(node, "Gemm", a, b, bias)
    return _result(node, product, 7) if node.has(7) else product


@lowers("com.microsoft.QuantizeLinear", "com.microsoft.DequantizeLinear")
def conversion(node: OnnxNode) -> OnnxValue:
    """QuantizeLinear and DequantizeLinear of ONNX Runtime's own domain, as those of ONNX."""
    return lower_as(node, node.op, *node.inputs)


@lowers("com.microsoft.MatMulIntegerToFloat")
def product_to_float(node: OnnxNode) -> OnnxValue:
    """A product of codes, as floats by both scales, plus a bias."""
    g = node.graph
    sums = g.cast(lower_as(node, "MatMulInteger", node[0], node[1], node.optional(4), node.optional(5)), F32)
    product = g.mul(sums, g.mul(g.reshape(node[2], ()), node[3]))
    bias = node.optional(6)
    return product if bias is None else g.add(product, bias)


@lowers("com.microsoft.DynamicQuantizeMatMul")
def dynamic_matmul(node: OnnxNode) -> OnnxValue:
    """DynamicQuantizeMatMul: a float operand, quantised at run time by the range of its values, times codes."""
    return dynamic_product(node.graph, node[0], node[1], node[2], node.optional(3), node.optional(4))
