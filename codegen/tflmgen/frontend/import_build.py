"""Builds nodes that the file doesn't contain: constants, extents, and operators on dynamic rows (dynamic_rows.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tflmgen.frontend.import_context import Context
from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import Node, Op, Origin, Value
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.operators import Along, Axes, Cut, Filler, Limit, Repeat, RowWindow, Spacing

EXTENT = TensorType(DType.INT32, ())


def new_extents(context: Context, value: Value, axes: Iterable[int]) -> dict[int, Value]:
    """New extent values for these axes of a value, in the order of `axes`."""
    return {axis: context.value(f"rows of {value.name}", EXTENT) for axis in sorted(axes)}


class Builder:
    """Appends operators of one origin to `nodes`; its methods return the operators' output values."""

    def __init__(self, context: Context, origin: Origin) -> None:
        self._context = context
        self._origin = origin
        self.nodes: list[Node] = []

    def integers(
        self, name: str, numbers: int | Sequence[int] | Sequence[Sequence[int]], dtype: DType = DType.INT32
    ) -> Value:
        """A constant of these integers: a scalar, a vector or a matrix, as they are nested."""
        array = np.array(numbers, dtype.numpy)
        return self._context.folded(name, TensorType(dtype, array.shape), array.tobytes())

    def extent(self, value: Value, axis: int = 0) -> Value:
        """Extent of a dimension: the number of rows in use along it, as an int32 scalar."""
        extent = self._context.extents.get(value, {}).get(axis)
        return self.integers("rows", value.type.max_shape[axis]) if extent is None else extent

    def shape(self, value: Value) -> Value:
        """Dimensions of a value in use, as an int32 vector."""
        return self.packed([self.extent(value, axis) for axis in range(len(value.type.shape))])

    def packed(self, extents: Sequence[Value]) -> Value:
        """Extents as an int32 vector."""
        count = len(extents)
        return self.op("PACK", extents, TensorType(DType.INT32, (count,)), {"values_count": count, "axis": 0})

    def element(self, vector: Value, index: int) -> Value:
        """Element `index` of an integer vector as an extent (int32 scalar)."""
        bounds = [self.integers("at", [number]) for number in (index, index + 1, 1)]
        scalar_type = vector.type.with_shape(())
        flat = self.view(vector, (vector.type.elements,))
        scalar = self.op("STRIDED_SLICE", (flat, *bounds), scalar_type, _SINGLE_ELEMENT)
        return scalar if scalar_type.dtype is DType.INT32 else self.cast(scalar, DType.INT32)

    def cast(self, value: Value, dtype: DType) -> Value:
        """The value's numbers in another type."""
        return self.op("CAST", (value,), replace(value.type, dtype=dtype))

    def op(
        self, name: str, inputs: Sequence[Value | None], type_: TensorType, options: Mapping[str, Any] | None = None
    ) -> Value:
        """Output of a TFLite operator; options that are not given have TFLite's defaults."""
        output = self._context.value(self._origin.operator_name.lower(), type_)
        self._add(name, inputs, (output,), OPERATORS[name].attributes(options))
        return output

    def _add(self, name: str, inputs: Sequence[Value | None], outputs: tuple[Value, ...], attributes: object) -> None:
        self.nodes.append(Op(self._context.new_id(), name, tuple(inputs), outputs, attributes, self._origin))

    def view(self, value: Value, shape: tuple[int, ...]) -> Value:
        """The value's bytes with another shape."""
        return self.op("RESHAPE", (value,), value.type.with_shape(shape), {"new_shape": shape})

    def _copy_extents(self, value: Value, of: Value, without: int | None = None) -> Value:
        """Gives `value` the extents of the value `of`, except along the axis `without`."""
        extents = {axis: extent for axis, extent in self._context.extents.get(of, {}).items() if axis != without}
        if extents:
            self._context.extents[value] = extents
        return value

    def with_extent(self, value: Value, axis: int, extent: Value) -> Value:
        """The value with another extent along one axis."""
        viewed = self._copy_extents(self.view(value, value.type.max_shape), value)
        self._context.extents[viewed] = {**self._context.extents.get(viewed, {}), axis: extent}
        return viewed

    def fit(self, value: Value, rows: int, axis: int = 0) -> Value:
        """The value in a buffer of `rows` rows along `axis`; a run-time error if more rows are in use."""
        if value.type.max_shape[axis] == rows:
            return value
        fitted = self._context.value(value.name, value.type.with_dim(axis, rows))
        extent = self.extent(value, axis)
        self._add("FIT_ROWS", (value, extent), (fitted,), Along(axis))
        self._context.extents[fitted] = {**self._context.extents.get(value, {}), axis: extent}
        return fitted

    def fit_all(self, value: Value, shape: Sequence[int]) -> Value:
        """The value cut along every axis to `shape`, as `fit` does it along one."""
        for axis, size in enumerate(shape):
            value = self.fit(value, size, axis)
        return value

    def append(self, first: Value, second: Value, type_: TensorType, axis: int = 0) -> Value:
        """Rows in use of `first`, then those of `second`; a run-time error if `type_` has fewer rows."""
        joined = self._context.value(self._origin.operator_name.lower(), type_)
        extent = self._context.value(f"rows of {joined.name}", EXTENT)
        inputs = (first, self.extent(first, axis), second, self.extent(second, axis))
        self._add("APPEND_ROWS", inputs, (joined, extent), Along(axis))
        self._copy_extents(joined, first)
        self._context.extents[joined] = {**self._context.extents.get(joined, {}), axis: extent}
        return joined

    def common_extent(self, first: Value, second: Value) -> Value:
        """The extent of what is computed of both, where one row meets many; a run-time error if they do not fit."""
        if first == second:
            return first
        extent = self._context.value(first.name, EXTENT)
        self._add("COMMON_ROWS", (first, second), (extent,), None)
        return extent

    def repeat(self, value: Value, rows: Value, maximum: int, repeat: Repeat) -> Value:
        """The rows of a value over and over, `rows` of them (at most `maximum`); without an extent along the axis."""
        repeated = self._context.value(value.name, value.type.with_dim(repeat.axis, maximum))
        self._add("REPEAT_ROWS", (value, self.extent(value, repeat.axis), rows), (repeated,), repeat)
        return self._copy_extents(repeated, value, without=repeat.axis)

    def equal_extent(self, first: Value, second: Value) -> Value:
        """The common value of two extents; a run-time error unless they are equal."""
        if first == second:
            return first
        extent = self._context.value(first.name, EXTENT)
        self._add("SAME_ROWS", (first, second), (extent,), None)
        return extent

    def limited_extent(self, number: Value, maximum: int, minimum: int = 0, wrong_argument: bool = False) -> Value:
        """A computed number as an extent; a run-time error if it is not in `minimum`..`maximum`."""
        extent = self._context.value(number.name, EXTENT)
        if (form := self._context.linear_form(number)) is not None:
            self._context.linear[extent] = form
        self._add("LIMIT_ROWS", (number,), (extent,), Limit(minimum, maximum, wrong_argument))
        return extent

    def fill(self, value: Value, number: float, axis: int = 0, extent: Value | None = None) -> Value:
        """The value with `number` in all rows not in use. `extent` replaces the value's own extent along `axis`."""
        filled = self._context.value(value.name, value.type)
        self._add("FILL_ROWS", (value, extent or self.extent(value, axis)), (filled,), Filler(number, axis))
        return self._copy_extents(filled, value)

    def place(self, value: Value, begin: Value, number: float, axis: int, rows: int) -> Value:
        """The value's rows in use from row `begin` of `rows` on, `number` in all others; its extent is not known."""
        placed = self._context.value(value.name, value.type.with_dim(axis, rows))
        self._add("PLACE_ROWS", (value, self.extent(value, axis), begin), (placed,), Filler(number, axis))
        return self._copy_extents(placed, value)

    def window_count(self, extent: Value, spacing: Spacing) -> Value:
        """Number of windows along a dimension."""
        windows = self._context.value(f"windows of {extent.name}", EXTENT)
        if spacing.same:
            if spacing.stride == 1:
                return extent
            # Equal ones are computed once, by whichever filter.
            spacing = replace(spacing, reach=1)
        self._add("WINDOW_COUNT", (extent,), (windows,), spacing)
        return windows

    def window_padding(self, extent: Value, spacing: Spacing) -> Value:
        """The rows of SAME padding before the first window."""
        padding = self._context.value(f"padding of {extent.name}", EXTENT)
        self._add("WINDOW_PADDING", (extent,), (padding,), spacing)
        return padding

    def window(self, value: Value, window: RowWindow, rows: int) -> Value:
        """value[begin:end] in a buffer of `rows` rows, at least one; of static size if the window is exact."""
        axis = window.axis
        dim = rows if window.exact else max(1, rows)
        inputs = (value, self.extent(value, axis))
        return self._add_slice("WINDOW_ROWS", inputs, value.type.with_dim(axis, dim), window)

    def exactly(self, value: Value, count: int, axis: int) -> Value:
        """The value with `count` rows, no more than it may have; a run-time error unless so many are in use."""
        rows = self.limited_extent(self.extent(value, axis), count, count, wrong_argument=True)
        return self.window(self.with_extent(value, axis, rows), RowWindow(0, count, True, axis), count)

    def cut(self, value: Value, begin: Value, end: Value, cut: Cut, rows: int) -> Value:
        """value[begin:end:step] with run-time bounds in a buffer of `rows` rows; of static size if the cut is exact."""
        inputs = (value, self.extent(value, cut.axis), begin, end)
        return self._add_slice("CUT_ROWS", inputs, value.type.with_dim(cut.axis, rows), cut)

    def _add_slice(self, name: str, inputs: Sequence[Value], type_: TensorType, attributes: RowWindow | Cut) -> Value:
        sliced = self._context.value(inputs[0].name, type_)
        extent = self._context.value(f"rows of {sliced.name}", EXTENT)
        self._add(name, inputs, (sliced, extent), attributes)
        self._copy_extents(sliced, inputs[0], without=attributes.axis)
        if not attributes.exact:
            self._context.extents[sliced] = {**self._context.extents.get(sliced, {}), attributes.axis: extent}
        return sliced

    def counted_rows(self, name: str, inputs: Sequence[Value], types: Sequence[TensorType]) -> tuple[Value, ...]:
        """Outputs of an operator that tells behind them how many rows the first one has."""
        outputs = tuple(self._context.value(self._origin.operator_name.lower(), type_) for type_ in types)
        extent = self._context.value(f"rows of {outputs[0].name}", EXTENT)
        self._add(name, inputs, (*outputs, extent), None)
        self._context.extents[outputs[0]] = {0: extent}
        return outputs

    def new_shape(self, shape: Value, requested: Value) -> Value:
        """The shape vector `requested` with its -1 resolved; a run-time error if the numbers of elements differ."""
        output = self._context.value(requested.name, requested.type)
        self._add("NEW_SHAPE", (shape, requested), (output,), None)
        return output

    def dense(self, value: Value) -> Value:
        """The elements in use, packed without gaps, in a buffer of the same type."""
        last = max(self._context.extents.get(value, {}), default=0)
        return value if last == 0 else self._copy_extents(self.elements_in_use(value, self.shape(value), last), value)

    def elements_in_use(self, value: Value, shape: Value, last: int) -> Value:
        """The elements in use of a value whose dimensions `shape` are open up to axis `last`, packed without gaps."""
        packed = self._context.value(value.name, value.type)
        self._add("DENSE", (value, shape), (packed,), Axes(last + 1))
        return packed

    def spread(self, value: Value, type_: TensorType, shape: Value, extents: Mapping[int, Value]) -> Value:
        """Packed elements of the run-time shape `shape`, spread over a buffer of `type_` with these extents."""
        last = max(extents, default=0)
        output = self._context.value(value.name, type_)
        self._add("SPREAD", (value, shape), (output,), Axes(last + 1))
        self._context.extents[output] = dict(extents)
        return output

    def times(self, extent: Value, factor: int) -> Value:
        """An extent times a constant."""
        return extent if factor == 1 else self._arithmetic("MUL", extent, factor)

    def plus(self, extent: Value, number: int) -> Value:
        """An extent plus a constant."""
        return extent if number == 0 else self._arithmetic("ADD", extent, number)

    def sum(self, extents: Sequence[Value]) -> Value:
        """The sum of one or more extents."""
        result = extents[0]
        for extent in extents[1:]:
            result = self.op("ADD", (result, extent), EXTENT, {"fused_activation_function": 0})
        return result

    def difference(self, first: Value, second: Value) -> Value:
        """The first extent less the second."""
        return self.op("SUB", (first, second), EXTENT, {"fused_activation_function": 0})

    def quotient(self, extent: Value, divisor: int) -> Value:
        """An extent divided by a number; an error at run time where something is left."""
        if divisor == 1:
            return extent
        whole = self.times(self._arithmetic("DIV", extent, divisor), divisor)
        return self._arithmetic("DIV", self.equal_extent(whole, extent), divisor)

    def quotient_up(self, extent: Value, divisor: int) -> Value:
        """An extent divided by a number and rounded up."""
        return self._arithmetic("DIV", self.plus(extent, divisor - 1), divisor)

    def product(self, extents: Sequence[Value]) -> Value:
        """The product of one or more extents."""
        result = extents[0]
        for extent in extents[1:]:
            result = self.op("MUL", (result, extent), EXTENT, {"fused_activation_function": 0})
        return result

    def _arithmetic(self, name: str, extent: Value, number: int) -> Value:
        options = {"fused_activation_function": 0}
        return self.op(name, (extent, self.integers("number", number)), EXTENT, options)


_SINGLE_ELEMENT = {"shrink_axis_mask": 1}
