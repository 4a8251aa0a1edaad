"""TFLite operators on each element of values, as methods of the graph that they are added to.

Operands are cast and laid out as the kernels want them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from tflmgen.frontend.onnx.layout_graph import LayoutGraph, OnnxValue, Shape, constant, moved_constant, stored_shape
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.open_size import as_sizes, is_open
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


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """numpy's rule. Raises NodeError for shapes that don't go together."""
    rank = max(map(len, shapes), default=0)
    columns = zip(*((*(1,) * (rank - len(shape)), *shape) for shape in shapes), strict=True)
    result = [list(dict.fromkeys(size for size in column if size != 1)) for column in columns]
    if any(len([size for size in sizes if not is_open(size)]) > 1 for sizes in result):
        text = ", ".join("x".join(map(str, shape)) or "scalar" for shape in shapes)
        raise NodeError(f"has operands whose shapes don't broadcast: {text}")
    return tuple(next((size for size in sizes if not is_open(size)), [*sizes, 1][0]) for sizes in result)


def common_order(values: Sequence[OnnxValue], rank: int) -> Shape:
    """The order in which an elementwise operator moves least: that of its largest operand of full rank."""
    candidates = [v for v in values if v.constant is None and v.rank == rank]
    return max(candidates, key=_weight).order if candidates else tuple(range(rank))


def _weight(value: OnnxValue) -> tuple[int, int, bool]:
    """Order of values by the effort of moving them: open sizes, product of the others, whether it lies otherwise."""
    known = [size for size in value.shape if not is_open(size)]
    return value.rank - len(known), math.prod(known), not value.is_plain


def function(name: str) -> Callable[..., OnnxValue]:
    """An elementwise operator as a Python function of the graph and its operands, which may be numbers."""

    def call(g: ElementGraph, *operands: OnnxValue | float) -> OnnxValue:
        dtype = next(operand.dtype for operand in operands if isinstance(operand, OnnxValue))
        values = [operand if isinstance(operand, OnnxValue) else constant(operand, dtype) for operand in operands]
        return g.elementwise(name, *values)

    return call


class ElementGraph(LayoutGraph):
    """A graph with operators of TFLite on each element of values, which are cast and laid out as kernels want them."""

    def cast(self, value: OnnxValue, dtype: DType) -> OnnxValue:
        """Conversion of the element type, as numpy's astype."""
        if value.dtype is dtype:
            return value
        if value.constant is not None:
            with np.errstate(all="ignore"):
                return constant(value.constant.astype(dtype.numpy))
        value = self.own(value)
        if DType.UINT64 in (value.dtype, dtype) or DType.FLOAT16 in (value.dtype, dtype):
            raise NodeError(f"casts {value.dtype.label} to {dtype.label}, which is unsupported")
        shape = self.shape_of(value.tensor)
        tensor = self.operator("CAST", [value.tensor], [(dtype, shape, None)], {})[0]
        return self.value(tensor, value.shape, value.order)

    def in_order(self, value: OnnxValue, rank: int, order: Shape) -> int:
        """The tensor of an operand that is broadcast to `rank` dimensions, which lie in `order`."""
        if value.rank < rank and (order != tuple(range(rank)) or not value.is_plain):
            value = self.expanded(value, rank)
        return self.laid(value) if value.rank < rank else self.laid(value, order)

    def expanded(self, value: OnnxValue, rank: int) -> OnnxValue:
        """The value with leading dimensions of 1."""
        return self.reshaped_plain(value, (1,) * (rank - value.rank) + value.shape)

    def reshaped_plain(self, value: OnnxValue, shape: Sequence[int]) -> OnnxValue:
        """The value in another shape, its elements in ONNX's order."""
        shape = as_sizes(shape)
        if value.constant is not None:
            return moved_constant(value, lambda array: array.reshape(shape))
        if value.shape == shape and value.is_plain:
            return self.value(self.laid(value))
        tensor = self.laid(value) if not value.is_plain else self.own(value).tensor
        return self.value(self.copied(tensor, shape))

    def copied(self, tensor: int, shape: Shape | None = None) -> int:
        """A tensor with the elements of another, in another shape if one is given."""
        entry = self.tensors[tensor]
        shape = self.shape_of(tensor) if shape is None else shape
        assert entry.dtype is not None
        operands = [tensor, self.sizes_tensor(shape, True)]
        return self.operator("RESHAPE", operands, [(entry.dtype, shape, entry.quantization)])[0]

    def elementwise(self, name: str, *values: OnnxValue, options: Mapping[str, Any] | None = None) -> OnnxValue:
        """An operator of one result for each element of its broadcast operands, all of one type."""
        dtype = values[0].dtype
        inner = computed_in(name, dtype)
        values = tuple(self.cast(value, inner) for value in values)
        if name in ("ADD", "SUB") and dtype is F32:
            return self._with_infinities(name, values)
        return self._elementwise(name, dtype, values, options)

    def may_be_infinite(self, value: OnnxValue) -> bool:
        """Whether a value may hold infinities on purpose."""
        if value.constant is not None:
            return value.dtype.is_float and bool(np.isinf(value.constant).any())
        return self.own(value).tensor in self.infinite

    def _with_infinities(self, name: str, values: Sequence[OnnxValue]) -> OnnxValue:
        """A sum or difference, in which infinite operands stay so: TFLite's ends at the greatest float."""
        infinite = [self.may_be_infinite(value) for value in values]
        finite = [
            constant(np.where(np.isinf(v.constant), np.float32(0), v.constant)) if i and v.constant is not None else v
            for v, i in zip(values, infinite, strict=True)
        ]
        shape = broadcast_shape([value.shape for value in values])
        is_mask = infinite[1] and finite[1].constant is not None and not finite[1].constant.any()
        combined = finite[0] if is_mask and finite[0].shape == shape else self._elementwise(name, F32, finite, None)
        for value, is_infinite, place in zip(values, infinite, (0, 1), strict=True):
            if is_infinite:
                shown = value if name == "ADD" or place == 0 else self.neg(value)
                combined = self.where(self.infinities(value), shown, combined)
        return combined

    def infinities(self, value: OnnxValue) -> OnnxValue:
        """A bool value: whether each element is infinite."""
        if value.constant is not None:
            return constant(np.isinf(value.constant))
        return self.equal(self.absolute(value), float("inf"))

    def _elementwise(
        self, name: str, dtype: DType, values: Sequence[OnnxValue], options: Mapping[str, Any] | None
    ) -> OnnxValue:
        """An operator as elementwise() makes it, of operands already cast to the type in which it is computed."""
        inner = values[0].dtype
        shape = broadcast_shape([value.shape for value in values])
        order = common_order(values, len(shape))
        tensors = [self.in_order(value, len(shape), order) for value in values]
        result = BOOL if name in PREDICATES else inner
        tensor = self.operator(name, tensors, [(result, stored_shape(shape, order), None)], options)[0]
        computed = self.value(tensor, shape, order)
        return computed if name in PREDICATES else self.cast(computed, dtype)

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
    xor, right_shift, rsqrt = function("BITWISE_XOR"), function("RIGHT_SHIFT"), function("RSQRT")
    relu6, unit_elu = function("RELU6"), function("ELU")

    def leaky_relu(self, value: OnnxValue, alpha: float) -> OnnxValue:
        """x, or alpha * x below 0."""
        return self.elementwise("LEAKY_RELU", value, options={"alpha": alpha})

    def prelu(self, value: OnnxValue, slope: OnnxValue) -> OnnxValue:
        """x, or slope * x below 0, with the slope broadcast to the value's shape."""
        return self.elementwise("PRELU", value, self.expanded(slope, value.rank) if slope.rank < value.rank else slope)

    def gelu(self, value: OnnxValue, approximate: bool = False) -> OnnxValue:
        """x times the normal distribution's function of x, or its approximation with tanh."""
        return self.elementwise("GELU", value, options={"approximate": approximate})

    def clamped_to_1(self, value: OnnxValue) -> OnnxValue:
        """Values clamped to 0 and 1, by operators that TFLite Micro has: no RELU_0_TO_1."""
        return self.minimum(self.relu(value), 1.0)

    def absolute(self, value: OnnxValue) -> OnnxValue:
        """|value|, by ABS, or of int64, which ABS lacks, by the maximum of the value and its negation."""
        return self.maximum(value, self.neg(value)) if value.dtype is I64 else self.elementwise("ABS", value)

    def sign(self, value: OnnxValue) -> OnnxValue:
        """-1, 0 or 1 in the value's type; of int64, which SIGN lacks, by clamping."""
        if value.dtype is I64:
            return self.maximum(self.minimum(value, 1), -1)
        return self.elementwise("SIGN", value)

    def where(self, condition: OnnxValue, chosen: OnnxValue | float, other: OnnxValue | float) -> OnnxValue:
        """The elements of `chosen` where the condition holds, else those of `other`."""
        dtype = next(operand.dtype for operand in (chosen, other) if isinstance(operand, OnnxValue))
        values = [
            operand if isinstance(operand, OnnxValue) else constant(operand, dtype) for operand in (chosen, other)
        ]
        shape = broadcast_shape([condition.shape, *(value.shape for value in values)])
        order = common_order([condition, *values], len(shape))
        tensors = [self.in_order(value, len(shape), order) for value in (condition, *values)]
        tensor = self.operator("SELECT_V2", tensors, [(dtype, stored_shape(shape, order), None)])[0]
        return self.value(tensor, shape, order)

    def sum_of(self, values: Sequence[OnnxValue]) -> OnnxValue:
        """The sum of values, from the left."""
        return reduce(self.add, values)

    def maximum_of(self, values: Sequence[OnnxValue]) -> OnnxValue:
        """The greatest of values, element by element."""
        return reduce(self.maximum, values)
