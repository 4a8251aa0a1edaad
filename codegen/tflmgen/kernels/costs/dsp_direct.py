"""Terms of cost models (estimate.py): how often the loops of DSP kernels run that read their windows from the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.costs.dsp import STEPS, conv_dsp
from tflmgen.kernels.costs.shapes import Shape, Terms, axis, phases, up


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

    def copied(values: NDArray[Any]) -> int:
        """Summed over the rows of copied windows: all of lines that are cut off, of others those that reach out."""
        of_line = np.where(tall, values[apart].sum(), values.sum())
        return groups * batches * int((y.inside * of_line).sum())

    copies = groups * batches * int(np.where(tall, apart.sum(), columns).sum())
    filled = int((lines - y.whole.sum()) * columns + (y.whole & ~tall).sum() * (columns - x.whole.sum()))
    filled += int(tall.sum() * (apart & ~x.whole).sum())
    filled *= groups * batches
    together = shape["dilation_width"] == 1 and own == shape["input_channels"]
    # Values that lie side by side, and how many such pieces there are.
    run = x.inside * own if together else np.full(columns, own)
    number = (x.inside > 0) if together else x.inside
    cut_rows = copied(np.ones(columns))
    large = run >= 4
    parts = [copied(number * n) for n in (large, large * -(-run // 4), ~large, ~large * run)]
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
        *parts,
        blocks * channels,
        called * channels,
        blocks * channels * pieces,
        blocks * channels * pieces * words,
        blocks * channels * pieces * up(words, 2),
    )


def groups_dsp(shape: Shape) -> Terms:
    """A convolution for each group."""
    groups = shape["groups"]
    channels = {f"{side}_channels": shape[f"{side}_channels"] // groups for side in ("input", "output")}
    one = _part({**shape, **channels}, shape["input_channels"])
    return 1, groups, *(groups * term for term in one)


def transpose_dsp(shape: Shape) -> Terms:
    """A convolution for each phase of the outputs."""
    apart = {"stride_height": 1, "stride_width": 1, "dilation_height": 1, "dilation_width": 1}
    parts = [_part({**phase, **apart}, shape["input_channels"]) for phase in phases(shape)]
    totals = [sum(terms) for terms in zip(*parts, strict=True)]
    return 1, len(parts), *totals


def _part(shape: Shape, pixel: int) -> Terms:
    """Blocks of three pixels of a line, inside or cut, or single ones of narrow lines; pixel: the input's channels."""
    y, x, width, own = axis(shape, "height"), axis(shape, "width"), shape["output_width"], shape["input_channels"]
    rows, columns = shape["filter_height"], shape["filter_width"]
    by_words, lanes, words = own % 4 == 0, 1 if width < 3 else 3, own // 4
    steps = up(rows * columns * own, 4)
    begins = np.minimum(np.arange(0, width, lanes), width - lanes)
    inside = np.array([bool(x.whole[b : b + lanes].all()) for b in begins]) & (by_words and lanes == 3)
    lines, tall = shape["batches"] * len(y.inside), y.whole
    blocks, whole = lines * len(begins), shape["batches"] * int(tall.sum()) * int(inside.sum())
    apart = np.concatenate([[0], *(np.arange(b, b + lanes) for b, i in zip(begins, inside, strict=True) if not i)])[1:]
    every = np.concatenate([np.arange(b, b + lanes) for b in begins])
    cut = shape["batches"] * int(np.where(tall, len(apart), len(every)).sum())
    found = shape["batches"] * int(
        (y.inside * np.where(tall, x.inside[apart.astype(int)].sum(), x.inside[every].sum())).sum()
    )
    cut_rows = shape["batches"] * int((y.inside * np.where(tall, len(apart), len(every))).sum())
    complete = shape["batches"] * int(tall.sum()) * int(x.whole[apart.astype(int)].sum())
    together = shape["dilation_width"] == 1 and own == pixel
    pieces = cut_rows if together else found
    joined = together or columns == 1
    pairs = blocks * up(shape["output_channels"], 2)
    more = shape["offset"] * up(steps, 255)
    passes = max(1, up(steps + more - 1, STEPS))
    return (
        lines,
        blocks,
        whole,
        whole * (0 if joined else rows),
        whole * rows * (1 if joined else columns),
        whole * steps,
        cut * by_words,
        cut * by_words * steps - found * words * by_words,
        cut_rows * by_words,
        pieces * by_words,
        found * words * by_words,
        cut * (not by_words),
        cut * (not by_words) * steps,
        (cut - complete) * (not by_words) * steps,
        cut_rows * (not by_words),
        pieces * (not by_words),
        found * own * (not by_words),
        pairs,
        pairs * (passes - 1),
        pairs * (steps + more),
        shape["signed"] * pairs,
        blocks * (shape["output_channels"] == 1),
        shape["offset"] * blocks,
        shape["offset"] * blocks * steps,
    )
