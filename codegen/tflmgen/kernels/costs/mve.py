"""The terms of the cost models of kernels for cores with MVE."""

from __future__ import annotations

import numpy as np

from tflmgen.kernels.costs.shapes import Shape, Terms, alone_pixels, axis, phases, up, windows


def conv_mve(shape: Shape) -> Terms:
    """Blocks of four pixels, the last one too. Four windows inside are gathered by rows or by a table, others of a line
    by a table, too, and what is left each for itself."""
    w, chunks, rows = windows(shape), shape["chunks"], shape["filter_height"]
    channels, row = shape["input_channels"], shape["filter_width"] * shape["input_channels"]
    blocks, pairs = up(w.pixels, 4), up(shape["output_channels"], 2)
    alone = alone_pixels(shape, 4, True, dilated=True)
    fours = (w.pixels - alone) // 4
    by_table = int(channels % 16 != 0 or shape["dilation_width"] > 1)
    by_rows = int(shape["dilation_width"] == 1 and (row % 16 == 0 or rows == 1))
    copied, gathered = by_rows * fours, (1 - by_rows) * fours
    in_line = int((np.arange(0, w.pixels - 3, 4) % shape["output_width"] + 4 <= shape["output_width"]).sum())
    cut, found = by_table * (in_line - fours), by_table * (w.pixels - 4 * in_line)
    moved = (1 - by_table) * alone
    padding = (1 - by_table) * (w.pixels * rows * shape["filter_width"] - w.taps) * channels // 16
    long = up(chunks - 1, 4) if chunks > 5 else 0
    flat = rows * shape["filter_width"] == 1 and shape["output_width"] == shape["input_width"] == w.pixels
    return (
        1,
        0 if flat else blocks,
        blocks if flat else 0,
        shape["batches"] * shape["output_height"],
        copied,
        copied * rows,
        copied * rows * up(row, 16),
        gathered,
        gathered * chunks,
        cut,
        cut * chunks,
        found,
        found * chunks,
        moved,
        (1 - by_table) * (w.rows - 4 * fours * rows),
        moved * chunks - padding,
        padding,
        (4 * blocks - w.pixels) * chunks,
        blocks * pairs,
        blocks * pairs * chunks,
        blocks * pairs * int(long > 0),
        blocks * pairs * long,
        shape["signed"] * blocks * pairs,
    )


def windows_mve(shape: Shape) -> Terms:
    """Windows copied by rows, or by pixels where columns are apart, and groups of eight output channels."""
    w, x, y = windows(shape), axis(shape, "width"), axis(shape, "height")
    chunks, channels, width = shape["chunks"], shape["input_channels"], shape["filter_width"]
    groups = w.pixels * up(shape["output_channels"], 8)
    lines, rows = shape["batches"] * shape["output_width"], shape["batches"] * int(y.inside.sum())
    outside = lines * shape["output_height"] * shape["filter_height"] - w.rows
    left = np.clip(-(x.origins // shape["dilation_width"]), 0, width)
    right = width - left - x.inside
    sides = int((left > 0).sum()) + int((right > 0).sum())
    filled = sum(up(int(n) * channels, 16) for n in (*left, *right))
    apart = shape["dilation_width"] > 1
    moves = [up(channels, 16) * int(n) if apart else up(channels * int(n), 16) for n in x.inside]
    return (
        1,
        w.pixels,
        w.pixels * shape["filter_height"],
        0 if apart else w.rows,
        w.rows if apart else 0,
        w.taps if apart else 0,
        0 if apart else rows * sum(moves),
        rows * sum(moves) if apart else 0,
        outside,
        outside * up(width * channels, 16) + rows * filled,
        rows * sides,
        groups,
        groups * chunks,
        groups * up(chunks - 1, 4),
        shape["signed"] * groups,
    )


def groups_mve(shape: Shape) -> Terms:
    """A convolution for each group."""
    step = shape["output_channels"] // shape["groups"]
    one = _part({**shape, "output_channels": step})
    return 1, shape["groups"], *(shape["groups"] * term for term in one)


def transpose_mve(shape: Shape) -> Terms:
    """A convolution for each phase of the outputs."""
    parts = []
    for phase in phases(shape):
        chunks = up(phase["filter_height"] * phase["filter_width"] * shape["input_channels"], 16)
        parts.append(_part({**phase, "chunks": chunks}))
    totals = [sum(terms) for terms in zip(*parts, strict=True)]
    return 1, len(parts), *totals


def _part(shape: Shape) -> Terms:
    """Lines of blocks of four pixels: inside, cut, or narrower than a block."""
    y, x, width = axis(shape, "height"), axis(shape, "width"), shape["output_width"]
    lines, chunks = shape["batches"] * shape["output_height"], shape["chunks"]
    blocks, pairs = up(width, 4), up(shape["output_channels"], 2)
    whole = [bool(x.whole[begin : begin + 4].all()) for begin in (min(4 * b, width - 4) for b in range(blocks))]
    fours = shape["batches"] * int(y.whole.sum()) * sum(whole) if width >= 4 else 0
    cut = lines * blocks - fours if width >= 4 else 0
    alone = 4 * lines if width < 4 else 0
    pairs *= lines * blocks
    long = up(chunks - 1, 4) if chunks > 5 else 0
    return (
        lines,
        lines * blocks,
        fours,
        fours * chunks,
        cut,
        cut * chunks,
        alone,
        alone * chunks,
        pairs,
        pairs * chunks,
        pairs * int(long > 0),
        pairs * long,
        shape["signed"] * pairs,
    )


def depthwise_mve(shape: Shape) -> Terms:
    """3x3 windows within the input's width in twos where they move by one, or alone; all others tap by tap."""
    y, columns = axis(shape, "height"), axis(shape, "width")
    batches, width = shape["batches"], shape["output_width"]
    lines, cut = batches * len(y.inside), batches * int((~y.whole).sum())
    groups, taps = up(shape["input_channels"], 8), shape["filter_height"] * shape["filter_width"]
    three = (shape["filter_height"], shape["filter_width"]) == (3, 3)
    three &= (shape["dilation_height"], shape["dilation_width"]) == (1, 1)
    twos = ones = others = x = 0
    by_taps = 0
    while x < width:
        left = shape["input_width"] - int(columns.origins[x])
        whole = three and bool(columns.whole[x])
        two = whole and shape["by_twos"] and left >= 4
        if not whole:
            others, by_taps = others + 1, by_taps + int(columns.inside[x])
        twos, ones, x = twos + two, ones + (whole and not two), x + 1 + two
    rest, signed = lines * others, shape["signed"] * groups
    within = batches * int(y.inside.sum()) * by_taps
    return (
        1,
        shape["input_channels"],
        lines,
        lines * twos,
        lines * twos * groups,
        cut * twos * groups,
        lines * twos * signed,
        lines * ones,
        lines * ones * groups,
        cut * ones * groups,
        lines * ones * signed,
        rest,
        within,
        rest * taps - within,
        rest * groups,
        rest * groups * taps,
        rest * signed,
        rest * shape["filter_height"],
    )


def depthwise_patches(shape: Shape) -> Terms:
    """Pieces of an output line, or of two where the outputs are made in squares, by 16 channels; four or eight outputs
    of each channel and line."""
    width, lines, channels = shape["output_width"], shape["batches"] * shape["output_height"], shape["input_channels"]
    strips = lines if not shape["squares"] else shape["batches"] * up(shape["output_height"], 2)
    most, blocks = shape["pixels"], up(channels, 16)
    stride, reach = shape["stride_width"], (shape["filter_width"] - 1) * shape.get("dilation_width", 1)
    pieces = twice = inside = outside = aside = x = 0
    while x < width:
        left = width - x
        pixels = left if left <= most else left - 4 if left < most + 4 and left >= 8 else most
        origin, columns = x * stride - shape["padding_left"], (pixels - 1) * stride + reach + 1
        within = sum(0 <= column < shape["input_width"] for column in range(origin, origin + columns))
        pieces, twice, x = pieces + 1, twice + (pixels > 4), x + pixels
        inside, outside, aside = inside + within, outside + columns - within, aside + (pixels if pixels < 4 else 0)
    computed = strips * channels * (pieces + twice)
    return (
        1,
        strips,
        strips * pieces,
        strips * pieces * blocks,
        strips * inside * blocks,
        strips * outside * blocks,
        strips * aside * blocks,
        strips * pieces * channels,
        computed,
        shape["signed"] * computed,
    )


def depthwise_quads(shape: Shape) -> Terms:
    """Pieces of four outputs of a line, by 16 channels and four rows; the loads of each output channel."""
    width, lines, channels = shape["output_width"], shape["batches"] * shape["output_height"], shape["input_channels"]
    blocks, quads = up(channels, 16), up(shape["filter_height"], 4)
    reach = (shape["filter_width"] - 1) * shape["dilation_width"] + 1
    pieces = inside = outside = cuts = 0
    for x in range(0, width, 4):
        columns = (min(width - x, 4) - 1) * shape["stride_width"] + reach
        begin = x * shape["stride_width"] - shape["padding_left"]
        within = sum(0 <= column < shape["input_width"] for column in range(begin, begin + columns))
        pieces, inside, outside = pieces + 1, inside + within, outside + columns - within
        cuts += (begin < 0) + (begin + columns > shape["input_width"])
    parts, made = lines * blocks * quads, lines * pieces * shape["output_channels"]
    return (
        1,
        shape["loads"],
        lines,
        lines * quads,
        shape["batches"] * int(axis(shape, "height").inside.sum()),
        lines * pieces,
        lines * pieces * blocks,
        parts * cuts,
        parts * pieces,
        parts * inside,
        parts * outside,
        made,
        made * shape["loads"],
        shape["signed"] * made,
    )


def matrix_mve(shape: Shape) -> Terms:
    """Groups of eight units, then single ones; rows that are not 16s of values are copied to the stack where they are
    short."""
    batches, chunks = shape["batches"], shape["chunks"]
    groups, copied = batches * up(shape["units"] - shape["singles"], 8), shape["stack"] * batches
    singles = batches * shape["singles"]
    passes = groups * up(chunks - 1, 4)
    return (
        1,
        batches,
        batches * int(groups > 0),
        groups,
        groups * chunks,
        passes,
        shape["signed"] * groups,
        copied,
        copied * chunks,
        batches * int(shape["singles"] > 0),
        singles,
        singles * chunks,
    )


def products_mve(shape: Shape) -> Terms:
    """Of each pair of matrices eight columns at a time, brought into order, and each row times them."""
    batches = shape["batches0"] * shape["batches1"] * shape["batches2"]
    groups, chunks = batches * up(shape["columns"], 8), up(shape["depth"], 16)
    rows = groups * shape["rows"]
    by_rows, offset = int(shape["right_column_stride"] == 1), int(shape["right_zero_point"] != 0)
    copied = rows * int(shape["depth"] % 16 != 0)
    return (
        1,
        batches,
        groups,
        groups * chunks,
        by_rows * groups * shape["depth"],
        (1 - by_rows) * groups,
        (1 - by_rows) * groups * chunks,
        rows,
        rows * chunks,
        rows * up(chunks - 1, 4),
        shape["signed"] * rows,
        offset * rows,
        offset * rows * (shape["depth"] // 16),
        copied,
        copied * chunks,
    )
