"""Counts of windows that move over an image, for the terms of convolutions and pools (window_terms.py)."""

from __future__ import annotations

from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.costs.term import Blocking, Numbers


class Windows:
    """The windows of one convolution or pool; `depth`: how many channels of the input an output channel depends on."""

    def __init__(self, numbers: Numbers, blocking: Blocking, depth: int) -> None:
        self.n, self.by, self.depth = numbers, blocking, depth
        self.height, self.width = numbers["output_height"], numbers["output_width"]
        self.batches, self.channels = numbers["batches"], numbers["input_channels"]
        self.outputs = numbers.get("output_channels", self.channels)
        self.rows, self.columns = numbers["filter_height"], numbers["filter_width"]
        self.taps = self.rows * self.columns
        self.lines = self.batches * self.height
        self.pixels = self.lines * self.width
        self.values = self.taps * depth
        self.groups = ceil(self.outputs / blocking.channels)
        self.steps = numbers.get("steps", numbers.get("chunks", ceil(self.values / blocking.values)))

    def flag(self, name: str) -> int:
        """A number of the layer, 0 where it has none of this name."""
        return self.n.get(name, 0)

    @property
    def is_dilated(self) -> bool:
        """Whether taps of the filter are more than one row or column apart."""
        return self.n.get("dilation_width", 1) > 1 or self.n.get("dilation_height", 1) > 1

    @property
    def is_odd(self) -> bool:
        """Whether a pixel is no whole number of words."""
        return self.depth % 4 != 0

    @property
    def is_ragged(self) -> bool:
        """Whether a row of a window is no whole number of words."""
        return self.columns * self.depth % 4 != 0

    @property
    def has_part_words(self) -> bool:
        """Whether a row of a window is whole words and a part of one."""
        return self.is_ragged and self.columns * self.depth > 4

    @property
    def has_part_vectors(self) -> bool:
        """Whether a tap that is copied by itself is no whole number of vectors, or kernels look each value up."""
        return self.depth % self.by.values > 0 or self.n.get("dilation_width", 1) > 1

    @property
    def by_value(self) -> bool:
        """Whether windows inside the input are gathered value by value: their rows are no whole vectors of values."""
        if self.n.get("dilation_width", 1) > 1:
            return True
        return self.rows > 1 and self.columns * self.depth % self.by.values > 0

    @property
    def pieces(self) -> int:
        """Values of windows that are no part of a row's whole words, which kernels may fill up. A tap of a dilated
        window, which is copied by itself, takes as long as two."""
        if self.is_dilated:
            return 2 * self.taps_inside
        return self.pixels * self.rows * (self.n.get("row_pitch", self.columns * self.depth) % 4)

    @cached_property
    def down(self) -> NDArray[np.int64]:
        """Rows of the windows that lie in the input, for each row of the output."""
        return self._inside("height", "top")

    @cached_property
    def across(self) -> NDArray[np.int64]:
        """Columns of the windows that lie in the input, for each column of the output."""
        return self._inside("width", "left")

    def _inside(self, along: str, side: str) -> NDArray[np.int64]:
        first = np.arange(self.n[f"output_{along}"]) * self.n.get(f"stride_{along}", 1) - self.n[f"padding_{side}"]
        at = first[:, None] + np.arange(self.n[f"filter_{along}"]) * self.n.get(f"dilation_{along}", 1)
        inside: NDArray[np.int64] = ((at >= 0) & (at < self.n[f"input_{along}"])).sum(axis=1)
        return inside

    @cached_property
    def rows_inside(self) -> int:
        """Rows of all windows that lie in the image."""
        return self.batches * int(self.down.sum()) * self.width

    @cached_property
    def taps_inside(self) -> int:
        """Taps of all windows that lie in the image."""
        return self.batches * int(self.down.sum()) * int(self.across.sum())

    @cached_property
    def border(self) -> int:
        """Windows that reach out of the input."""
        return self.pixels - self.batches * int((self.down == self.rows).sum()) * int(
            (self.across == self.columns).sum()
        )

    @property
    def blocks(self) -> int:
        """Blocks of pixels, the last perhaps not whole."""
        return ceil(self.pixels / self.by.pixels)

    @property
    def full_blocks(self) -> int:
        """Blocks of pixels, but for pixels computed alone: a last one that is left over, or all of fewer."""
        blocks, left = divmod(self.pixels, self.by.pixels)
        return blocks + (blocks > 0 and left > 1)

    @property
    def line_blocks(self) -> int:
        """Blocks of pixels of one line; lines that are narrower than a block go pixel by pixel."""
        return self.lines * (ceil(self.width / self.by.pixels) if self.width >= self.by.pixels else self.width)

    @cached_property
    def alone(self) -> int:
        """Pixels whose windows are gathered one by one: a block's do not lie side by side within the input."""
        n, block = self.n, max(2, self.by.pixels)
        if n.get("dilation_width", 1) > 1:
            return self.pixels
        first = np.arange(self.pixels // block) * block
        column, line = first % self.width, first // self.width % self.height
        left = column * n.get("stride_width", 1) - n["padding_left"]
        right = left + (block - 1) * n.get("stride_width", 1) + self.columns
        whole = self.down[line] == self.rows
        together = (column + block <= self.width) & (left >= 0) & (right <= n["input_width"]) & whole
        return self.pixels - block * int(together.sum())

    @cached_property
    def skipped_rows(self) -> int:
        """Rows above or below the input, not both, in blocks of pixels of one line, where kernels leave them out."""
        block, stride = self.by.pixels, self.n.get("stride_height", 1)
        first = np.arange(self.pixels // block) * block
        line = (first // self.width % self.height)[first % self.width + block <= self.width]
        origin = np.arange(self.height) * stride - self.n["padding_top"]
        is_cut_once = (origin < 0) != (origin + self.reach > self.n["input_height"])
        above = (self.rows - self.down) // self.part_rows * self.part_rows
        below = self.rows - np.minimum(-(-self.down // self.part_rows) * self.part_rows, self.rows)
        outside = np.where(origin < 0, above, below) * (is_cut_once & (self.down > 0))
        return self.n.get("skips_padding", 0) * int(outside[line].sum())

    @cached_property
    def split(self) -> int:
        """Windows in blocks of pixels that are not all of one line, or a last block that is not whole."""
        block = self.by.pixels
        whole = self.pixels // block
        return self.pixels - block * int((np.arange(whole) * block % self.width + block <= self.width).sum())

    @cached_property
    def cut(self) -> int:
        """Windows gathered in blocks of one line of which some reach out of the input, or have odd pixels."""
        block = self.by.pixels
        if self.width < block or self.is_odd:
            return self.pixels
        firsts = [min(first, self.width - block) for first in range(0, self.width, block)]
        whole = sum(bool((self.across[first : first + block] == self.columns).all()) for first in firsts)
        return self.batches * block * (self.height * len(firsts) - int((self.down == self.rows).sum()) * whole)

    @cached_property
    def runs(self) -> tuple[int, int, int]:
        """Values of windows that lie side by side: runs of them, vectors of eight in them, and single values left."""
        if self.flag("gathered"):
            return self.pixels, self.pixels * (self.values // 8), self.pixels * (self.values % 8)
        if self.is_dilated or self.flag("parts") > 1:
            return self.taps_inside, self.taps_inside * (self.depth // 8), self.taps_inside * (self.depth % 8)
        lines, counts = self.batches * int(self.down.sum()), self.across * self.depth
        return lines * int((counts > 0).sum()), lines * int((counts // 8).sum()), lines * int((counts % 8).sum())

    @property
    def planes(self) -> int:
        """Channels of all batches that are convolved by themselves."""
        return self.batches * self.groups

    @property
    def part_rows(self) -> int:
        """Rows of a window that are computed together, where it is computed in parts; else, or for parts of rows, 1."""
        return max(1, self.n.get("part_steps", 0) * self.rows // self.steps)

    @property
    def window_parts(self) -> int:
        """Parts that a window is computed in: whole rows, or parts of each."""
        return ceil(self.rows / self.part_rows) * ceil(self.steps / self.rows / self.n["part_steps"])

    @property
    def strips(self) -> int:
        """Strips of output rows that share a buffer."""
        return ceil(self.height / self.n.get("strip", self.height))

    @property
    def reach(self) -> int:
        """Rows of the image from a window's first tap to its last."""
        return (self.rows - 1) * self.n.get("dilation_height", 1) + 1

    @property
    def plane_lines(self) -> int:
        """Lines of the input that are brought into planes: once for all filters of a channel, if that fits."""
        fills = self.planes if self.strips > 1 else ceil(self.planes / self.n.get("filters", 1))
        stride = self.n.get("stride_height", 1)
        return fills * min(self.n["input_height"], (self.height - 1) * stride + self.reach - self.n["padding_top"])

    @property
    def plane_pairs(self) -> int:
        """Pairs of columns in all lines of the planes that are unpacked."""
        return self.plane_lines * ceil((self.n["input_width"] + self.n["padding_left"]) / 2)

    @property
    def pairs(self) -> int:
        """Pairs of output columns in all blocks of rows, of all planes."""
        return self.planes * ceil(self.height / self.by.pixels) * ceil(self.width / 2)

    @cached_property
    def unrolled(self) -> tuple[int, int, int]:
        """Windows of an output row: 3x3 ones computed alone, those that go tap by tap, and columns of the latter."""
        is_three = self.rows == self.columns == 3 and not self.is_dilated and self.outputs == self.channels >= 8
        ones = others = taps = x = 0
        while x < self.width:
            whole = is_three and self.across[x] == 3
            left = self.n["input_width"] + self.n["padding_left"] - x * self.n.get("stride_width", 1)
            two = bool(whole and self.flag("by_twos") and left >= 4)
            ones, others = ones + int(whole and not two), others + int(not whole)
            taps, x = taps + (0 if whole else int(self.across[x])), x + 1 + two
        return ones, others, taps

    @property
    def lane_groups(self) -> int:
        """Vectors of eight channels, where each sees a channel of its own or all the same."""
        multiplier = max(1, self.outputs // self.channels)
        has_groups = self.outputs >= 8 and (multiplier == 1 or multiplier % 8 == 0)
        return ceil(self.outputs / 8) if has_groups else 0

    @property
    def lane_rest(self) -> int:
        """Channels that are computed one by one."""
        return 0 if self.lane_groups else self.outputs

    @property
    def wide(self) -> int:
        """Blocks of 17 to 32 channels, from the first on."""
        return ceil(max(0, self.channels - 16) / 32)

    @property
    def narrow(self) -> int:
        """Vectors of up to eight channels beyond those."""
        return ceil(max(0, self.channels - 32 * self.wide) / 8)

    @property
    def tile_blocks(self) -> int:
        """Blocks of two tiles by two output channels."""
        return ceil(self.tiles / 2) * ceil(self.outputs / 2)

    @property
    def tiles(self) -> int:
        """Tiles of 2x2 outputs (Winograd)."""
        return self.batches * ceil(self.height / 2) * ceil(self.width / 2)

    @cached_property
    def small(self) -> int:
        """Windows of two by two values inside."""
        return self.batches * int((self.down == 2).sum()) * int((self.across == 2).sum())


def convolution_parts(numbers: Numbers, blocking: Blocking) -> list[tuple[int, Windows]]:
    """CONV_2D: one convolution, or as many as there are groups of channels."""
    channels = numbers["input_channels"]
    depth = numbers.get("filter_channels", numbers.get("group_inputs", channels // numbers.get("groups", 1)))
    groups = numbers.get("groups", channels // depth)
    outputs = numbers.get("group_outputs", numbers["output_channels"] // groups)
    part = {**numbers, "input_channels": depth, "output_channels": outputs, "parts": groups}
    return [(groups, Windows(part, blocking, depth))]


def channel_parts(numbers: Numbers, blocking: Blocking) -> list[tuple[int, Windows]]:
    """DEPTHWISE_CONV_2D and pools, whose outputs depend on one channel of the input each."""
    return [(1, Windows(numbers, blocking, 1))]


def transposed_parts(numbers: Numbers, blocking: Blocking) -> list[tuple[int, Windows]]:
    """TRANSPOSE_CONV: a convolution for each phase of the outputs."""
    parts = []
    for y, x in np.ndindex(numbers["stride_height"], numbers["stride_width"]):
        phase = {**numbers, **_phase(numbers, y, "height", "top"), **_phase(numbers, x, "width", "left")}
        if phase["output_height"] and phase["output_width"]:
            parts.append(
                (1, Windows({**phase, "dilation_height": 1, "dilation_width": 1}, blocking, phase["input_channels"]))
            )
    return parts


def _phase(numbers: Numbers, phase: int, along: str, side: str) -> dict[str, int]:
    """The window, along one dimension, of the outputs of one phase, which are a stride apart from each other.

    As tflmgen_transpose_conv_phase_of() computes it.
    """
    stride, padding = numbers[f"stride_{along}"], numbers[f"padding_{side}"]
    first = (phase + padding) % stride
    taps = ceil((numbers[f"filter_{along}"] - first) / stride)
    return {
        f"output_{along}": ceil((numbers[f"output_{along}"] - phase) / stride),
        f"filter_{along}": taps,
        f"stride_{along}": 1,
        f"padding_{side}": taps - 1 - (phase + padding - first) // stride,
    }
