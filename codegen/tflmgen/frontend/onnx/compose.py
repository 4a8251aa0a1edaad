"""TFLite operators as functions of values, which cast and lay out their operands as the kernels want them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.frontend.onnx.laid_out import Graph, Shape, Value, constant, moved_constant, stored_shape
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.ir import DType

F32, I32, I64, BOOL = DType.FLOAT32, DType.INT32, DType.INT64, DType.BOOL
NARROW = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, BOOL)
"""Types whose every value int32 holds."""

NUMBERS = (F32, I32, I64)
TYPES: Mapping[str, tuple[DType, ...]] = {
    **dict.fromkeys(("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "NEG", "SUM", "CUMSUM"), NUMBERS),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "GREATER", "GREATER_EQUAL", "LESS"), NUMBERS),
    "LESS_EQUAL": NUMBERS,
    **dict.fromkeys(("DIV", "POW", "ABS", "SIGN", "SQUARE", "MEAN", "SQUARED_DIFFERENCE"), (F32, I32)),
    **dict.fromkeys(("FLOOR_MOD", "FLOOR_DIV"), NUMBERS),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL"), (*NUMBERS, BOOL)),
    **dict.fromkeys(("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT", "REDUCE_ANY", "REDUCE_ALL"), (BOOL,)),
    "BITWISE_XOR": (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, I32, DType.UINT32, BOOL),
    "RIGHT_SHIFT": (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, I32, DType.UINT32),
    **dict.fromkeys(("ARG_MAX", "ARG_MIN"), (F32, I32)),
    "TOPK_V2": (*NUMBERS, DType.INT8, DType.UINT8, DType.INT16),
}
"""Types in which an operator computes without quantisation; float32 alone for those that aren't here."""

PREDICATES = frozenset({"EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"})


def computed_in(name: str, dtype: DType) -> DType:
    """The type in which an operator computes values of `dtype` exactly. Raises NodeError where there is none."""
    types = TYPES.get(name, (F32,))
    if dtype in types:
        return dtype
    if dtype in NARROW and I32 in types:
        return I32
    if dtype is DType.UINT32 and I64 in types:
        return I64
    raise NodeError(f"would need {name} of {dtype.label}, for which there is no kernel")


def cast(g: Graph, value: Value, dtype: DType) -> Value:
    """Conversion of the element type, as numpy's astype."""
    if value.dtype is dtype:
        return value
    if value.constant is not None:
        with np.errstate(all="ignore"):
            return constant(value.constant.astype(dtype.numpy))
    value = g.own(value)
    if DType.UINT64 in (value.dtype, dtype) or DType.FLOAT16 in (value.dtype, dtype):
        raise NodeError(f"casts {value.dtype.label} to {dtype.label}, which is unsupported")
    shape = g.tensors[value.tensor].shape
    tensor = g.operator("CAST", [value.tensor], [(dtype, shape, None)], {})[0]
    return g.value(tensor, value.shape, value.order)


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """numpy's rule. Raises NodeError for shapes that don't go together."""
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        text = ", ".join("x".join(map(str, shape)) or "scalar" for shape in shapes)
        raise NodeError(f"has operands whose shapes don't broadcast: {text}") from None


def common_order(values: Sequence[Value], rank: int) -> Shape:
    """The order in which an elementwise operator moves least: that of its largest operand of full rank."""
    candidates = [v for v in values if v.constant is None and v.rank == rank]
    return max(candidates, key=lambda v: (v.size, not v.is_plain)).order if candidates else tuple(range(rank))


def in_order(g: Graph, value: Value, rank: int, order: Shape) -> int:
    """The tensor of an operand that is broadcast to `rank` dimensions, which lie in `order`."""
    if value.rank < rank and (order != tuple(range(rank)) or not value.is_plain):
        value = expanded(g, value, rank)
    return g.laid(value) if value.rank < rank else g.laid(value, order)


def expanded(g: Graph, value: Value, rank: int) -> Value:
    """The value with leading dimensions of 1."""
    return reshaped_plain(g, value, (1,) * (rank - value.rank) + value.shape)


def reshaped_plain(g: Graph, value: Value, shape: Sequence[int]) -> Value:
    """The value in another shape, its elements in ONNX's order."""
    shape = tuple(int(size) for size in shape)
    if value.constant is not None:
        return moved_constant(value, lambda array: array.reshape(shape))
    if value.shape == shape and value.is_plain:
        return g.value(g.laid(value))
    tensor = g.laid(value) if not value.is_plain else g.own(value).tensor
    operands = [tensor, g.constant(np.array(shape, np.int32))]
    return g.value(g.operator("RESHAPE", operands, [(value.dtype, shape, g.tensors[tensor].quantization)])[0])


def elementwise(g: Graph, name: str, *values: Value, options: Mapping[str, Any] | None = None) -> Value:
    """An operator of one result for each element of its broadcast operands, all of one type."""
    dtype = values[0].dtype
    inner = computed_in(name, dtype)
    values = tuple(cast(g, value, inner) for value in values)
    if name in ("ADD", "SUB") and dtype is F32:
        return _with_infinities(g, name, values)
    return _elementwise(g, name, dtype, values, options)


def may_be_infinite(g: Graph, value: Value) -> bool:
    """Whether a value may hold infinities on purpose."""
    if value.constant is not None:
        return value.dtype.is_float and bool(np.isinf(value.constant).any())
    return g.own(value).tensor in g.infinite


def _with_infinities(g: Graph, name: str, values: Sequence[Value]) -> Value:
    """A sum or difference, in which infinite operands stay so: TFLite's ends at the greatest float."""
    infinite = [may_be_infinite(g, value) for value in values]
    finite = [
        constant(np.where(np.isinf(v.constant), np.float32(0), v.constant)) if i and v.constant is not None else v
        for v, i in zip(values, infinite, strict=True)
    ]
    shape = broadcast_shape([value.shape for value in values])
    is_mask = infinite[1] and finite[1].constant is not None and not finite[1].constant.any()
    combined = finite[0] if is_mask and finite[0].shape == shape else _elementwise(g, name, F32, finite, None)
    for value, is_infinite, place in zip(values, infinite, (0, 1), strict=True):
        if is_infinite:
            shown = value if name == "ADD" or place == 0 else neg(g, value)
            combined = where(g, infinities(g, value), shown, combined)
    return combined


def infinities(g: Graph, value: Value) -> Value:
    """A bool value: whether each element is infinite."""
    if value.constant is not None:
        return constant(np.isinf(value.constant))
    return equal(g, absolute(g, value), float("inf"))


def _elementwise(
    g: Graph, name: str, dtype: DType, values: Sequence[Value], options: Mapping[str, Any] | None
) -> Value:
    """An operator as elementwise() makes it, of operands already cast to the type in which it is computed."""
    inner = values[0].dtype
    shape = broadcast_shape([value.shape for value in values])
    order = common_order(values, len(shape))
    tensors = [in_order(g, value, len(shape), order) for value in values]
    result = BOOL if name in PREDICATES else inner
    tensor = g.operator(name, tensors, [(result, stored_shape(shape, order), None)], options)[0]
    computed = g.value(tensor, shape, order)
    return computed if name in PREDICATES else cast(g, computed, dtype)


def function(name: str) -> Callable[..., Value]:
    """An elementwise operator as a Python function of the graph and its operands, which may be numbers."""

    def call(g: Graph, *operands: Value | float) -> Value:
        dtype = next(operand.dtype for operand in operands if isinstance(operand, Value))
        values = [operand if isinstance(operand, Value) else constant(operand, dtype) for operand in operands]
        return elementwise(g, name, *values)

    return call


add, sub, mul, div = function("ADD"), function("SUB"), function("MUL"), function("DIV")
maximum, minimum, power = function("MAXIMUM"), function("MINIMUM"), function("POW")
floor_mod, floor_div = function("FLOOR_MOD"), function("FLOOR_DIV")
equal, not_equal = function("EQUAL"), function("NOT_EQUAL")
less, less_equal = function("LESS"), function("LESS_EQUAL")
greater, greater_equal = function("GREATER"), function("GREATER_EQUAL")
logical_and, logical_or, logical_not = function("LOGICAL_AND"), function("LOGICAL_OR"), function("LOGICAL_NOT")
exp, log, sqrt, neg, floor = function("EXP"), function("LOG"), function("SQRT"), function("NEG"), function("FLOOR")
ceil, sin, cos, tanh, logistic = (function(n) for n in ("CEIL", "SIN", "COS", "TANH", "LOGISTIC"))
relu, round_even, square, atan2 = function("RELU"), function("ROUND"), function("SQUARE"), function("ATAN2")
xor, right_shift = function("BITWISE_XOR"), function("RIGHT_SHIFT")


def clamped_to_1(g: Graph, value: Value) -> Value:
    """Values clamped to 0 and 1, by operators that TFLite Micro has: no RELU_0_TO_1."""
    return minimum(g, relu(g, value), 1.0)


def absolute(g: Graph, value: Value) -> Value:
    """|value|, by ABS, or of int64, which ABS lacks, by the maximum of the value and its negation."""
    return maximum(g, value, neg(g, value)) if value.dtype is I64 else elementwise(g, "ABS", value)


def sign(g: Graph, value: Value) -> Value:
    """-1, 0 or 1 in the value's type; of int64, which SIGN lacks, by clamping."""
    if value.dtype is I64:
        return maximum(g, minimum(g, value, 1), -1)
    return elementwise(g, "SIGN", value)


def where(g: Graph, condition: Value, chosen: Value | float, other: Value | float) -> Value:
    """The elements of `chosen` where the condition holds, else those of `other`."""
    dtype = next(operand.dtype for operand in (chosen, other) if isinstance(operand, Value))
    values = [operand if isinstance(operand, Value) else constant(operand, dtype) for operand in (chosen, other)]
    shape = broadcast_shape([condition.shape, *(value.shape for value in values)])
    order = common_order([condition, *values], len(shape))
    tensors = [in_order(g, value, len(shape), order) for value in (condition, *values)]
    tensor = g.operator("SELECT_V2", tensors, [(dtype, stored_shape(shape, order), None)])[0]
    return g.value(tensor, shape, order)


def total(g: Graph, name: str, values: Sequence[Value]) -> Value:
    """A binary operator over any number of values, from the left."""
    result = values[0]
    for value in values[1:]:
        result = elementwise(g, name, result, value)
    return result
