"""SLICE and STRIDED_SLICE along dimensions known at run time only, or with bounds from the run time.

What is cut along such a dimension is taken out first, one dimension after the other. The operator then takes these
whole and does the rest: the other dimensions, masks, dimensions that it drops or adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import RowCall, RowError, checked
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir import DType, Value, constant_array
from tflmgen.kernels import OPERATORS, Cut, Masks, RowWindow, entries_of

TO_THE_END = 2**31 - 1

Numbers = NDArray[np.integer]


@dataclass(slots=True)
class _Cutter:
    """`value` while it is cut; `wanted` has the output's dimensions in the file by the input's axes, -1: not known."""

    context: Context
    builder: Builder
    call: RowCall
    value: Value

    def is_dynamic(self, axis: int) -> bool:
        return axis in self.context.extents.get(self.value, {})

    def window(self, axis: int, begin: int, end: int, exact: int | None = None) -> None:
        size = self.value.type.max_shape[axis]
        most = max(len(range(rows)[begin:end]) for rows in range(size + 1)) if exact is None else exact
        self.value = self.builder.window(self.value, RowWindow(begin, end, exact is not None, axis), most)

    def cut(self, cut: Cut, begin: Value, end: Value, wanted: int) -> None:
        """`wanted`: the output's dimension if `cut` is exact, else the most that is known of it or -1."""
        size = self.value.type.max_shape[cut.axis]
        most = wanted if cut.exact or wanted >= 0 else -(-size // abs(cut.step))
        if cut.exact and wanted > size:
            name = self.call.op.name
            raise RowError(f"{name} takes {wanted} elements along axis {cut.axis}, of at most {size}")
        self.value = self.builder.cut(self.value, begin, end, cut, most)

    def finish(self, call: RowCall) -> tuple[Value, ...]:
        """The operator on what was cut; its output no larger than the user says that it is."""
        outputs = row_wise(self.context, self.builder, call)
        first = outputs[0]
        for axis in tuple(self.context.extents.get(first, {})):
            bound = call.most.get(axis)
            if bound is not None and bound < first.type.max_shape[axis]:
                first = self.builder.fit(first, bound, axis)
        return (first, *outputs[1:])


def slice_rows(context: Context, builder: Builder, call: RowCall) -> tuple[Value, ...] | None:
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
        _same_lengths(call, rank)
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


def strided_slice_rows(context: Context, builder: Builder, call: RowCall) -> tuple[Value, ...] | None:
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
        _same_lengths(call, steps.size)
    plan = _StridedPlan(_Cutter(context, builder, call, value), masks, _ints(steps), _maybe(begins), _maybe(ends))
    for entry, axis in entries:
        plan.cut(entry, axis, _declared(call, masks, entry))
    return plan.finish()


class _StridedPlan:
    """Cuts what must be cut at run time, and writes down bounds and masks for the rest."""

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

    def cut(self, entry: int, axis: int, wanted: int) -> None:
        bit = 1 << entry
        begin = None if self._begins is None else self._begins[entry]
        end = None if self._ends is None else self._ends[entry]
        from_first, to_last = bool(self._masks.begin & bit), bool(self._masks.end & bit)
        if self._masks.shrink_axis & bit:
            self._one(entry, axis, 0 if from_first else begin)
        elif (begin is not None or from_first) and (end is not None or to_last) and not self._cutter.is_dynamic(axis):
            pass
        elif self._steps[entry] == 1 and (begin is not None or from_first) and (end is not None or to_last):
            first, last = 0 if from_first else begin or 0, TO_THE_END if to_last else end
            assert last is not None
            if (first, last) != (0, TO_THE_END):
                self._cutter.window(axis, first, last)
            self._whole(entry)
        elif not (from_first and to_last and self._steps[entry] == 1):
            self._from_run_time(entry, axis, wanted, from_first, to_last)

    def _one(self, entry: int, axis: int, begin: int | None) -> None:
        if begin is None:
            one = self._cutter.builder.integers("one", 1)
            at = _element(self._cutter.builder, self._cutter.call, 1, entry)
            self._cutter.cut(Cut(axis, 1, False, False, True, True), at, one, 1)
        elif self._cutter.is_dynamic(axis):
            self._cutter.window(axis, begin, TO_THE_END if begin == -1 else begin + 1, 1)
        else:
            return
        self._new_begins[entry] = 0

    def _from_run_time(self, entry: int, axis: int, wanted: int, from_first: bool, to_last: bool) -> None:
        size = self._cutter.value.type.max_shape[axis]
        if wanted != size or self._cutter.is_dynamic(axis) or self._steps[entry] != 1:
            begin, end = (_element(self._cutter.builder, self._cutter.call, index, entry) for index in (1, 2))
            exact = wanted >= 0
            self._cutter.cut(Cut(axis, self._steps[entry], from_first, to_last, False, exact), begin, end, wanted)
        self._whole(entry)

    def _whole(self, entry: int) -> None:
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


def _declared(call: RowCall, masks: Masks, entry: int) -> int:
    """The dimension of the output that an entry makes, as the file has it; -1 where it is open or hard to tell."""
    bits = (1 << entry) - 1
    if masks.ellipsis or masks.new_axis & bits:
        return -1
    at = entry - (masks.shrink_axis & bits).bit_count()
    return _signature(call, -1)[at] if at < len(_signature(call, -1)) else -1


def _signature(call: RowCall, rank: int) -> tuple[int, ...]:
    """The output's dimensions in the file, -1 where they are open; all of `rank` where it does not have as many."""
    tensor = call.tensors[0]
    signature = tensor.shape_signature or tensor.shape
    return signature if rank < 0 or len(signature) == rank else (-1,) * rank


def _same_lengths(call: RowCall, length: int) -> None:
    for value in call.inputs[1:3]:
        if value is None or value.type.elements != length or value.type.dtype not in (DType.INT32, DType.INT64):
            raise RowError(f"{call.op.name} needs {length} integers as each of its bounds")


def _element(builder: Builder, call: RowCall, index: int, entry: int) -> Value:
    """A bound as an int32 scalar."""
    vector = call.inputs[index]
    assert vector is not None
    return builder.element(vector, entry)


def _ints(numbers: Numbers) -> tuple[int, ...]:
    return tuple(int(n) for n in numbers.reshape(-1))


def _maybe(numbers: Numbers | None) -> tuple[int, ...] | None:
    return None if numbers is None else _ints(numbers)
