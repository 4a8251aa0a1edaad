"""Makes the nodes, values and constants of a graph that computes parts of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.errors import InternalError
from tflmgen.ir import DType, Ids, TensorType, constant_array
from tflmgen.ir.graph import Module, Node, Op, Origin, Value
from tflmgen.kernels import instance_of
from tflmgen.kernels.operators import Dimensions
from tflmgen.kernels.specification import Operators
from tflmgen.passes.sliding.track import Span


class GraphBuilder:
    """New nodes in order, and the constants that they read besides the module's own."""

    def __init__(self, module: Module, operators: Operators, ids: Ids | None = None) -> None:
        self._ids = ids or Ids(module)
        self._operators = operators
        self.constants = dict(module.constants)
        self.nodes: list[Node] = []

    def value(self, name: str, type_: TensorType) -> Value:
        """A new value, for an operator to write."""
        return Value(self._ids.take(), name, type_)

    def constant(self, name: str, array: NDArray[Any], type_: TensorType) -> Value:
        """A new constant with the array's elements, converted to the type."""
        value = self.value(name, type_)
        key = f"slide.{value.id}"
        self.constants[key] = np.ascontiguousarray(array, type_.dtype.numpy).tobytes()
        return replace(value, constant=key)

    def integers(self, numbers: Sequence[Any]) -> Value:
        """A new constant of int32 with the numbers' own shape."""
        array = np.array(numbers, np.int32)
        return self.constant("rows", array, TensorType(DType.INT32, array.shape))

    def op(
        self,
        operator: str,
        inputs: Sequence[Value | None],
        outputs: Sequence[tuple[str, TensorType]],
        attributes: Any,
        origin: Origin,
    ) -> tuple[Value, ...]:
        """Appends an operator; its outputs. Raises InternalError if no kernel may compute it."""
        values = tuple(self.value(name, type_) for name, type_ in outputs)
        instance = instance_of(inputs, [v.type for v in values], attributes, self.constants)
        for rule in self._operators[operator].rules:
            if not rule.holds(instance):
                raise InternalError(f"sliding: {operator} '{outputs[0][0]}' requires {rule.requirement}")
        self.nodes.append(Op(self._ids.take(), operator, tuple(inputs), values, attributes, origin))
        return values

    def options(self, operator: str, **fields: int) -> Any:
        """Attributes of an operator with these options, and others as they are in files without them."""
        return self._operators[operator].attributes(fields)

    def reshape(self, value: Value, type_: TensorType, origin: Origin) -> Value:
        """The value with another shape of as many elements; itself if it has that shape, a constant as a constant."""
        if value.type == type_:
            return value
        if value.is_constant:
            return replace(self.value(value.name, type_), constant=value.constant)
        return self.op("RESHAPE", (value,), ((value.name, type_),), Dimensions(type_.max_shape), origin)[0]

    def cut(self, value: Value, axis: int, span: Span, origin: Origin) -> Value:
        """Rows of a value, of a constant as a constant."""
        shape = value.type.max_shape
        if span == (0, shape[axis]):
            return value
        type_ = value.type.with_dim(axis, span[1] - span[0])
        array = constant_array(value, self.constants)
        if array is not None:
            return self.constant(value.name, np.take(array, range(*span), axis), type_)
        begin = self.integers([span[0] if i == axis else 0 for i in range(len(shape))])
        size = self.integers(type_.max_shape)
        return self.op("SLICE", (value, begin, size), ((value.name, type_),), None, origin)[0]

    def join(self, parts: Sequence[Value], axis: int, name: str, origin: Origin) -> Value:
        """Values one after the other along an axis."""
        if len(parts) == 1:
            return parts[0]
        rows = sum(part.type.max_shape[axis] for part in parts)
        type_ = parts[0].type.with_dim(axis, rows)
        return self.op("CONCATENATION", parts, ((name, type_),), self.options("CONCATENATION", axis=axis), origin)[0]

    def sum(self, first: Value, second: Value, name: str, type_: TensorType, origin: Origin, sign: int = 1) -> Value:
        """first + sign * second, element by element."""
        operator = "ADD" if sign > 0 else "SUB"
        return self.op(operator, (first, second), ((name, type_),), self.options(operator), origin)[0]

    def remainder(self, dividend: Value, divisor: int, name: str, origin: Origin) -> Value:
        """The remainder of integers, of the divisor's sign."""
        operands = dividend, self.integers([divisor])
        return self.op("FLOOR_MOD", operands, ((name, dividend.type),), None, origin)[0]

    def wide_sum(
        self, value: Value, axes: frozenset[int], keep_dims: bool, name: str, type_: TensorType, origin: Origin
    ) -> Value:
        """Sums of int8 or int16 elements along axes, in int32."""
        attributes = self.options("WIDE_SUM", keep_dims=keep_dims)
        return self.op("WIDE_SUM", (value, self.integers(sorted(axes))), ((name, type_),), attributes, origin)[0]

    def rows_at(self, table: Value, indices: Value, name: str, type_: TensorType, origin: Origin) -> Value:
        """Rows of a table by their indices."""
        return self.op("GATHER", (table, indices), ((name, type_),), self.options("GATHER"), origin)[0]

    def with_row(self, table: Value, index: Value, row: Value, origin: Origin) -> Value:
        """The table with another row at an index."""
        return self.op("ROW_STORE", (table, index, row), ((table.name, table.type),), None, origin)[0]

    def counted(self, counter: Value, limit: int, origin: Origin) -> Value:
        """The next value of a counter of invokes, at most `limit`."""
        increment, maximum = (self.constant("pushes", np.array([n]), counter.type) for n in (1, limit))
        above = self.sum(counter, increment, "pushes", counter.type, origin)
        return self.op("MINIMUM", (above, maximum), (("pushes", counter.type),), None, origin)[0]
