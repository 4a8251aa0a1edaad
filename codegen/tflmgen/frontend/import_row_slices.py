"""Imports SLICE and STRIDED_SLICE along dynamic dimensions, or with run-time bounds.

Dynamic dimensions are cut first, one after the other. The operator then keeps them whole and slices the static
dimensions, applies masks, and drops or adds dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, RowError, checked
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir import DType, constant_array
from tflmgen.ir.graph import Value
from tflmgen.kernels import OPERATORS
from tflmgen.kernels.operators import Cut, Masks, RowWindow, entries_of

TO_THE_END = 2**31 - 1
"""End of a slice that takes all that follows its beginning."""

Numbers = NDArray[np.integer]


@dataclass(slots=True)
class _Cutter:
    """Cuts the dynamic dimensions of `value`, one call per axis, then computes the operator on the result."""

    context: Context
    builder: Builder
    call: DynamicCall
    value: Value

    def is_dynamic(self, axis: int) -> bool:
        return axis in self.context.extents.get(self.value, {})

    def window(self, axis: int, begin: int, end: int, exact: int | None = None) -> None:
        size = self.value.type.max_shape[axis]
        capacity = max(len(range(rows)[begin:end]) for rows in range(size + 1)) if exact is None else exact
        self.value = self.builder.window(self.value, RowWindow(begin, end, exact is not None, axis), capacity)

    def cut(self, cut: Cut, begin: Value, end: Value, length: int) -> None:
        """Cuts along one axis. `length` is the output's dimension if `cut` is exact, else its upper bound or -1."""
        size = self.value.type.max_shape[cut.axis]
        capacity = length if cut.exact or length >= 0 else -(-size // abs(cut.step))
        if cut.exact and length > size:
            name = self.call.op.name
            raise RowError(f"{name} requires {length} elements along axis {cut.axis}, which has at most {size}")
        self.value = self.builder.cut(self.value, begin, end, cut, capacity)

    def finish(self, call: DynamicCall) -> tuple[Value, ...]:
        """Outputs of the operator on the cut value, with dimensions limited to the user's bounds."""
        outputs = row_wise(self.context, self.builder, call)
        first = outputs[0]
        for axis in tuple(self.context.extents.get(first, {})):
            bound = call.max_dims.get(axis)
            if bound is not None and bound < first.type.max_shape[axis]:
                first = self.builder.fit(first, bound, axis)
        return (first, *outputs[1:])


def slice_rows(context: Context, builder: Builder, call: DynamicCall) -> tuple[Value, ...] | None:
    """SLICE with dynamic axes or computed bounds; None if the operator must be imported as it stands."""
    value = call.inputs[0]
    if value is None:
        return None
    begins, sizes = (constant_array(v, context.constants) for v in call.inputs[1:3])
    dynamic = context.extents.get(value, {})
    rank = len(value.type.shape)
    signature = _signature(call, rank)
    cutter = _Cutter(context, builder, call, value)
    new_begins, new_sizes = [0] * rank, [-1] * rank
    if begins is None or sizes is None:
        _check_bounds(call, rank)
        for axis in range(rank):
            if signature[axis] == value.type.max_shape[axis] and axis not in dynamic:
                continue
            begin, end = (_element(builder, call, index, axis) for index in (1, 2))
            exact = signature[axis] >= 0
            cutter.cut(Cut(axis, 1, False, False, True, exact), begin, end, signature[axis])
    else:
        checked(context, call, call.inputs)
        for axis, (start, size) in enumerate(zip(_ints(begins), _ints(sizes), strict=True)):
            if axis not in dynamic:
                new_begins[axis], new_sizes[axis] = start, size
            elif size >= 0:
                cutter.window(axis, start, start + size, size)
            elif start:
                bounds = builder.integers("begin", start), builder.integers("size", -1)
                room = max(1, value.type.max_shape[axis] - start)
                cutter.cut(Cut(axis, 1, False, False, True, False), *bounds, room)
    inputs = cutter.value, builder.integers("begin", new_begins), builder.integers("size", new_sizes)
    return cutter.finish(replace(call, inputs=inputs))


def strided_slice_rows(context: Context, builder: Builder, call: DynamicCall) -> tuple[Value, ...] | None:
    """STRIDED_SLICE with dynamic axes or computed bounds; None if the operator must be imported as it stands."""
    value = call.inputs[0]
    steps = constant_array(call.inputs[3], context.constants)
    if value is None or steps is None:
        return None
    masks = OPERATORS[call.op.name].attributes(call.op.options)
    entries = list(entries_of(masks, steps.size, len(value.type.shape)))
    if masks.offset or any(axis >= len(value.type.shape) for _, axis in entries):
        return None
    begins, ends = (constant_array(v, context.constants) for v in call.inputs[1:3])
    if begins is not None and ends is not None:
        checked(context, call, call.inputs)
    else:
        _check_bounds(call, steps.size)
    plan = _StridedPlan(
        _Cutter(context, builder, call, value), masks, _ints(steps), _optional_ints(begins), _optional_ints(ends)
    )
    for entry, axis in entries:
        plan.cut(entry, axis, _declared(call, masks, entry))
    return plan.finish()


class _StridedPlan:
    """Cuts the dynamic entries of a STRIDED_SLICE, and collects bounds and masks of the remaining ones."""

    def __init__(
        self,
        cutter: _Cutter,
        masks: Masks,
        steps: Sequence[int],
        begins: Sequence[int] | None,
        ends: Sequence[int] | None,
    ) -> None:
        self._cutter = cutter
        self._masks = masks
        self._begins = begins
        self._ends = ends
        self._steps = list(steps)
        self._new_begins = list(begins or (0,) * len(steps))
        self._new_ends = list(ends or (0,) * len(steps))
        self._begin_mask = masks.begin
        self._end_mask = masks.end

    def cut(self, entry: int, axis: int, length: int) -> None:
        bit = 1 << entry
        begin = None if self._begins is None else self._begins[entry]
        end = None if self._ends is None else self._ends[entry]
        from_first, to_last = bool(self._masks.begin & bit), bool(self._masks.end & bit)
        if self._masks.shrink_axis & bit:
            self._cut_element(entry, axis, 0 if from_first else begin)
        elif (begin is not None or from_first) and (end is not None or to_last) and not self._cutter.is_dynamic(axis):
            pass
        elif self._steps[entry] == 1 and (begin is not None or from_first) and (end is not None or to_last):
            first, last = 0 if from_first else begin or 0, TO_THE_END if to_last else end
            assert last is not None
            if (first, last) != (0, TO_THE_END):
                self._cutter.window(axis, first, last)
            self._take_whole(entry)
        elif not (from_first and to_last and self._steps[entry] == 1):
            self._cut_dynamic(entry, axis, length, from_first, to_last)

    def _cut_element(self, entry: int, axis: int, begin: int | None) -> None:
        if begin is None:
            length = self._cutter.builder.integers("one", 1)
            begin_value = _element(self._cutter.builder, self._cutter.call, 1, entry)
            self._cutter.cut(Cut(axis, 1, False, False, True, True), begin_value, length, 1)
        elif self._cutter.is_dynamic(axis):
            self._cutter.window(axis, begin, TO_THE_END if begin == -1 else begin + 1, 1)
        else:
            return
        self._new_begins[entry] = 0

    def _cut_dynamic(self, entry: int, axis: int, length: int, from_first: bool, to_last: bool) -> None:
        size = self._cutter.value.type.max_shape[axis]
        if length != size or self._cutter.is_dynamic(axis) or self._steps[entry] != 1:
            begin, end = (_element(self._cutter.builder, self._cutter.call, index, entry) for index in (1, 2))
            exact = length >= 0
            self._cutter.cut(Cut(axis, self._steps[entry], from_first, to_last, False, exact), begin, end, length)
        self._take_whole(entry)

    def _take_whole(self, entry: int) -> None:
        self._steps[entry] = 1
        self._begin_mask |= 1 << entry
        self._end_mask |= 1 << entry

    def finish(self) -> tuple[Value, ...]:
        call, builder = self._cutter.call, self._cutter.builder
        numbers = (self._new_begins, self._new_ends, self._steps)
        bounds = (builder.integers(name, n) for name, n in zip(("begin", "end", "step"), numbers, strict=True))
        options = {**(call.op.options or {}), "begin_mask": self._begin_mask, "end_mask": self._end_mask}
        inputs = (self._cutter.value, *bounds)
        return self._cutter.finish(replace(call, inputs=inputs, op=replace(call.op, options=options)))


def _declared(call: DynamicCall, masks: Masks, entry: int) -> int:
    """Declared output dimension of an entry of the bounds; -1 if it is dynamic or cannot be assigned to an axis."""
    bits = (1 << entry) - 1
    if masks.ellipsis or masks.new_axis & bits:
        return -1
    axis = entry - (masks.shrink_axis & bits).bit_count()
    return _signature(call, -1)[axis] if axis < len(_signature(call, -1)) else -1


def _signature(call: DynamicCall, rank: int) -> tuple[int, ...]:
    """Declared output shape, -1 for dynamic dimensions; all -1 if its rank is not `rank` (-1: any rank)."""
    tensor = call.tensors[0]
    signature = tensor.shape_signature or tensor.shape
    return signature if rank < 0 or len(signature) == rank else (-1,) * rank


def _check_bounds(call: DynamicCall, length: int) -> None:
    for value in call.inputs[1:3]:
        if value is None or value.type.elements != length or value.type.dtype not in (DType.INT32, DType.INT64):
            raise RowError(f"{call.op.name} requires {length} integers (int32 or int64) in each of its bounds")


def _element(builder: Builder, call: DynamicCall, index: int, entry: int) -> Value:
    """Element `entry` of the bounds vector at input `index`, as an int32 scalar."""
    vector = call.inputs[index]
    assert vector is not None
    return builder.element(vector, entry)


def _ints(numbers: Numbers) -> tuple[int, ...]:
    return tuple(int(n) for n in numbers.reshape(-1))


def _optional_ints(numbers: Numbers | None) -> tuple[int, ...] | None:
    return None if numbers is None else _ints(numbers)
