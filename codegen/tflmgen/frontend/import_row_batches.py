"""SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND of tensors whose space or batches are known at run time only.

The operator runs over the largest tensor: row i * block + k of the space is row i of part k of the batches, so that
what is in use comes first in both. Padding along a dimension that varies is placed before, crops are cut afterwards,
both by numbers that may come from the run time. The parts of varying batches lie apart while the operator runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall, bounded, declared_dim
from tflmgen.frontend.import_row_shapes import respread
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir import constant_array
from tflmgen.ir.graph import Value
from tflmgen.kernels.operators import Cut

Outputs = tuple[Value, ...] | None


class _Call:
    """One operator: its block sizes by axis of space, and the numbers before and after each of these axes."""

    def __init__(self, context: Context, builder: Builder, call: DynamicCall) -> None:
        self.context, self.builder, self.call = context, builder, call
        arrays = [constant_array(v, context.constants) for v in (*call.inputs, None, None)[1:3]]
        self.blocks = [] if arrays[0] is None else [int(n) for n in arrays[0].reshape(-1)]
        self.edges: list[list[int]] | None = None
        if arrays[1] is not None:
            self.edges = arrays[1].reshape(-1, 2).astype(int).tolist()

    @property
    def parts(self) -> int:
        return math.prod(self.blocks)

    def is_understood(self) -> bool:
        """Whether this module can take the operator apart; what cannot is left to its rules."""
        value, _, table = (*self.call.inputs, None, None)[:3]
        if value is None or table is None or not self.blocks or min(self.blocks) < 1:
            return False
        fits = len(value.type.shape) > len(self.blocks) and table.type.elements == 2 * len(self.blocks)
        return fits and (self.edges is None or min(min(row) for row in self.edges) >= 0)

    def is_moved(self, value: Value, axis: int) -> bool:
        """Whether the edges of an axis are not left to the operator."""
        return self.edges is None or axis in self.context.extents.get(value, {})

    def edge(self, axis: int, side: int) -> Value:
        """The number before (side 0) or after an axis of space; an error at run time where it is negative."""
        if self.edges is not None:
            return self.builder.integers("edge", self.edges[axis - 1][side])
        table = self.call.inputs[2]
        assert table is not None
        return self.builder.limited_extent(self.builder.element(table, 2 * axis - 2 + side), 2**30, 0, True)

    def run(self, value: Value, edges: Sequence[Sequence[int]], absorbed: Sequence[int]) -> Value:
        """The operator on a value, with other edges."""
        inputs = (value, self.call.inputs[1], self.builder.integers("edges", [list(row) for row in edges]))
        call = replace(self.call, inputs=inputs)
        (output,) = row_wise(self.context, self.builder, call, frozenset((0, axis) for axis in absorbed))
        return output

    def extend(self, value: Value, extents: Mapping[int, Value]) -> Value:
        self.context.extents[value] = {**self.context.extents.get(value, {}), **extents}
        return value


def space_to_batch(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """An error at run time where a padded dimension is no multiple of its block."""
    regroup, value = _Call(context, builder, call), call.inputs[0]
    if value is None or not regroup.is_understood():
        return None
    edges = [[0, 0] for _ in regroup.blocks] if regroup.edges is None else [list(row) for row in regroup.edges]
    zero = value.type.quantization.zero_point if value.type.quantization else 0
    quotients: dict[int, Value] = {}
    for axis, block in enumerate(regroup.blocks, start=1):
        if not regroup.is_moved(value, axis):
            continue
        declared = declared_dim(call, axis)
        room = _room(context, regroup, value, axis, declared)
        before, after = (regroup.edge(axis, side) for side in (0, 1))
        total = builder.sum([before, builder.extent(value, axis), after])
        if regroup.edges is None:
            total = builder.limited_extent(total, room, room if declared >= 0 else 0, declared >= 0)
        quotient = builder.quotient(total, block)
        value = builder.place(value, before, zero, axis, room)
        context.extents[value] = {a: e for a, e in context.extents.get(value, {}).items() if a != axis}
        edges[axis - 1] = [0, 0]
        if declared < 0 or regroup.edges is not None:
            quotients[axis] = quotient
    batches = context.extents.get(value, {}).get(0)
    output = regroup.run(value, edges, (0,))
    regroup.extend(output, quotients)
    return (output if batches is None else _joined(regroup, value, output, batches),)


def batch_to_space(context: Context, builder: Builder, call: DynamicCall) -> Outputs:
    """An error at run time where batches are no multiple of the parts, or less is there than crops take."""
    regroup, value = _Call(context, builder, call), call.inputs[0]
    if value is None or not regroup.is_understood():
        return None
    moved = [axis for axis in range(1, len(regroup.blocks) + 1) if regroup.is_moved(value, axis)]
    kept = regroup.edges or [[0, 0] for _ in regroup.blocks]
    edges = [[0, 0] if axis in moved else kept[axis - 1] for axis in range(1, len(regroup.blocks) + 1)]
    before = context.extents.get(value, {})
    batches = None
    if 0 in before:
        batches = builder.quotient(before[0], regroup.parts)
        value = _with_batches_in_rows(regroup, value, batches)
    rows = {axis: builder.times(builder.extent(value, axis), regroup.blocks[axis - 1]) for axis in moved}
    output = regroup.run(value, edges, [axis for axis in moved if axis in before])
    regroup.extend(output, {a: e for a, e in rows.items() if a in before})
    if batches is not None:
        regroup.extend(output, {0: batches})
    for axis in moved:
        output = _cropped(regroup, output, axis, rows[axis])
    return (output,)


def _room(context: Context, regroup: _Call, value: Value, axis: int, declared: int) -> int:
    """The most rows along an axis with its padding, a multiple of the block."""
    block = regroup.blocks[axis - 1]
    if regroup.edges is None:
        return (declared if declared >= 0 else bounded(context, regroup.call, axis)) * block
    return -(-(value.type.max_shape[axis] + sum(regroup.edges[axis - 1])) // block) * block


def _joined(regroup: _Call, value: Value, output: Value, batches: Value) -> Value:
    """All parts of the batches in use, one after the other; they lie where those of the most batches would."""
    context, builder = regroup.context, regroup.builder
    largest, rest = value.type.max_shape[0], output.type.max_shape[1:]
    extents = {axis: e for axis, e in context.extents.get(output, {}).items() if axis}
    parts = builder.view(output, (regroup.parts, largest, *rest))
    context.extents[parts] = {1: batches, **{axis + 1: e for axis, e in extents.items()}}
    sizes = [builder.times(batches, regroup.parts), *_sizes(regroup, rest, extents)]
    dims = [(regroup.parts * largest, False), *((size, axis not in extents) for axis, size in enumerate(rest, start=1))]
    return respread(builder, parts, builder.packed(sizes), (regroup.parts * largest, *rest), dims)


def _with_batches_in_rows(regroup: _Call, value: Value, batches: Value) -> Value:
    """The parts of the batches in use, each at its place among the most batches; the extent of axis 0 is dropped."""
    context, builder = regroup.context, regroup.builder
    extents = {axis: e for axis, e in context.extents.get(value, {}).items() if axis}
    largest, rest = max(1, value.type.max_shape[0] // regroup.parts), value.type.max_shape[1:]
    sizes = [builder.integers("parts", regroup.parts), batches, *_sizes(regroup, rest, extents)]
    dims = [(regroup.parts, True), (largest, False)]
    dims += [(size, axis not in extents) for axis, size in enumerate(rest, start=1)]
    parts = respread(builder, value, builder.packed(sizes), (regroup.parts, largest, *rest), dims)
    joined = builder.view(parts, (regroup.parts * largest, *rest))
    context.extents[joined] = extents
    return joined


def _sizes(regroup: _Call, rest: Sequence[int], extents: Mapping[int, Value]) -> list[Value]:
    return [extents.get(axis) or regroup.builder.integers("size", size) for axis, size in enumerate(rest, start=1)]


def _cropped(regroup: _Call, value: Value, axis: int, rows: Value) -> Value:
    """The value without the crops of an axis, of which `rows` are in use."""
    builder, declared = regroup.builder, declared_dim(regroup.call, axis)
    first, last = (regroup.edge(axis, side) for side in (0, 1))
    largest = value.type.max_shape[axis] - (sum(regroup.edges[axis - 1]) if regroup.edges is not None else 0)
    taken = builder.sum([first, last])
    left = builder.difference(rows, taken)
    left = builder.limited_extent(left, max(0, largest), 0, wrong_argument=True)
    is_exact = regroup.edges is None and declared >= 0
    cut = Cut(axis, 1, False, False, True, is_exact)
    return builder.cut(value, first, left, cut, declared if is_exact else max(1, largest))
