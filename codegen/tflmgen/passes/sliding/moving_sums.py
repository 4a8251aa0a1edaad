"""Sums over time that are kept from hop to hop: the new rows are added, and those that leave the window taken away.

Integer sums are exact in any order, so that the output is that of the whole window. Sums of floats depend on the order
in which they are added: they are computed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import Op, Origin, Value
from tflmgen.kernels import Sums, instance_of_op, traits_of
from tflmgen.kernels.specification import Operators
from tflmgen.passes.sliding.graph_builder import GraphBuilder
from tflmgen.passes.sliding.track import Span, Track, meet

FEWEST_ROWS_SAVED = 8
"""Least number of rows of a whole sum beyond those that a hop adds and takes away. Kept sums take 4 bytes of RAM for
each element of the output, and 32 instructions on a Cortex-M4: as many as 6 rows of a MEAN."""

RowsOf = Callable[[Value, Sequence[Span], Origin], Value]
"""Rows of a tensor in one value."""


@dataclass(frozen=True, slots=True)
class MovingSum:
    """An operator on the sums of its input's elements over time.

    What is kept is the sum of the rows that the window `track.period` windows later has, too. Rows that padding
    reaches are added anew.
    """

    op: Op
    value: Value
    track: Track
    sums: Sums

    @property
    def type(self) -> TensorType:
        """Type of the sums: int32, one for each element of the output."""
        return TensorType(DType.INT32, self.op.outputs[0].type.shape)

    @property
    def reads(self) -> list[Span]:
        """Rows of the input that a hop reads."""
        return [self._leaving, self.track.new, *self._edges]

    @property
    def _leaving(self) -> Span:
        return self.track.first, self.track.first + self.track.hop

    @property
    def _edges(self) -> list[Span]:
        """Rows that padding reaches."""
        return meet([(0, self.track.first), (self.track.end, self.track.rows)], (0, self.track.rows))

    def of_rows(self, rows: Value, builder: GraphBuilder) -> Value:
        """The sums of these rows."""
        sums, name = self.sums, self.value.name
        return builder.wide_sum(rows, sums.axes, sums.keeps_axes, name, self.type, self.op.origin)

    def of_hop(self, kept: Value, rows: RowsOf, builder: GraphBuilder) -> tuple[Value, Value]:
        """The operator's output, and the sums to keep. kept: those of rows that an earlier window had, too."""
        track, origin = self.track, self.op.origin
        middle = self._combined(1, kept, rows(self.value, [track.new], origin), builder)
        next_ = self._combined(-1, middle, rows(self.value, [self._leaving], origin), builder)
        total = middle
        for edge in self._edges:
            total = self._combined(1, total, rows(self.value, [edge], origin), builder)
        output = self.op.outputs[0]
        outputs = ((output.name, output.type),)
        return builder.op(self.sums.rounded, (total,), outputs, self.sums.attributes, origin)[0], next_

    def of_window(self, builder: GraphBuilder) -> Value:
        """The sums that a whole window leaves for the hop after it."""
        track = self.track
        staying = builder.cut(self.value, track.axis, (track.first + track.hop, track.end), self.op.origin)
        return self.of_rows(staying, builder)

    def _combined(self, sign: int, sums: Value, rows: Value, builder: GraphBuilder) -> Value:
        name, changed = f"sums of {self.value.name}", self.of_rows(rows, builder)
        return builder.sum(sums, changed, name, self.type, self.op.origin, sign)


def moving_sum(
    op: Op, tracks: Mapping[Value, Track], constants: Mapping[str, bytes], operators: Operators
) -> MovingSum | None:
    """The operator as one on sums that are kept; None if it is no such operator, or if the whole sum is no slower."""
    value = op.inputs[0] if op.inputs else None
    if value is None or value not in tracks or not all(v.type.is_static for v in (value, *op.outputs)):
        return None
    rule = traits_of(op.operator, operators).sums
    sums = rule(instance_of_op(op, constants)) if rule else None
    track = tracks[value]
    saved = track.end - track.first - 2 * track.hop
    if sums is None or track.axis not in sums.axes or saved < FEWEST_ROWS_SAVED:
        return None
    return MovingSum(op, value, track, sums)
