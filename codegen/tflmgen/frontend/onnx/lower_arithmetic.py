"""Elementwise arithmetic, comparisons, logic, bits and casts."""

from __future__ import annotations

from functools import partial, reduce

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx.code_extremes import extreme
from tflmgen.frontend.onnx.compose import BOOL, F32, I32, I64, NARROW
from tflmgen.frontend.onnx.compose_moves import broadcast_to, gather
from tflmgen.frontend.onnx.float32_model import OTHER_FLOATS
from tflmgen.frontend.onnx.laid_out import Value, check_constant, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node, dtype_of
from tflmgen.ir import DType

_BINARY = {
    "Add": "ADD",
    "Sub": "SUB",
    "Mul": "MUL",
    "And": "LOGICAL_AND",
    "Or": "LOGICAL_OR",
    "Greater": "GREATER",
    "GreaterOrEqual": "GREATER_EQUAL",
    "Less": "LESS",
    "LessOrEqual": "LESS_EQUAL",
    "Equal": "EQUAL",
    "Xor": "NOT_EQUAL",
    "BitwiseXor": "BITWISE_XOR",
}
_VARIADIC = {"Sum": "ADD", "Max": "MAXIMUM", "Min": "MINIMUM"}
_UNARY = {
    "Ceil": "CEIL",
    "Cos": "COS",
    "Exp": "EXP",
    "Floor": "FLOOR",
    "Log": "LOG",
    "Neg": "NEG",
    "Not": "LOGICAL_NOT",
    "Relu": "RELU",
    "Round": "ROUND",
    "Sigmoid": "LOGISTIC",
    "Sin": "SIN",
    "Sqrt": "SQRT",
    "Tanh": "TANH",
}


@lowers(*_BINARY)
def binary(node: Node) -> Value:
    """Operators of two operands with a TFLite operator of their own; shapes are broadcast."""
    return c.elementwise(node.graph, _BINARY[node.op], node[0], node[1])


@lowers(*_VARIADIC)
def variadic(node: Node) -> Value:
    """Operators of any number of operands, by pairs from the left."""
    values = [node[index] for index in range(len(node.inputs))]
    if node.op == "Sum":
        return c.total(node.graph, "ADD", values)
    return reduce(partial(extreme, node.graph, _VARIADIC[node.op]), values)


@lowers("Mean")
def mean(node: Node) -> Value:
    """Mean of any number of operands, which are broadcast."""
    values = [node[index] for index in range(len(node.inputs))]
    return c.mul(node.graph, c.total(node.graph, "ADD", values), 1.0 / len(values))


@lowers(*_UNARY)
def unary(node: Node) -> Value:
    """Operators of one operand with a TFLite operator of their own; Relu of integers is a maximum."""
    value = node[0]
    if node.op == "Relu" and value.dtype is not F32:
        return c.maximum(node.graph, value, 0)
    return c.elementwise(node.graph, _UNARY[node.op], value)


@lowers("Abs")
def absolute(node: Node) -> Value:
    """Abs, which leaves unsigned integers as they are."""
    return node[0] if node[0].dtype in (DType.UINT8, DType.UINT16) else c.absolute(node.graph, node[0])


@lowers("Sign")
def sign(node: Node) -> Value:
    """Sign: -1, 0 or 1 in the operand's type."""
    return c.sign(node.graph, node[0])


@lowers("Div")
def divide(node: Node) -> Value:
    """Integers are divided towards zero."""
    g, a, b = node.graph, node[0], node[1]
    if a.dtype is not I64:
        return c.div(g, a, b)
    quotient = c.floor_div(g, c.absolute(g, a), c.absolute(g, b))
    return c.mul(g, quotient, c.mul(g, c.sign(g, a), c.sign(g, b)))


@lowers("Mod")
def modulo(node: Node) -> Value:
    """The sign is the divisor's, with `fmod` the dividend's."""
    g, a, b = node.graph, node[0], node[1]
    if not node.attribute("fmod", 0):
        return c.floor_mod(g, a, b)
    rest = c.floor_mod(g, c.absolute(g, a), c.absolute(g, b))
    return c.mul(g, rest, c.sign(g, a))


@lowers("Pow")
def power(node: Node) -> Value:
    """Pow: by products, a square root or a square where the exponent is a known small one, else by POW."""
    g, base, exponent = node.graph, node[0], node[1]
    if exponent.constant is not None and exponent.size == 1:
        number = float(exponent.constant.reshape(-1)[0])
        if exponent.rank <= base.rank and number in (1.0, 2.0, 3.0):
            product = base
            for _ in range(int(number) - 1):
                product = c.mul(g, product, base)
            return product
        if exponent.rank <= base.rank and number == 0.5 and base.dtype is F32:
            return c.sqrt(g, base)
    if exponent.dtype is F32 or base.dtype is F32:
        return c.cast(g, c.power(g, c.cast(g, base, F32), c.cast(g, exponent, F32)), base.dtype)
    if base.dtype is I64:
        raise NodeError("raises int64 to a power that is no constant 1, 2 or 3, for which there is no kernel")
    exponent = c.cast(g, exponent, I32)
    return c.cast(g, c.power(g, c.cast(g, base, I32), exponent), base.dtype)


@lowers("Reciprocal")
def reciprocal(node: Node) -> Value:
    """Reciprocal of floats, as a division."""
    return c.div(node.graph, constant(1.0, F32), node[0])


@lowers("Clip")
def clip(node: Node) -> Value:
    """Clip: by RELU6 where the limits are 0 and 6, else a maximum and a minimum; limits may be absent or computed."""
    g, value = node.graph, node[0]
    low, high = node.optional(1), node.optional(2)
    if node.version < 11:
        low = None if node.attribute("min") is None else constant(node.attribute("min"), F32)
        high = None if node.attribute("max") is None else constant(node.attribute("max"), F32)
    known = [None if v is None or v.constant is None else float(v.constant.reshape(-1)[0]) for v in (low, high)]
    if value.dtype is F32 and known == [0.0, 6.0]:
        return c.elementwise(g, "RELU6", value)
    if low is not None:
        value = extreme(g, "MAXIMUM", value, low)
    return value if high is None else extreme(g, "MINIMUM", value, high)


@lowers("Where")
def where(node: Node) -> Value:
    """Where: elements of the second operand where the first one holds, else of the third; shapes are broadcast."""
    return c.where(node.graph, node[0], node[1], node[2])


@lowers("IsNaN")
def is_nan(node: Node) -> Value:
    """IsNaN: only a NaN is unequal to itself."""
    return c.not_equal(node.graph, node[0], node[0])


@lowers("IsInf")
def is_infinite(node: Node) -> Value:
    """IsInf of the signs that the attributes ask for, by comparisons with infinities."""
    g, value = node.graph, node[0]
    if node.attribute("detect_negative", 1) and node.attribute("detect_positive", 1):
        return c.equal(g, c.absolute(g, value), float("inf"))
    if node.attribute("detect_positive", 1):
        return c.equal(g, value, float("inf"))
    if node.attribute("detect_negative", 1):
        return c.equal(g, value, float("-inf"))
    check_constant(value.shape, 1)
    return constant(np.zeros(value.shape, bool))


@lowers("Cast", "CastLike")
def cast(node: Node) -> Value:
    """Cast and CastLike. Raises NodeError if the target is a type that TFLite lacks."""
    number = int(node.attribute("to", 0))
    target = node[1].dtype if node.op == "CastLike" else F32 if number in OTHER_FLOATS else dtype_of(number)
    g, value = node.graph, node[0]
    if target is BOOL:
        return value if value.dtype is BOOL else c.not_equal(g, value, 0)
    return c.cast(g, value, target)


@lowers("BitwiseNot")
def bitwise_not(node: Node) -> Value:
    """BitwiseNot, as -1 - x of signed integers and as XOR with the largest value of unsigned ones."""
    g, value = node.graph, node[0]
    if value.dtype in (I32, I64, DType.INT8, DType.INT16):
        return c.sub(g, constant(-1, value.dtype), value)
    return c.xor(g, value, value.dtype.limits[1])


@lowers("BitwiseAnd", "BitwiseOr")
def bitwise(node: Node) -> Value:
    """Bit by bit: there is no kernel for whole numbers."""
    g, a, b = node.graph, node[0], node[1]
    if a.dtype not in NARROW:
        raise NodeError(f"combines bits of {a.dtype.label}, for which there is no kernel")
    bits, signed = a.dtype.bits, a.dtype in (DType.INT8, DType.INT16)
    both: Value | None = None
    wide_a, wide_b = c.cast(g, a, I32), c.cast(g, b, I32)
    for bit in range(bits):
        both_bits = [c.floor_mod(g, c.floor_div(g, v, 1 << bit), 2) for v in (wide_a, wide_b)]
        weight = -(1 << bit) if signed and bit == bits - 1 else 1 << bit
        place = c.mul(g, c.mul(g, *both_bits) if node.op == "BitwiseAnd" else c.maximum(g, *both_bits), weight)
        both = place if both is None else c.add(g, both, place)
    assert both is not None
    return c.cast(g, both, a.dtype)


@lowers("BitShift")
def bit_shift(node: Node) -> Value:
    """Shifts by less than zero or by the type's width and more leave nothing but the sign, to the right."""
    g, value, by = node.graph, node[0], node[1]
    bits, signed = value.dtype.bits, value.dtype.limits[0] < 0
    shape = c.broadcast_shape([value.shape, by.shape])
    if value.dtype not in (*NARROW, I32):
        raise NodeError(f"shifts {value.dtype.label}, for which there is no kernel")
    wide, places = c.cast(g, value, I32), c.cast(g, broadcast_to(g, by, shape), I32)
    inside = c.logical_and(g, c.greater_equal(g, places, 0), c.less(g, places, bits))
    if node.attribute("direction") == "RIGHT":
        shifted = c.right_shift(g, wide, c.where(g, inside, places, bits - 1))
        return c.cast(g, shifted if signed else c.where(g, inside, shifted, 0), value.dtype)
    powers = constant(np.array([*(1 << k for k in range(bits)), 0], np.int64).astype(np.int32))
    factors = gather(g, powers, c.where(g, inside, places, bits), 0)
    return c.cast(g, c.mul(g, wide, factors), value.dtype)
