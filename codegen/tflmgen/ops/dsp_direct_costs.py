"""Terms of cost models (costs.py): how often the loops of DSP kernels run that read their windows from the input."""

from __future__ import annotations

import numpy as np

from tflmgen.ops.cost_shapes import Shape, Terms, axis, clamped, up
from tflmgen.ops.dsp_costs import conv_dsp


def conv_offset(shape: Shape) -> Terms:
    """Blocks as conv_dsp's, whose columns get further steps, and before that their values' sums."""
    steps, pairs = shape["steps"], up(shape["output_channels"], 2)
    pixels = shape["batches"] * shape["output_height"] * shape["output_width"]
    number, left = divmod(pixels, 3)
    number, left = (number + 1, 0) if left == 2 and number else (number, left)
    more = up(steps, 255)
    return (
        *conv_dsp(shape),
        number * more,
        number * steps,
        left * steps,
        number * more * pairs,
        left * more * pairs,
    )


def conv_dot(shape: Shape) -> Terms:
    """Runs of blocks of three pixels of a line, blocks that are copied first; pieces of windows, and their words."""
    y, x = axis(shape, "height"), axis(shape, "width")
    stride, columns, width = shape["stride_width"], shape["output_width"], shape["input_width"]
    batches, channels, groups = shape["batches"], shape["output_channels"], shape["groups"]
    words, own, taps = shape["words"], shape["filter_channels"], shape["filter_width"]
    lines, pieces = len(y.inside), shape["filter_height"] * shape["columns"]
    rows = 1 if shape["columns"] == 1 else shape["filter_height"]
    tall = y.whole & bool(shape["direct"])
    begin = x.origins[::3]
    wide = (begin >= 0) & (begin + 2 * stride + (taps - 1) * shape["dilation_width"] < width)
    whole, blocks = batches * int(tall.sum()) * int(wide.sum()), batches * lines * len(begin)
    last_alone = int(columns % 3 > 0 and wide[-1])
    runs = batches * int(tall.sum()) * ((int(wide.sum()) > last_alone) + last_alone)
    apart = np.repeat(~wide, 3)[:columns]
    # Copied are all pixels of lines that are cut off, and of others those of blocks that reach out.
    cut_rows = int(np.where(tall, y.inside * int(apart.sum()), y.inside * columns).sum())
    cut_taps = int(np.where(tall, 0, y.inside).sum() * x.inside.sum() + (y.inside * tall).sum() * x.inside[apart].sum())
    copies = groups * batches * int(np.where(tall, apart.sum(), columns).sum())
    filled = int((lines - y.whole.sum()) * columns + (y.whole & ~tall).sum() * (columns - x.whole.sum()))
    filled += int(tall.sum() * (apart & ~x.whole).sum())
    cut_rows, cut_taps, filled = (groups * batches * n for n in (cut_rows, cut_taps, filled))
    if shape["dilation_width"] == 1 and own == shape["input_channels"]:
        parts, fours, rest = 0, cut_taps * own // 4, cut_rows * (taps * own % 4)
    else:
        parts, fours, rest = cut_taps, cut_taps * (own // 4), cut_taps * (own % 4)
    called = whole * rows + (blocks - whole)
    return (
        1,
        batches * lines,
        (runs if groups == 1 else whole * groups) + groups * (blocks - whole),
        blocks * groups,
        copies,
        filled,
        filled * pieces * words,
        cut_rows,
        parts,
        fours,
        rest,
        blocks * channels,
        called * channels,
        blocks * channels * pieces,
        blocks * channels * pieces * words,
        blocks * channels * pieces * up(words, 2),
        clamped(shape) * batches * lines * columns * channels,
    )
