"""The terms of kernels that move a window over an image: convolutions, pools, and parts of them (window_parts.py)."""

from __future__ import annotations

from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.costs.term import Blocking, Numbers, Term, is_clamped


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
        is_three = self.rows == self.columns == 3 and not self.is_dilated
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


WINDOW_TERMS: dict[str, Term[Windows]] = {
    "part": Term("convolutions that a grouped or transposed one consists of", lambda _: 1),
    "line": Term("output lines", lambda w: w.lines),
    "pixel": Term("output pixels", lambda w: w.pixels),
    "spread_pixel": Term(
        "output pixels of other windows than a line of single pixels",
        lambda w: w.pixels * (w.taps > 1 or w.n["input_width"] != w.pixels),
    ),
    "output": Term("outputs", lambda w: w.pixels * w.outputs),
    "signed": Term("outputs of kernels whose results may be negative", lambda w: w.n["signed"] * w.pixels * w.outputs),
    "clamp": Term("outputs clamped in a pass of their own", lambda w: w.pixels * w.outputs * is_clamped(w.n)),
    "limited": Term("float outputs with an upper limit", lambda w: w.pixels * w.outputs * w.n["limited"]),
    # Windows and their values
    "border": Term("windows that reach out of the input", lambda w: w.border),
    "border_tap": Term("taps of windows that reach out of the input", lambda w: w.border * w.taps),
    "padding_value": Term(
        "values of windows outside the input", lambda w: (w.pixels * w.taps - w.taps_inside) * w.channels
    ),
    "row": Term("rows of windows inside the input", lambda w: w.rows_inside),
    "tap": Term("taps of windows inside the input", lambda w: w.taps_inside),
    "dilated_tap": Term("taps inside of dilated windows", lambda w: w.taps_inside * w.is_dilated),
    "dilated_value": Term("values inside of dilated windows", lambda w: w.taps_inside * w.depth * w.is_dilated),
    "value": Term("values of windows inside the input", lambda w: w.taps_inside * w.channels),
    "window": Term("values of all windows", lambda w: w.pixels * w.values),
    "row_output": Term("rows inside, for each output", lambda w: w.rows_inside * w.outputs),
    "tap_output": Term("taps inside, for each output", lambda w: w.taps_inside * w.outputs),
    "product_inside": Term("products with values inside", lambda w: w.taps_inside * w.depth * w.outputs),
    "mac": Term("products", lambda w: w.pixels * w.outputs * w.values),
    "ragged_row": Term("rows of windows with rows of part words", lambda w: w.pixels * w.rows * w.is_ragged),
    "ragged_value": Term("values of windows with rows of part words", lambda w: w.pixels * w.values * w.is_ragged),
    "piece": Term("values of windows beside whole words of rows, two for a dilated tap", lambda w: w.pieces),
    # How windows are gathered
    "alone": Term("windows gathered alone", lambda w: w.alone),
    "alone_row": Term("rows of windows gathered alone", lambda w: w.alone * w.rows),
    "alone_value": Term("values of windows gathered alone", lambda w: w.alone * w.values),
    "split_single_value": Term(
        "part vectors of windows in blocks of several lines, or not whole",
        lambda w: w.split * w.values * w.has_part_vectors,
    ),
    "alone_odd_value": Term("odd pixels' values of windows gathered alone", lambda w: w.alone * w.values * w.is_odd),
    "cut": Term("windows gathered by lines of which some are cut", lambda w: w.cut),
    "cut_row": Term("rows of windows gathered by cut lines", lambda w: w.cut * w.rows),
    "cut_value": Term("values of windows gathered by cut lines", lambda w: w.cut * w.values),
    "cut_odd_value": Term("odd pixels' values of windows by cut lines", lambda w: w.cut * w.values * w.is_odd),
    "gathered_step": Term("steps of gathering blocks of pixels", lambda w: w.blocks * w.steps),
    "single_step": Term("steps of gathering value by value", lambda w: w.blocks * w.steps * w.by_value),
    "line_gather": Term("blocks of pixels of a line, gathered", lambda w: w.line_blocks),
    "line_gather_row": Term("rows of gathered blocks of a line", lambda w: w.line_blocks * w.rows),
    "line_gather_step": Term("steps of gathered blocks of a line", lambda w: w.line_blocks * w.steps),
    # Blocks of pixels by channels, and steps in them
    "block": Term("blocks of pixels by output channels", lambda w: w.blocks * w.groups),
    "scaled_block": Term(
        "blocks whose channels have scales of their own, twice where results may be negative",
        lambda w: (w.n["own_scales"] + w.n["signed"]) * w.blocks * w.groups,
    ),
    "step": Term("steps of values in blocks", lambda w: w.groups * (w.blocks - w.skipped_rows / w.rows) * w.steps),
    "window_part": Term("parts of windows in blocks", lambda w: w.blocks * w.groups * w.window_parts),
    "full_step": Term("steps in blocks, the last pixel apart", lambda w: w.full_blocks * w.groups * w.steps),
    "left_over": Term("steps where pixels are left over", lambda w: (w.pixels % w.by.pixels > 0) * w.groups * w.steps),
    "line_block": Term("blocks of pixels of a line", lambda w: w.line_blocks * w.groups),
    "line_step": Term("steps in blocks of a line", lambda w: w.line_blocks * w.groups * w.steps),
    "line_pass": Term(
        "passes of eight steps in blocks of a line", lambda w: w.line_blocks * w.groups * ceil(w.steps / 8)
    ),
    # Float values side by side, eight at a time
    "run_block": Term("runs of values side by side, for four rows", lambda w: w.runs[0] * ceil(w.outputs / 4)),
    "eights_block": Term("vectors of eight in runs of values side by side", lambda w: w.runs[1] * ceil(w.outputs / 4)),
    "ones_block": Term("values of runs beyond vectors of eight", lambda w: w.runs[2] * ceil(w.outputs / 4)),
    "gathered_tap": Term("taps of gathered windows", lambda w: w.pixels * w.taps * w.flag("gathered")),
    "gathered_value": Term("values of gathered windows", lambda w: w.pixels * w.values * w.flag("gathered")),
    # Channels of windows, four, eight or sixteen at a time
    "four": Term("whole fours of channels of a pixel", lambda w: w.pixels * (w.channels // 4)),
    "four_tap": Term("taps inside of fours of channels", lambda w: w.taps_inside * ceil(w.outputs / 4)),
    "large_four_row": Term(
        "rows of blocks of channels but of two by two", lambda w: (w.rows_inside - 2 * w.small) * w.groups
    ),
    "group_row": Term("rows inside of blocks of channels", lambda w: w.rows_inside * w.groups),
    "group_tap": Term("taps inside of blocks of channels", lambda w: w.taps_inside * w.groups),
    "group_value": Term("values inside, for each block of channels", lambda w: w.taps_inside * w.channels * w.groups),
    "rest_tap": Term("taps inside, for each channel beyond fours", lambda w: w.taps_inside * (w.channels % 4)),
    "lane_block": Term("vectors of eight channels of a pixel", lambda w: w.pixels * w.lane_groups),
    "lane_tap": Term("taps inside of vectors of eight channels", lambda w: w.taps_inside * w.lane_groups),
    "lane_rest": Term("outputs that are computed one by one", lambda w: w.pixels * w.lane_rest),
    "lane_rest_row": Term("rows of outputs computed one by one", lambda w: w.rows_inside * w.lane_rest),
    "lane_rest_tap": Term("taps of outputs computed one by one", lambda w: w.taps_inside * w.lane_rest),
    "wide": Term("17 to 32 channels of a pixel", lambda w: w.pixels * w.wide),
    "wide_row": Term("rows inside of 17 to 32 channels", lambda w: w.rows_inside * w.wide),
    "wide_tap": Term("taps inside of 17 to 32 channels", lambda w: w.taps_inside * w.wide),
    "narrow": Term("vectors of up to eight channels of a pixel beyond those", lambda w: w.pixels * w.narrow),
    "narrow_tap": Term("taps inside of vectors of up to eight channels", lambda w: w.taps_inside * w.narrow),
    "vector_row": Term("rows inside of vectors of 16 channels", lambda w: w.rows_inside * ceil(w.outputs / 16)),
    "vector_tap": Term("taps inside of vectors of 16 channels", lambda w: w.taps_inside * ceil(w.outputs / 16)),
    "by_ones_tap": Term(
        "taps of eight channels of single pixels",
        lambda w: (1 - w.flag("by_twos")) * w.pixels * w.taps * ceil(w.outputs / 8),
    ),
    "whole": Term("3x3 windows computed one by one", lambda w: w.lines * w.unrolled[0]),
    "other": Term("windows computed tap by tap", lambda w: w.lines * w.unrolled[1]),
    "other_group": Term("eight channels of windows by taps", lambda w: w.lines * w.unrolled[1] * ceil(w.outputs / 8)),
    "other_tap": Term("taps of windows computed by taps", lambda w: w.batches * int(w.down.sum()) * w.unrolled[2]),
    # A channel's pixels, two or four of a line at a time
    "line_pair": Term("two pixels of a channel", lambda w: w.lines * ceil(w.width / 2) * w.outputs),
    "line_four": Term("four pixels of a channel", lambda w: w.lines * ceil(w.width / 4) * w.outputs),
    "line_vector": Term("four pixels of 16 channels", lambda w: w.lines * ceil(w.width / 4) * ceil(w.outputs / 16)),
    "column_vector": Term(
        "input columns of 16 channels", lambda w: w.lines * w.n["input_width"] * ceil(w.channels / 16)
    ),
    "load": Term("table look-ups of four pixels", lambda w: w.pixels / 4 * w.outputs * w.flag("loads")),
    # Planes of one channel
    "plane": Term("planes of channels", lambda w: w.planes),
    "strip": Term("strips of planes", lambda w: w.planes * w.strips),
    "plane_line": Term("input lines brought into planes", lambda w: w.plane_lines),
    "plane_pair": Term("pairs of values brought into planes", lambda w: w.plane_pairs),
    "wide_strided_pair": Term(
        "plane pairs by strides beyond two",
        lambda w: w.plane_pairs * (w.n.get("stride_width", 1) > 2),
    ),
    "moved_value": Term(
        "values moved from strip to strip",
        lambda w: (
            w.planes
            * max(0, w.reach - w.n.get("stride_height", 1))
            * (w.strips - 1)
            * w.n.get("line", w.n["input_width"])
        ),
    ),
    "pair": Term("pairs of outputs of planes", lambda w: w.pairs),
    "pair_taps": Term("pairs of taps of pairs of outputs", lambda w: w.pairs * ceil(w.taps / 2)),
    "odd_column": Term("last outputs of odd lines of planes", lambda w: w.planes * w.height * (w.width % 2)),
    # Tiles of two by two outputs
    "tile": Term("tiles of a channel", lambda w: w.tiles * w.channels),
    "tile_block": Term("two tiles by two output channels", lambda w: w.tile_blocks),
    "tile_step": Term("channels of two tiles by two output channels", lambda w: w.tile_blocks * w.channels),
}
