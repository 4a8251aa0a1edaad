"""Builds nodes that the file doesn't have: constants, extents, and operators on dynamic rows (dynamic_rows.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.frontend.import_context import Context
from tflmgen.ir import DType, Node, Op, Origin, TensorType, Value
from tflmgen.kernels import OPERATORS, Along, Axes, Cut, Filler, Limit, RowWindow

EXTENT = TensorType(DType.INT32, ())


def with_dim(type_: TensorType, axis: int, size: int) -> TensorType:
    return type_.with_shape((*type_.shape[:axis], size, *type_.shape[axis + 1 :]))


def new_extents(context: Context, value: Value, axes: Iterable[int]) -> dict[int, Value]:
    """New extents for these axes of a value, in order."""
    return {axis: context.value(f"rows of {value.name}", EXTENT) for axis in sorted(axes)}


class Builder:
    """Collects `nodes`, all of one origin."""

    def __init__(self, context: Context, origin: Origin) -> None:
        self._context = context
        self._origin = origin
        self.nodes: list[Node] = []

    def integers(self, name: str, numbers: int | Sequence[int], dtype: DType = DType.INT32) -> Value:
        array = np.array(numbers, dtype.numpy)
        return self._context.folded(name, TensorType(dtype, array.shape), array.tobytes())

    def extent(self, value: Value, axis: int = 0) -> Value:
        """How much of a dimension is in use."""
        known = self._context.extents.get(value, {}).get(axis)
        return self.integers("rows", value.type.max_shape[axis]) if known is None else known

    def shape(self, value: Value) -> Value:
        """The dimensions of a value as a vector, int32."""
        rank = len(value.type.shape)
        extents = [self.extent(value, axis) for axis in range(rank)]
        type_ = TensorType(DType.INT32, (rank,))
        return self.op("PACK", extents, type_, {"values_count": rank, "axis": 0})

    def element(self, vector: Value, index: int) -> Value:
        """One number of an integer vector as an extent."""
        bounds = [self.integers("at", [number]) for number in (index, index + 1, 1)]
        scalar = vector.type.with_shape(())
        one = self.op("STRIDED_SLICE", (self.view(vector, (vector.type.elements,)), *bounds), scalar, _ONE)
        return one if scalar.dtype is DType.INT32 else self.op("CAST", (one,), EXTENT)

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

    def _like(self, value: Value, of: Value, without: int | None = None) -> Value:
        """`value` with the extents of another one, but that of an axis."""
        kept = {axis: extent for axis, extent in self._context.extents.get(of, {}).items() if axis != without}
        if kept:
            self._context.extents[value] = kept
        return value

    def fit(self, value: Value, rows: int, axis: int = 0) -> Value:
        """The value in memory for so many rows; an error at run time if it has more of them."""
        if value.type.max_shape[axis] == rows:
            return value
        fitted = self._context.value(value.name, with_dim(value.type, axis, rows))
        extent = self.extent(value, axis)
        self._add("FIT_ROWS", (value, extent), (fitted,), Along(axis))
        self._context.extents[fitted] = {**self._context.extents.get(value, {}), axis: extent}
        return fitted

    def fit_all(self, value: Value, shape: Sequence[int]) -> Value:
        for axis, size in enumerate(shape):
            value = self.fit(value, size, axis)
        return value

    def append(self, first: Value, second: Value, type_: TensorType, axis: int = 0) -> Value:
        """The rows of both; an error at run time if there is no room for them in `type_`."""
        joined = self._context.value(self._origin.operator_name.lower(), type_)
        extent = self._context.value(f"rows of {joined.name}", EXTENT)
        inputs = (first, self.extent(first, axis), second, self.extent(second, axis))
        self._add("APPEND_ROWS", inputs, (joined, extent), Along(axis))
        self._like(joined, first)
        self._context.extents[joined] = {**self._context.extents.get(joined, {}), axis: extent}
        return joined

    def same(self, one: Value, other: Value) -> Value:
        """The extent that both are; an error at run time unless they are equal."""
        if one == other:
            return one
        extent = self._context.value(one.name, EXTENT)
        self._add("SAME_ROWS", (one, other), (extent,), None)
        return extent

    def limit(self, number: Value, most: int, exact: bool = False, wrong_argument: bool = False) -> Value:
        """A number that was computed as an extent; an error at run time where it is out of range."""
        extent = self._context.value(number.name, EXTENT)
        self._add("LIMIT_ROWS", (number,), (extent,), Limit(most, exact, wrong_argument))
        return extent

    def fill(self, value: Value, number: float, axis: int = 0, extent: Value | None = None) -> Value:
        """The value with `number` in all rows that are not in use; `extent` says it if the value's own does not."""
        filled = self._context.value(value.name, value.type)
        self._add("FILL_ROWS", (value, extent or self.extent(value, axis)), (filled,), Filler(number, axis))
        return self._like(filled, value)

    def window(self, value: Value, window: RowWindow, rows: int) -> Value:
        """value[begin:end], at most `rows` rows (and room for one); of known size if it is exact."""
        axis = window.axis
        size = rows if window.exact else max(1, rows)
        inputs = (value, self.extent(value, axis))
        return self._taken("WINDOW_ROWS", inputs, with_dim(value.type, axis, size), window)

    def cut(self, value: Value, begin: Value, end: Value, cut: Cut, rows: int) -> Value:
        """value[begin:end:step] with bounds from the run time, at most `rows` rows; of known size if it is exact."""
        inputs = (value, self.extent(value, cut.axis), begin, end)
        return self._taken("CUT_ROWS", inputs, with_dim(value.type, cut.axis, rows), cut)

    def _taken(self, name: str, inputs: Sequence[Value], type_: TensorType, how: RowWindow | Cut) -> Value:
        taken = self._context.value(inputs[0].name, type_)
        extent = self._context.value(f"rows of {taken.name}", EXTENT)
        self._add(name, inputs, (taken, extent), how)
        self._like(taken, inputs[0], without=how.axis)
        if not how.exact:
            self._context.extents[taken] = {**self._context.extents.get(taken, {}), how.axis: extent}
        return taken

    def new_shape(self, shape: Value, wanted: Value) -> Value:
        """`wanted` with its -1 resolved; an error at run time where the numbers of elements differ."""
        output = self._context.value(wanted.name, wanted.type)
        self._add("NEW_SHAPE", (shape, wanted), (output,), None)
        return output

    def dense(self, value: Value) -> Value:
        """The elements in use, one after the other; the type has room for all."""
        last = max(self._context.extents.get(value, {}), default=0)
        if last == 0:
            return value
        packed = self._context.value(value.name, value.type)
        self._add("DENSE", (value, self.shape(value)), (packed,), Axes(last + 1))
        return self._like(packed, value)

    def spread(self, value: Value, type_: TensorType, shape: Value, extents: Mapping[int, Value]) -> Value:
        """Dense elements of that shape as a value of the type, with these extents."""
        last = max(extents, default=0)
        output = self._context.value(value.name, type_)
        self._add("SPREAD", (value, shape), (output,), Axes(last + 1))
        self._context.extents[output] = dict(extents)
        return output

    def times(self, extent: Value, factor: int) -> Value:
        return extent if factor == 1 else self._arithmetic("MUL", extent, factor)

    def plus(self, extent: Value, number: int) -> Value:
        return extent if number == 0 else self._arithmetic("ADD", extent, number)

    def product(self, extents: Sequence[Value]) -> Value:
        result = extents[0]
        for extent in extents[1:]:
            result = self.op("MUL", (result, extent), EXTENT, {"fused_activation_function": 0})
        return result

    def _arithmetic(self, name: str, extent: Value, number: int) -> Value:
        options = {"fused_activation_function": 0}
        return self.op(name, (extent, self.integers("number", number)), EXTENT, options)


_ONE = {"shrink_axis_mask": 1}
