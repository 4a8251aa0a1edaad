"""Maps from rows of an operator's output to the input rows that they depend on; builds the operator for some rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tflmgen.ir.graph import Op, Value
from tflmgen.passes.sliding.graph_builder import GraphBuilder
from tflmgen.passes.sliding.track import Span, Track

Reads = Iterator[tuple[int, Span]]
"""(input index, rows of it); several of one input stand one after the other."""


class RowMap(Protocol):
    """An operator whose output rows can be computed apart. `tracks`: of each output; the spans of all are the same."""

    @property
    def op(self) -> Op:
        """The operator of the whole window."""

    @property
    def tracks(self) -> tuple[Track, ...]:
        """Tracks of the outputs: how the rows of each move as the window slides."""

    def reads(self, span: Span) -> Reads:
        """Rows of the inputs that rows `span` of the outputs follow from."""

    def build(self, span: Span, inputs: Mapping[int, Value], builder: GraphBuilder) -> Sequence[Value]:
        """Rows `span` of the outputs from exactly the rows that it reads."""


@dataclass(frozen=True, slots=True)
class RowWise:
    """An operator that keeps rows apart: row p of the outputs follows from row p of each sliding input.

    axes    input index -> its axis of time, of the sliding inputs
    alike   input index -> axis, of constants whose rows are all alike
    """

    op: Op
    tracks: tuple[Track, ...]
    axes: Mapping[int, int]
    alike: Mapping[int, int]

    def reads(self, span: Span) -> Reads:
        """Each sliding input with `span`, the rows that the output has of it."""
        for index in self.axes:
            yield index, span

    def build(self, span: Span, inputs: Mapping[int, Value], builder: GraphBuilder) -> Sequence[Value]:
        """The operator on these rows; constants whose rows are alike are cut to as many."""
        rows = span[1] - span[0]
        values = [inputs.get(i, v) for i, v in enumerate(self.op.inputs)]
        for index, axis in self.alike.items():
            value = values[index]
            assert value is not None
            values[index] = builder.cut(value, axis, (0, rows), self.op.origin)
        outputs = [
            (v.name, v.type.with_dim(track.axis, rows)) for v, track in zip(self.op.outputs, self.tracks, strict=True)
        ]
        return builder.op(self.op.operator, values, outputs, self.op.attributes, self.op.origin)


@dataclass(frozen=True, slots=True)
class Viewed:
    """A view whose output has `split` rows for each row of the input, or one row for `joined` of them."""

    op: Op
    tracks: tuple[Track, ...]
    split: int
    joined: int

    def reads(self, span: Span) -> Reads:
        """The rows of the input that overlap the span."""
        yield 0, (span[0] * self.joined // self.split, -(-span[1] * self.joined // self.split))

    def build(self, span: Span, inputs: Mapping[int, Value], builder: GraphBuilder) -> Sequence[Value]:
        """The view of whole input rows, cut to the span."""
        ((_, (first, end)),) = self.reads(span)
        whole = first * self.split // self.joined, end * self.split // self.joined
        axis, output = self.tracks[0].axis, self.op.outputs[0]
        viewed = builder.reshape(inputs[0], output.type.with_dim(axis, whole[1] - whole[0]), self.op.origin)
        return (builder.cut(viewed, axis, (span[0] - whole[0], span[1] - whole[0]), self.op.origin),)


@dataclass(frozen=True, slots=True)
class Padded:
    """A PAD with rows of padding before and after those of the input. sides: of each dimension of the input."""

    op: Op
    tracks: tuple[Track, ...]
    rows: int
    sides: tuple[tuple[int, int], ...]
    fill: float

    def _inside(self, span: Span) -> Span:
        before = self.sides[self.tracks[0].axis][0]
        first = min(max(span[0] - before, 0), self.rows)
        return first, max(first, min(span[1] - before, self.rows))

    def reads(self, span: Span) -> Reads:
        """The rows of the input among those of the span; none within the padding."""
        first, end = self._inside(span)
        if first < end:
            yield 0, (first, end)

    def build(self, span: Span, inputs: Mapping[int, Value], builder: GraphBuilder) -> Sequence[Value]:
        """The rows, with rows of padding before and after; a constant if all are padding."""
        axis, output = self.tracks[0].axis, self.op.outputs[0]
        type_ = output.type.with_dim(axis, span[1] - span[0])
        first, end = self._inside(span)
        if first == end:
            return (builder.constant(output.name, np.full(type_.max_shape, self.fill), type_),)
        before = max(0, self.sides[axis][0] - span[0])
        sides = [*self.sides]
        sides[axis] = before, span[1] - span[0] - (end - first) - before
        values = (inputs[0], builder.integers(sides), *self.op.inputs[2:])
        return builder.op(self.op.operator, values, ((output.name, type_),), self.op.attributes, self.op.origin)


@dataclass(frozen=True, slots=True)
class CutRows:
    """A slice. cuts: (start, count, whether the dimension stays) of each dimension of the input.

    tracks: empty if the dimension of time does not stay; the only span is then that of the cut.
    """

    op: Op
    tracks: tuple[Track, ...]
    axis: int
    cuts: tuple[tuple[int, int, bool], ...]

    def reads(self, span: Span) -> Reads:
        """The rows of the input that the slice moves to the span."""
        start = self.cuts[self.axis][0]
        yield 0, (start + span[0], start + span[1])

    def build(self, span: Span, inputs: Mapping[int, Value], builder: GraphBuilder) -> Sequence[Value]:
        """The rows as they are, and the slice of all other dimensions."""
        value, output = inputs[0], self.op.outputs[0]
        for axis, (start, count, _) in enumerate(self.cuts):
            if axis != self.axis:
                value = builder.cut(value, axis, (start, start + count), self.op.origin)
        type_ = output.type
        for track in self.tracks:
            type_ = type_.with_dim(track.axis, span[1] - span[0])
        return (builder.reshape(replace(value, name=output.name), type_, self.op.origin),)
