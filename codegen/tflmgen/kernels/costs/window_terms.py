"""The terms of kernels that move a window over an image: convolutions, pools, and parts of them (windows.py)."""

from __future__ import annotations

from math import ceil

from tflmgen.kernels.costs.term import Term, is_clamped
from tflmgen.kernels.costs.windows import Windows

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
    # Part words of rows, each behind a whole word at least.
    "alone_part_row": Term("rows with part words gathered alone", lambda w: w.alone * w.rows * w.has_part_words),
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
