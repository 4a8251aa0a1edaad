"""Rows of convolutions and pools along time.

A dilated window over few rows has gaps: rows that none of its taps meets. The rows that one tap meets then become a
line of an image, over which the window is dense: no row of a gap is read, and kernels of dense windows are faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.ir import TensorType
from tflmgen.ir.graph import Op, Value
from tflmgen.kernels.specification import Steps, Window
from tflmgen.passes.sliding.graph_builder import GraphBuilder
from tflmgen.passes.sliding.row_maps import Reads
from tflmgen.passes.sliding.track import Span, Track


@dataclass(frozen=True, slots=True)
class Windowed:
    """A convolution or pool that slides along time, which is dimension `dim` (0 or 1) of its image.

    stride, padding, dilation: rows, of the window along time
    """

    op: Op
    tracks: tuple[Track, ...]
    window: Window
    dim: int
    stride: int
    padding: int
    dilation: int

    def _reach(self, span: Span) -> Span:
        """Rows of the input under these windows, those outside of the input included."""
        begin = span[0] * self.stride - self.padding
        return begin, begin + self._line(span) - 1 + self.window.reach[self.dim]

    def _line(self, span: Span) -> int:
        """Rows from the first to the last that one tap of these windows meets."""
        return (span[1] - span[0] - 1) * self.stride + 1

    def _has_lines(self, span: Span) -> bool:
        """Whether no two taps of these windows meet the same row, none meets padding, and an image holds the lines."""
        (first, end), line, other = self._reach(span), self._line(span), 1 - self.dim
        is_inside = first >= 0 and end <= self.window.input[self.dim + 1]
        is_flat = self.window.input[0] == self.window.input[other + 1] == self.window.taps[other] == 1
        return is_inside and 1 < self.dilation >= line and (line == 1 or is_flat)

    def reads(self, span: Span) -> Reads:
        """The rows under the windows of the span, those in the padding left out; of lines, one after the other."""
        first, end = self._reach(span)
        if not self._has_lines(span):
            yield 0, (max(0, first), min(self.window.input[self.dim + 1], end))
            return
        for tap in range(self.window.taps[self.dim]):
            begin = first + tap * self.dilation
            yield 0, (begin, begin + self._line(span))

    def build(self, span: Span, inputs: Mapping[int, Value], builder: GraphBuilder) -> Sequence[Value]:
        """The operator on these rows, with padding where the windows leave the image."""
        output, values = self.op.outputs[0], [inputs[0], *self.op.inputs[1:]]
        type_ = output.type.with_dim(self.tracks[0].axis, span[1] - span[0])
        if self._has_lines(span) and self._line(span) > 1:
            return self._build_by_lines(span, values, type_, builder)
        attributes = replace(self.op.attributes, steps=self._steps(span))
        return builder.op(self.op.operator, values, ((output.name, type_),), attributes, self.op.origin)

    def _steps(self, span: Span) -> Steps:
        """Steps over exactly the rows that are read."""
        first, end = self._reach(span)
        window, steps = self.window, self.window.steps
        other = 1 - self.dim
        across = (window.height, window.width)[other]
        stride = (steps.stride_height, steps.stride_width)[other]
        after = (across.output - 1) * stride + window.reach[other] - window.input[other + 1] - across.padding
        sides = {self.dim: (max(0, -first), max(0, end - window.input[self.dim + 1]))}
        sides[other] = across.padding, max(0, after)
        padded = replace(steps, same=False, before=(sides[0][0], sides[1][0]), after=(sides[0][1], sides[1][1]))
        if not self._has_lines(span):
            return padded
        return replace(padded, dilation_height=1) if self.dim == 0 else replace(padded, dilation_width=1)

    def _build_by_lines(
        self, span: Span, values: Sequence[Value | None], type_: TensorType, builder: GraphBuilder
    ) -> Sequence[Value]:
        """The operator, over an image of one line for each tap; `type_` is the output's."""
        op, taps, line = self.op, self.window.taps[self.dim], self._line(span)
        rows, weights, *others = values
        assert rows is not None
        assert weights is not None
        image = builder.reshape(rows, rows.type.with_shape((1, taps, line, self.window.input[3])), op.origin)
        first, *_, last = weights.type.max_shape
        lines = builder.reshape(weights, weights.type.with_shape((first, taps, 1, last)), op.origin)
        attributes = replace(op.attributes, steps=Steps(False, 1, self.stride))
        outputs = ((op.outputs[0].name, type_.with_shape((1, 1, span[1] - span[0], type_.max_shape[-1]))),)
        built = builder.op(op.operator, (image, lines, *others), outputs, attributes, op.origin)
        return (builder.reshape(built[0], type_, op.origin),)
