"""Windows of convolutions and pools: padding, and the sizes that follow from it (TFLite's kernels/padding.h)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.specification.operator import Options
from tflmgen.kernels.specification.option_fields import positive
from tflmgen.kernels.specification.rules import input_shape

Fields = tuple[tuple[str, int | float], ...]
"""(name, value) of the fields of a params struct, in order."""

EXPLICIT_PADDING = "explicit_padding"
"""Internal key of Options, not in the schema: pixels of padding above, left, below and right."""

POINTER_BYTES = 4
"""Bytes of a pointer on the device, of which scratch memory holds one for each tap."""

_FAR = 2**31
"""A coordinate outside every tensor, small enough that products with width and channels fit 64 bits."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps of a window: strides and dilations in pixels, and padding.

    same           SAME padding, else VALID or explicit
    before, after  explicit padding in pixels (height, width), from a PAD fused into the operator
    """

    same: bool
    stride_height: int
    stride_width: int
    dilation_height: int = 1
    dilation_width: int = 1
    before: tuple[int, int] = (0, 0)
    after: tuple[int, int] = (0, 0)

    @property
    def pads(self) -> bool:
        """Whether windows may reach into padding."""
        return self.same or any(self.before + self.after)


def parse_padding(options: Options) -> bool:
    """Whether the field `padding` is SAME (else VALID). Raises ValueError for any other padding."""
    padding = int(options.get("padding", 0))
    if padding not in (0, 1):
        raise ValueError(f"padding is {padding}, but only 0 (SAME) and 1 (VALID) exist")
    return padding == 0


def parse_steps(options: Options, dilated: bool) -> Steps:
    """Steps from the fields `padding`, `stride_h` ... of a convolution or pool. Raises ValueError if out of range."""
    top, left, bottom, right = options.get(EXPLICIT_PADDING, (0, 0, 0, 0))
    return Steps(
        parse_padding(options),
        positive(options, "stride_h"),
        positive(options, "stride_w"),
        positive(options, "dilation_h_factor", 1) if dilated else 1,
        positive(options, "dilation_w_factor", 1) if dilated else 1,
        (top, left),
        (bottom, right),
    )


@dataclass(frozen=True, slots=True)
class Extent:
    """A window along one dimension: number of output positions, and pixels of leading padding."""

    output: int
    padding: int


def extent(same: bool, size: int, taps: int, stride: int, dilation: int, before: int = 0, after: int = 0) -> Extent:
    """Output size and leading padding for an input of `size`; the output is <= 0 if the window does not fit.

    Odd SAME padding has one more pixel on the trailing side.
    """
    reach = (taps - 1) * dilation + 1
    if not same:
        return Extent((before + size + after + stride - reach) // stride, before)
    output = -(-size // stride)
    return Extent(output, max((output - 1) * stride + reach - size, 0) // 2)


@dataclass(frozen=True, slots=True)
class Window:
    """A window of `taps` (height, width), moving by `steps` over an input [batch, height, width, channels]."""

    steps: Steps
    input: tuple[int, int, int, int]
    taps: tuple[int, int]

    @property
    def height(self) -> Extent:
        """Along rows: the output's size, and the padding at the top."""
        steps = self.steps
        spacing = steps.stride_height, steps.dilation_height
        return extent(steps.same, self.input[1], self.taps[0], *spacing, steps.before[0], steps.after[0])

    @property
    def width(self) -> Extent:
        """Along columns: the output's size, and the padding on the left."""
        steps = self.steps
        spacing = steps.stride_width, steps.dilation_width
        return extent(steps.same, self.input[2], self.taps[1], *spacing, steps.before[1], steps.after[1])

    @property
    def reach(self) -> tuple[int, int]:
        """Extent of a dilated window in pixels (height, width), from the first tap to the last, inclusive."""
        steps = self.steps
        return (
            (self.taps[0] - 1) * steps.dilation_height + 1,
            (self.taps[1] - 1) * steps.dilation_width + 1,
        )

    @property
    def transposed(self) -> Window:
        """The window with height and width exchanged."""
        steps, (batches, height, width, channels) = self.steps, self.input
        return Window(
            Steps(
                steps.same,
                steps.stride_width,
                steps.stride_height,
                steps.dilation_width,
                steps.dilation_height,
                (steps.before[1], steps.before[0]),
                (steps.after[1], steps.after[0]),
            ),
            (batches, width, height, channels),
            (self.taps[1], self.taps[0]),
        )

    @property
    def line(self) -> Window:
        """A one-column window over a one-column image as a one-row window over a line; any other window unchanged."""
        return self.transposed if self.input[2] == self.taps[1] == self.width.output == 1 else self

    @property
    def fits(self) -> bool:
        """Whether the output has at least one position, and no window lies outside the input."""
        paddings = *zip(self.steps.before, self.reach, strict=True), *zip(self.steps.after, self.reach, strict=True)
        return self.height.output > 0 and self.width.output > 0 and all(p < reach for p, reach in paddings)

    @property
    def reaches_out(self) -> bool:
        """Whether some position of the window reaches into padding."""
        strides = self.steps.stride_height, self.steps.stride_width
        spans = zip((self.height, self.width), strides, self.reach, self.input[1:3], strict=True)
        return any(o.padding or (o.output - 1) * stride + reach > size for o, stride, reach, size in spans)

    def fields(self, output_channels: int) -> Fields:
        """TFLMGEN_WINDOW_FIELDS of a params struct."""
        return (*self.image_fields, ("output_channels", output_channels), *self._filter_fields)

    @property
    def channel_fields(self) -> Fields:
        """TFLMGEN_CHANNEL_WINDOW_FIELDS: of a kernel with as many output channels as input channels."""
        return (*self.image_fields, *self._filter_fields)

    @property
    def image_fields(self) -> Fields:
        """Extents of input and output: the fields that TFLMGEN_IMAGE_FIELDS declares."""
        return (
            ("batches", self.input[0]),
            ("input_height", self.input[1]),
            ("input_width", self.input[2]),
            ("input_channels", self.input[3]),
            ("output_height", self.height.output),
            ("output_width", self.width.output),
        )

    @property
    def padding_fields(self) -> Fields:
        """Rows and columns of padding before the input, as fields of a kernel's params."""
        return ("padding_top", self.height.padding), ("padding_left", self.width.padding)

    @property
    def _filter_fields(self) -> Fields:
        """TFLMGEN_FILTER_FIELDS."""
        return (
            ("filter_height", self.taps[0]),
            ("filter_width", self.taps[1]),
            ("stride_height", self.steps.stride_height),
            ("stride_width", self.steps.stride_width),
            *self.padding_fields,
        )

    def overlap_distance(self, output_channels: int, last: int = 1) -> int:
        """Smallest distance, in elements, by which the output must precede the overlapped input.

        Kernels read the window of an output pixel while they write its channels: all channels but the `last` are
        written before the pixel's last read, and all of them before the next pixel's first read.
        """
        still_read = np.append(self.still_read(), np.iinfo(np.int64).max)
        written = np.arange(1, len(still_read)) * output_channels
        return max(0, int((written - last - still_read[:-1]).max()), int((written - still_read[1:]).max()))

    def group_distance(self, group: int) -> int:
        """Overlap distance, in elements, of a depthwise kernel that computes each pixel by groups of channels.

        A group's values are all read before its outputs are written, and no other channel's are read for them. The last
        group are the last `group` channels: where it overlaps the one before, some values are read after the outputs
        over them were written.
        """
        channels = self.input[3]
        reads = self._first_reads()
        still_read = np.minimum.accumulate(reads[::-1])[::-1]
        begun = np.arange(len(reads)) * channels
        distance = int((begun[1:] - still_read[1:]).max(initial=0))
        if channels > group:
            distance = max(distance, int((begun - reads).max()) + -channels % group)
        return distance

    def block_distance(self, output_channels: int, block: int) -> int:
        """Overlap distance, in elements, of a kernel that reads `block` pixels' windows before it writes."""
        still_read = self.still_read()
        starts = np.arange(block, len(still_read), block)
        written = starts * output_channels
        still_read = still_read[starts]
        return max(0, int((written - still_read).max(initial=0)))

    def starts_distance(self, output_channels: int, starts: Iterable[int]) -> int:
        """Overlap distance, in elements, for blocks that begin at pixel 0 and at the pixels `starts`."""
        begun = np.array(list(starts), dtype=np.int64)
        still_read = self.still_read()[begun]
        return max(0, int((begun * output_channels - still_read).max(initial=0)))

    def line_blocks_distance(self, output_channels: int, block: int) -> int:
        """Overlap distance, in elements, of a kernel that reads `block` windows of a line before it writes, at least
        that many to a line. The last block of a line begins as far before its end, and computes some pixels again."""
        width = self.width.output
        lines = np.arange(self.input[0] * self.height.output)[:, None] * width
        written = np.arange(0, width, block)
        still_read = self.still_read()[lines + np.minimum(written, width - block)]
        return max(0, int(((lines + written) * output_channels - still_read).max(initial=0)))

    @property
    def is_pointwise(self) -> bool:
        """Whether each output pixel depends only on the input pixel of the same index."""
        return self.taps == (1, 1) and (self.steps.stride_height, self.steps.stride_width) == (1, 1)

    @property
    def flat(self) -> Window:
        """A pointwise window over one line of all pixels; any other window unchanged."""
        batches, height, width, channels = self.input
        return replace(self, input=(1, 1, batches * height * width, channels)) if self.is_pointwise else self

    def backward_distance(self, output_channels: int, firsts: Iterable[int], unread: int = 0) -> int:
        """Least distance, in elements, by which the output must begin after the input that it overlaps.

        For a pointwise window whose kernel processes pixels last to first, in blocks that begin at `firsts`. When it
        writes a block, the first `unread` elements of the block's input are not read yet.
        """
        more = self.input[3] - output_channels
        return max(0, max((first * more + unread for first in firsts), default=0))

    def still_read(self) -> NDArray[np.int64]:
        """Per output pixel, offset of the first input element in its window or in that of any later pixel."""
        least: NDArray[np.int64] = np.minimum.accumulate(self._first_reads()[::-1])[::-1]
        return least

    def _first_reads(self) -> NDArray[np.int64]:
        """Per output pixel, in order, offset of the first input element in its window."""
        batches, height, width, channels = self.input
        rows = _first_inside(self.height, height, self.taps[0], self.steps.stride_height, self.steps.dilation_height)
        columns = _first_inside(self.width, width, self.taps[1], self.steps.stride_width, self.steps.dilation_width)
        pixels = np.add.outer(rows * width, columns).reshape(-1)
        reads: NDArray[np.int64] = np.add.outer(np.arange(batches) * height * width, pixels).reshape(-1) * channels
        return reads

    @property
    def dilation_fields(self) -> Fields:
        """Distances of filter taps in rows and columns of the input, as fields of a kernel's params."""
        return ("dilation_height", self.steps.dilation_height), ("dilation_width", self.steps.dilation_width)


def _first_inside(extent: Extent, size: int, taps: int, stride: int, dilation: int) -> NDArray[np.int64]:
    """First pixel inside an input of `size`, for each output position; _FAR where the window lies in padding."""
    origins = np.arange(extent.output, dtype=np.int64) * stride - extent.padding
    firsts = origins + np.maximum(0, -(origins // dilation)) * dilation
    firsts = np.where(origins < 0, firsts, origins)
    inside = (firsts < size) & (firsts <= origins + (taps - 1) * dilation)
    return np.where(inside, firsts, _FAR)


def four(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """`shape` as a tuple of 4, as an earlier rule requires."""
    a, b, c, d = shape
    return a, b, c, d


def window_of(op: OperatorInstance) -> Window:
    """Window of a convolution with a filter [.., height, width, ..]."""
    taps = four(input_shape(op, 1))[1:3]
    return Window(op.attributes.steps, four(input_shape(op)), taps)
