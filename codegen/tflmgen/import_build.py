"""Builds nodes that the file doesn't have: constants, extents, and operators on rows (ops/rows.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.graph import Node, Op, Origin, Value
from tflmgen.import_context import Context
from tflmgen.ops import OPERATORS
from tflmgen.ops.rows import Filler, Window
from tflmgen.types import DType, TensorType

EXTENT = TensorType(DType.INT32, ())


def rows_of(value: Value) -> int:
    """Rows that there is memory for; 1 of a scalar."""
    return value.type.max_shape[0] if value.type.shape else 1


def with_rows(type_: TensorType, rows: int) -> TensorType:
    return type_.with_shape((rows, *type_.shape[1:]))


class Builder:
    """Collects `nodes`, all of one origin."""

    def __init__(self, context: Context, origin: Origin) -> None:
        self._context = context
        self._origin = origin
        self.nodes: list[Node] = []

    def integers(self, name: str, numbers: int | Sequence[int], dtype: DType = DType.INT32) -> Value:
        array = np.array(numbers, dtype.numpy)
        return self._context.folded(name, TensorType(dtype, array.shape), array.tobytes())

    def extent(self, value: Value) -> Value:
        """How many rows of a value are in use."""
        return self._context.extents.get(value) or self.integers("rows", rows_of(value))

    def new_extent(self, value: Value) -> Value:
        """A new extent for a value whose rows are known at run time only."""
        extent = self._context.value(f"rows of {value.name}", EXTENT)
        self._context.extents[value] = extent
        return extent

    def op(
        self, name: str, inputs: Sequence[Value | None], type_: TensorType, options: Mapping[str, Any] | None = None
    ) -> Value:
        """The output of an operator of the file's kind, with some of its options."""
        output = self._context.value(self._origin.operator_name.lower(), type_)
        self._add(name, inputs, (output,), OPERATORS[name].attributes(options))
        return output

    def _add(self, name: str, inputs: Sequence[Value | None], outputs: tuple[Value, ...], attributes: object) -> None:
        self.nodes.append(Op(self._context.new_id(), name, tuple(inputs), outputs, attributes, self._origin))

    def view(self, value: Value, shape: tuple[int, ...]) -> Value:
        """The same bytes under another shape."""
        return self.op("RESHAPE", (value,), value.type.with_shape(shape), {"new_shape": shape})

    def fit(self, value: Value, rows: int) -> Value:
        """The value in memory for so many rows; an error at run time if it has more of them."""
        if rows_of(value) == rows:
            return value
        fitted = self._context.value(value.name, with_rows(value.type, rows))
        self._add("FIT_ROWS", (value, self.extent(value)), (fitted,), None)
        self._context.extents[fitted] = self.extent(value)
        return fitted

    def append(self, first: Value, second: Value, type_: TensorType) -> Value:
        """The rows of both; an error at run time if there is no room for them in `type_`."""
        joined = self._context.value(self._origin.operator_name.lower(), type_)
        inputs = (first, self.extent(first), second, self.extent(second))
        self._add("APPEND_ROWS", inputs, (joined, self.new_extent(joined)), None)
        return joined

    def same(self, one: Value, other: Value) -> Value:
        """The extent that both are; an error at run time unless they are equal."""
        if one == other:
            return one
        extent = self._context.value(one.name, EXTENT)
        self._add("SAME_ROWS", (one, other), (extent,), None)
        return extent

    def fill(self, value: Value, number: float) -> Value:
        """The value with `number` in all rows that are not in use."""
        filled = self._context.value(value.name, value.type)
        self._add("FILL_ROWS", (value, self.extent(value)), (filled,), Filler(number))
        self._context.extents[filled] = self.extent(value)
        return filled

    def window(self, value: Value, window: Window, rows: int) -> Value:
        """value[begin:end], at most `rows` rows (and room for one); of known size if it is exact."""
        cut = self._context.value(value.name, with_rows(value.type, rows if window.exact else max(1, rows)))
        extent = self.new_extent(cut)
        self._add("WINDOW_ROWS", (value, self.extent(value)), (cut, extent), window)
        if window.exact:
            del self._context.extents[cut]
        return cut

    def times(self, extent: Value, factor: int) -> Value:
        if factor == 1:
            return extent
        options = {"fused_activation_function": 0}
        return self.op("MUL", (extent, self.integers("factor", factor)), EXTENT, options)
