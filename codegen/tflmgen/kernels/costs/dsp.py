"""Terms of cost models (estimate.py): how often the loops of the kernels for the DSP extension run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tflmgen.kernels.costs.shapes import Shape, Terms, axis, blocks_of, up

STEPS, UNROLLED = 16, 8
"""TFLMGEN_CONV2D_DSP_STEPS, TFLMGEN_CONV2D_DSP_UNROLLED."""

ONE_OF_TWO = 17 / 33
"""What a step takes where each is by itself, of what two take together."""


def conv_dsp(shape: Shape) -> Terms:
    """Blocks of three pixels, pairs of output channels, steps of four values; one pixel that is left, or two of two.

    Windows side by side are widened in threes, others each for itself: by rows where they lie inside, by what lies
    inside otherwise, where a pixel is not of whole words by columns of words, or by way of bytes.
    """
    y, x, blocks = axis(shape, "height"), axis(shape, "width"), blocks_of(shape, 3, True)
    rows, channels, steps = shape["filter_height"], shape["input_channels"], shape["steps"]
    words, rest = divmod(shape["row_pitch"], 4)
    pixels, width, dilated = len(blocks.line), shape["input_width"], shape["dilation_width"] > 1
    # Windows are read by whole words, but none beyond the input.
    image = np.arange(pixels) // (shape["output_height"] * shape["output_width"]) * shape["input_height"]
    begin = ((image + y.origins[blocks.line]) * width + x.origins[blocks.column]) * channels
    line = shape["dilation_height"] * width * channels
    last = shape["batches"] * shape["input_height"] * width * channels - (rows - 1) * line - shape["row_pitch"]
    together = blocks.together & (begin[2 : 3 * len(blocks.together) : 3] <= last)
    # Where a line has just ended, the first one of the next goes on to it.
    together[1:] &= blocks.column[3 : 3 * len(together) : 3] > 0
    alone = np.ones(pixels, dtype=bool)
    alone[: 3 * len(together)] = ~np.repeat(together, 3)
    at, column = blocks.line[alone], blocks.column[alone]
    whole = y.whole[at] & x.whole[column] & (begin[alone] <= last) & (not dilated)
    by_words = channels % 4 == 0
    columns = np.full(len(whole), rest == 0 and not dilated and width * channels >= 4)
    columns &= words == 1 or (not by_words and ~whole)
    starts = x.origins[column[columns], None] * channels + 4 * np.arange(words)
    found = (np.abs(np.clip(starts, 0, width * channels - 4) - starts) < 4).sum(axis=1)
    loaded = int((found * y.inside[at[columns]]).sum())
    number_columns = int(columns.sum())
    cuts = ~whole & ~columns
    inside_rows, inside_columns = y.inside[at[cuts]], x.inside[column[cuts]]
    threes, singles, cut = int(together.sum()), int((whole & ~columns).sum()), int(cuts.sum())
    copied, direct = cut * (not by_words), cut * by_words
    taps = inside_rows * inside_columns
    if dilated:
        parts, part_words = int(taps.sum()), np.full(len(taps), channels // 4)
    else:
        parts, part_words = int(inside_rows.sum()), inside_columns * channels // 4
    times = taps if dilated else inside_rows
    joined = 4 * words == line
    segments = singles * (1 if joined else rows) + copied * (1 if rest == 0 else rows)
    segment = words * rows if joined else words
    copy = words * rows if rest == 0 else words
    fours = singles * (1 if joined else rows) * (segment // 4) + copied * (1 if rest == 0 else rows) * (copy // 4)
    pairs = up(shape["output_channels"], 2)
    number, left = divmod(pixels, 3)
    moved = int(left == 2 and number > 0)
    number, left = number + moved, 0 if moved else left
    more = threes * 3 * (rest > 1) + (singles + copied) * (rest > 0)
    by_one = shape["any_count"]
    passes = max(1, up(steps - 1, STEPS) if by_one else up((steps - 1) // 2, UNROLLED))
    return (
        1,
        number,
        threes * (words > 0),
        threes * (words > 0) * rows,
        threes * words * rows,
        threes * up(words, 2) * rows,
        threes * (rest == 1),
        threes * (rest == 1) * rows,
        threes * (rest == 1) * up(rows, 4),
        threes * (rest > 1),
        more,
        more * rows,
        more * rows * rest,
        more * up(rows * rest, 4),
        number_columns,
        number_columns * words,
        loaded,
        number_columns * words * rows - loaded,
        singles + cut,
        singles + copied,
        segments,
        (singles + copied) * words * rows,
        fours,
        direct,
        direct * rows * shape["filter_width"] * channels // 4 - int(taps.sum()) * channels // 4 * by_words,
        int(inside_rows.sum()) * by_words,
        parts * by_words,
        int((times * part_words).sum()) * by_words,
        int((times * (part_words // 4)).sum()) * by_words,
        copied,
        copied * steps,
        int(inside_rows.sum()) * (not by_words),
        parts * (not by_words),
        int(taps.sum()) * channels * (not by_words),
        moved * steps,
        number * pairs,
        shape["jumps"] * number * pairs,
        number * pairs * (1 if by_one else steps % 2),
        number * pairs * ((steps - 1) * ONE_OF_TWO if by_one else steps // 2),
        (by_one or not shape["stack"]) * number * pairs * passes,
        shape["own_shifts"] * number * pairs,
        shape["signed"] * number * pairs,
        left * pairs,
        left * pairs * steps,
    )


WINOGRAD_CHANNELS = (8, 16, 24, 32)
"""Input channels that Winograd's kernel has code of their own for."""

WINOGRAD_UNROLLED = 15
"""TFLMGEN_WINOGRAD_DSP_UNROLLED."""


def winograd(shape: Shape) -> Terms:
    """Tiles of 2x2 outputs, two at a time; pairs of output channels, steps of four input channels."""
    y, x = axis(shape, "height"), axis(shape, "width")
    lines = (y.origins[::2] >= 0) & (y.origins[::2] + 4 <= shape["input_height"])
    columns = (x.origins[::2] >= 0) & (x.origins[::2] + 4 <= shape["input_width"])
    tiles, whole = shape["batches"] * lines.size * columns.size, shape["batches"] * int(lines.sum() * columns.sum())
    steps, blocks = shape["input_channels"] // 4, up(tiles, 2)
    pairs = blocks * up(shape["output_channels"], 2)
    passes = up(steps - 1, WINOGRAD_UNROLLED)
    by_jumps = pairs * (shape["input_channels"] not in WINOGRAD_CHANNELS)
    return (
        1,
        tiles,
        tiles - whole,
        tiles * steps,
        blocks,
        pairs,
        by_jumps,
        pairs * steps,
        pairs * (passes if passes > 1 else 0),
        shape["signed"] * pairs,
    )


def planes(together: int) -> Callable[[Shape], Terms]:
    """Depthwise kernels for 3x3 filters: planes of four channels, filled by pairs of columns, in strips of output lines
    `together` of which are computed at a time."""

    def terms(shape: Shape) -> Terms:
        quads = shape["batches"] * up(shape["input_channels"], 4)
        height, width, stride = shape["output_height"], shape["output_width"], shape["stride_height"]
        words, odd = up(width, 2), width % 2
        pitch = max(16, 1 << (4 * words + 3).bit_length())
        strips = [min(shape["strip"], height - y) for y in range(0, height, shape["strip"])]
        if together > 1 and len(strips) > 1 and strips[-1] == 1:
            strips[-2:] = [strips[-2] - 2, 3]
        filled = padding = pads = first = y = 0
        for count in strips:
            begin = y * stride - shape["padding_top"]
            lines = range(begin + (3 - stride if y else 0), begin + (count - 1) * stride + 3)
            within = sum(0 <= line < shape["input_height"] for line in lines)
            pads += (lines[0] < 0) + (lines[-1] >= shape["input_height"])
            filled, padding, first = filled + within, padding + len(lines) - within, first if y else within
            y += count
        runs = len(strips) + (together > 1) * (strips[-1] % 2)
        computed = sum(up(lines, together) for lines in strips)
        columns = shape["input_width"] + shape["padding_left"]
        whole = min(columns // 2, words + 1)
        side = int(whole < words + 1 and columns % 2)
        padded = quads if len(strips) > 1 else shape["batches"]
        behind = words + 1 - whole - side
        return (
            1,
            quads,
            quads * len(strips),
            quads * runs,
            padded * pads + shape["batches"] * (behind > 0),
            padded * padding + shape["batches"] * first * (behind > 0),
            padded * padding * (words + 1) + shape["batches"] * first * behind,
            quads * filled,
            quads * filled * (shape["padding_left"] > 0),
            quads * filled * (whole - (shape["padding_left"] > 0)),
            quads * filled * side,
            quads * (len(strips) - 1),
            quads * (len(strips) - 1) * (3 - stride) * (pitch // 16),
            quads * computed,
            quads * computed * (width // 2),
            quads * computed * odd,
            shape["signed"] * quads * computed * width,
        )

    return terms


def depthwise_window(shape: Shape) -> Terms:
    """Runs of pixels whose windows lie inside, and single ones; groups of four channels, taps in pairs."""
    y, x = axis(shape, "height"), axis(shape, "width")
    batches, channels, width = shape["batches"], shape["input_channels"], shape["output_width"]
    rows, columns = shape["filter_height"], shape["filter_width"]
    long, lines = int(y.whole.sum()), len(y.inside)
    whole = int(x.whole.sum())
    singles = long * (width - whole) + (lines - long) * width
    runs = singles + long * (whole > 0)
    found = int(y.inside.sum()) * int(x.inside.sum())
    within = found - long * max(0, whole - 1) * rows * columns
    pixels, groups = batches * lines * width, up(channels, 4)
    return (
        1,
        (singles > 0) * groups,
        batches * lines,
        batches * runs,
        batches * runs * rows,
        batches * within,
        batches * (runs * rows * columns - within),
        pixels,
        pixels * groups,
        pixels * groups * shape["pairs"],
        pixels * groups * up(shape["pairs"], 8),
        pixels * (channels % 4 != 0),
        shape["signed"] * pixels * groups,
    )
