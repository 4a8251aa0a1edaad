"""Elementwise arithmetic, comparisons, logic, bits and casts."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from tflmgen.frontend.onnx.element_graph import BOOL, F32, I32, I64, NARROW, broadcast_shape
from tflmgen.frontend.onnx.float32_model import OTHER_FLOATS
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode, dtype_of
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.quantized_tensors import maximum_of_codes, minimum_of_codes
from tflmgen.ir import DType


@lowers("Sum", "Max", "Min")
def variadic(node: OnnxNode) -> OnnxValue:
    """Operators of any number of operands, by pairs from the left."""
    values = [node[index] for index in range(len(node.inputs))]
    combine = {"Sum": Graph.add, "Max": maximum_of_codes, "Min": minimum_of_codes}[node.op]
    return reduce(partial(combine, node.graph), values)


@lowers("Mean")
def mean(node: OnnxNode) -> OnnxValue:
    """Mean of any number of operands, which are broadcast."""
    values = [node[index] for index in range(len(node.inputs))]
    return node.graph.mul(node.graph.sum_of(values), 1.0 / len(values))


@lowers("Abs")
def lower_absolute(node: OnnxNode) -> OnnxValue:
    """Abs, which leaves unsigned integers as they are."""
    return node[0] if node[0].dtype in (DType.UINT8, DType.UINT16) else node.graph.absolute(node[0])


@lowers("Sign")
def lower_sign(node: OnnxNode) -> OnnxValue:
    """Sign: -1, 0 or 1 in the operand's type."""
    return node.graph.sign(node[0])


@lowers("Div")
def divide(node: OnnxNode) -> OnnxValue:
    """Integers are divided towards zero."""
    g, a, b = node.graph, node[0], node[1]
    if a.dtype is not I64:
        return g.div(a, b)
    quotient = g.floor_div(g.absolute(a), g.absolute(b))
    return g.mul(quotient, g.mul(g.sign(a), g.sign(b)))


@lowers("Mod")
def modulo(node: OnnxNode) -> OnnxValue:
    """The sign is the divisor's, with `fmod` the dividend's."""
    g, a, b = node.graph, node[0], node[1]
    if not node.attribute("fmod", 0):
        return g.floor_mod(a, b)
    rest = g.floor_mod(g.absolute(a), g.absolute(b))
    return g.mul(rest, g.sign(a))


@lowers("Pow")
def lower_power(node: OnnxNode) -> OnnxValue:
    """Pow: by products, a square root or a square where the exponent is a known small one, else by POW."""
    g, base, exponent = node.graph, node[0], node[1]
    if exponent.constant is not None and exponent.size == 1:
        number = float(exponent.constant.reshape(-1)[0])
        if exponent.rank <= base.rank and number in (1.0, 2.0, 3.0):
            product = base
            for _ in range(int(number) - 1):
                product = g.mul(product, base)
            return product
        if exponent.rank <= base.rank and number == 0.5 and base.dtype is F32:
            return g.sqrt(base)
    if exponent.dtype is F32 or base.dtype is F32:
        return g.cast(g.power(g.cast(base, F32), g.cast(exponent, F32)), base.dtype)
    if base.dtype is I64:
        raise NodeError("raises int64 to a power that is no constant 1, 2 or 3, for which there is no kernel")
    exponent = g.cast(exponent, I32)
    return g.cast(g.power(g.cast(base, I32), exponent), base.dtype)


@lowers("Reciprocal")
def reciprocal(node: OnnxNode) -> OnnxValue:
    """Reciprocal of floats, as a division."""
    return node.graph.div(constant(1.0, F32), node[0])


@lowers("Clip")
def clip(node: OnnxNode) -> OnnxValue:
    """Clip: by RELU6 where the limits are 0 and 6, else a maximum and a minimum; limits may be absent or computed."""
    g, value = node.graph, node[0]
    low, high = node.optional(1), node.optional(2)
    if node.version < 11:
        low = None if node.attribute("min") is None else constant(node.attribute("min"), F32)
        high = None if node.attribute("max") is None else constant(node.attribute("max"), F32)
    known = [None if v is None or v.constant is None else float(v.constant.reshape(-1)[0]) for v in (low, high)]
    if value.dtype is F32 and known == [0.0, 6.0]:
        return g.relu6(value)
    if low is not None:
        value = maximum_of_codes(g, value, low)
    return value if high is None else minimum_of_codes(g, value, high)


@lowers("Where")
def lower_where(node: OnnxNode) -> OnnxValue:
    """ONNX's Where: the second operand's elements where the first holds, else the third's; shapes are broadcast."""
    return node.graph.where(node[0], node[1], node[2])


@lowers("IsNaN")
def is_nan(node: OnnxNode) -> OnnxValue:
    """IsNaN: only a NaN is unequal to itself."""
    return node.graph.not_equal(node[0], node[0])


@lowers("IsInf")
def is_infinite(node: OnnxNode) -> OnnxValue:
    """IsInf of the signs that the attributes ask for, by comparisons with infinities."""
    g, value = node.graph, node[0]
    if node.attribute("detect_negative", 1) and node.attribute("detect_positive", 1):
        return g.equal(g.absolute(value), float("inf"))
    if node.attribute("detect_positive", 1):
        return g.equal(value, float("inf"))
    if node.attribute("detect_negative", 1):
        return g.equal(value, float("-inf"))
    check_constant(value.shape, 1)
    return constant(np.zeros(value.shape, bool))


@lowers("Cast", "CastLike")
def lower_cast(node: OnnxNode) -> OnnxValue:
    """Cast and CastLike. Raises NodeError if the target is a type that TFLite lacks."""
    number = int(node.attribute("to", 0))
    target = node[1].dtype if node.op == "CastLike" else F32 if number in OTHER_FLOATS else dtype_of(number)
    g, value = node.graph, node[0]
    if target is BOOL:
        return value if value.dtype is BOOL else g.not_equal(value, 0)
    return g.cast(value, target)


@lowers("BitwiseNot")
def bitwise_not(node: OnnxNode) -> OnnxValue:
    """BitwiseNot, as -1 - x of signed integers and as XOR with the largest value of unsigned ones."""
    g, value = node.graph, node[0]
    if value.dtype in (I32, I64, DType.INT8, DType.INT16):
        return g.sub(constant(-1, value.dtype), value)
    return g.xor(value, value.dtype.limits[1])


@lowers("BitwiseAnd", "BitwiseOr")
def bitwise(node: OnnxNode) -> OnnxValue:
    """Bit by bit: there is no kernel for whole numbers."""
    g, a, b = node.graph, node[0], node[1]
    if a.dtype not in NARROW:
        raise NodeError(f"combines bits of {a.dtype.label}, for which there is no kernel")
    bits, signed = a.dtype.bits, a.dtype in (DType.INT8, DType.INT16)
    both: OnnxValue | None = None
    wide_a, wide_b = g.cast(a, I32), g.cast(b, I32)
    for bit in range(bits):
        both_bits = [g.floor_mod(g.floor_div(v, 1 << bit), 2) for v in (wide_a, wide_b)]
        weight = -(1 << bit) if signed and bit == bits - 1 else 1 << bit
        place = g.mul(g.mul(*both_bits) if node.op == "BitwiseAnd" else g.maximum(*both_bits), weight)
        both = place if both is None else g.add(both, place)
    assert both is not None
    return g.cast(both, a.dtype)


@lowers("BitShift")
def bit_shift(node: OnnxNode) -> OnnxValue:
    """Shifts by less than zero or by the type's width and more leave nothing but the sign, to the right."""
    g, value, by = node.graph, node[0], node[1]
    bits, signed = value.dtype.bits, value.dtype.limits[0] < 0
    shape = broadcast_shape([value.shape, by.shape])
    if value.dtype not in (*NARROW, I32):
        raise NodeError(f"shifts {value.dtype.label}, for which there is no kernel")
    wide, places = g.cast(value, I32), g.cast(g.broadcast_to(by, shape), I32)
    inside = g.logical_and(g.greater_equal(places, 0), g.less(places, bits))
    if node.attribute("direction") == "RIGHT":
        shifted = g.right_shift(wide, g.where(inside, places, bits - 1))
        return g.cast(shifted if signed else g.where(inside, shifted, 0), value.dtype)
    powers = constant(np.array([*(1 << k for k in range(bits)), 0], np.int64).astype(np.int32))
    factors = g.gather(powers, g.where(inside, places, bits), 0)
    return g.cast(g.mul(wide, factors), value.dtype)
