"""The terms of the cost models of kernels for every Cortex-M."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.costs.shapes import Integers, Shape, Terms, axis, blocks_of, up
from tflmgen.kernels.thumb.fully_connected import single_units

Counts = NDArray[np.float64]


def conv_thumb(shape: Shape) -> Terms:
    """Blocks of four pixels, the last one too; windows two at a time, or value by value."""
    y, x, pairs = axis(shape, "height"), axis(shape, "width"), blocks_of(shape, 2, False)
    rows, row = shape["filter_height"], shape["filter_width"] * shape["input_channels"]
    first = pairs.line[: 2 * len(pairs.together) : 2][pairs.together]
    together, within = len(first), int(y.inside[first].sum())
    alone = pairs.alone
    inside, columns = y.inside[pairs.line[alone]], x.inside[pairs.column[alone]]
    calls = inside * (3 if shape["dilation_width"] == 1 else 2 + columns) + rows - inside
    pixels, steps, channels = len(pairs.line), up(shape["terms"], 4), shape["output_channels"]
    blocks = up(pixels, 4)
    return (
        1,
        blocks,
        together,
        within,
        within * row,
        within * up(row, 8),
        together * rows - within,
        (together * rows - within) * row,
        int(alone.sum()),
        int(alone.sum()) * rows,
        int(calls.sum()),
        int(alone.sum()) * rows * row,
        blocks * channels,
        blocks * up(channels, 8),
        blocks * channels * steps,
        blocks * channels * up(steps, 2),
        shape["signed"] * blocks * channels,
    )


def units_thumb(rows: int, terms: int, units: int, signed: int) -> Counts:
    """Rows of a matrix product: groups of four units, then one or two single ones, passes over eight values of each."""
    ones = single_units(units)
    groups, values = up(units - ones, 4), terms + terms % 2
    return rows * np.array(
        [
            units >= 4,
            units % 4 == 3,
            groups,
            groups * values,
            groups * up(values, 8),
            signed * groups,
            ones > 0,
            ones,
            ones * values,
            ones * up(values, 8),
            signed * ones,
        ]
    )


def matrix_thumb(shape: Shape) -> Terms:
    """FULLY_CONNECTED: rows are summed, and perhaps copied, before their products."""
    batches, depth, units = shape["batches"], shape["depth"], shape["units"]
    return (
        1,
        batches,
        batches * depth,
        *units_thumb(batches, depth, units, shape["signed"]).tolist(),
    )


def few_thumb(shape: Shape) -> Terms:
    """FULLY_CONNECTED of few units, each for itself, in passes over eight values."""
    batches, outputs = shape["batches"], shape["batches"] * shape["units"]
    return (
        1,
        batches,
        outputs,
        outputs * shape["depth"],
        outputs * up(shape["depth"], 8),
        shape["signed"] * outputs,
    )


def pixels_thumb(shape: Shape) -> Terms:
    """Windows one at a time, in parts that lie together; groups of four output channels; passes over eight values."""
    y, x = axis(shape, "height"), axis(shape, "width")
    batches, groups, channels = shape["batches"], shape["groups"], shape["group_inputs"]
    rows, outputs = shape["filter_height"], shape["group_outputs"]
    pixels = batches * len(y.origins) * len(x.origins) * groups
    lines = int(y.inside.sum()) * len(x.origins) * batches * groups
    columns = int(y.inside.sum()) * int(x.inside.sum()) * batches * groups
    together = shape["dilation_width"] == 1 and groups == 1
    runs = x.inside * channels if together else np.full(int(x.inside.sum()), channels)
    times = int(y.inside.sum()) * batches * groups
    terms = rows * shape["filter_width"] * channels
    return (
        1,
        pixels // groups,
        pixels,
        pixels * rows,
        lines,
        times * len(runs),
        times * len(runs) * (not together),
        times * int(runs.sum()),
        times * int((-(-runs // 8)).sum()),
        pixels * terms - columns * channels,
        *units_thumb(pixels, terms, outputs, shape["signed"]).tolist(),
    )


def transposed_thumb(shape: Shape) -> Terms:
    """A convolution for each rest of the stride, its windows gathered one at a time."""
    y, x = _phases(shape, "height"), _phases(shape, "width")
    batches, channels, outputs = shape["batches"], shape["input_channels"], shape["output_channels"]
    counts = np.zeros(8)
    products = np.zeros(11)
    for rows, inside_rows in y:
        within_y, inside_y = len(inside_rows), int(inside_rows.sum())
        for columns, inside_columns in x:
            within_x, inside_x = len(inside_columns), int(inside_columns.sum())
            passes = int((-(-inside_columns * channels // 8)).sum())
            pixels, terms = within_y * within_x, rows * columns * channels
            values = inside_y * inside_x * channels
            counts += (
                1,
                within_y,
                pixels,
                pixels * rows,
                inside_y * within_x,
                values,
                inside_y * passes,
                pixels * terms - values,
            )
            products += units_thumb(pixels, terms, outputs, shape["signed"])
    found = batches * np.concatenate([counts, products])
    return 1, *found.tolist()


def _phases(shape: Shape, along: str) -> list[tuple[int, Integers]]:
    """By rest of the stride: taps, and of each output how many of them are inside the input."""
    stride, taps, size = shape[f"stride_{along}"], shape[f"filter_{along}"], shape[f"input_{along}"]
    at = np.arange(shape[f"output_{along}"]) + shape["padding_top" if along == "height" else "padding_left"]
    found = []
    for rest in range(stride):
        own = up(taps - rest, stride)
        reached = (at[at % stride == rest] // stride)[:, None] - np.arange(own)
        found.append((own, ((reached >= 0) & (reached < size)).sum(axis=1)))
    return found


def direct_thumb(shape: Shape) -> Terms:
    """Pixels of all channels, tap by tap; tables of taps for windows that are cut off, and for those behind them."""
    y, x = axis(shape, "height"), axis(shape, "width")
    whole = np.tile(np.outer(y.whole, x.whole).ravel(), shape["batches"])
    made = int((~whole).sum() + (whole & ~np.append(False, whole[:-1])).sum())
    taps, pixels, channels = y.taps * x.taps, len(whole), shape["input_channels"]
    return (
        1,
        shape["pads"] * channels,
        shape["batches"] * len(y.origins),
        pixels,
        made,
        made * y.taps,
        made * taps,
        pixels * channels,
        pixels * channels * taps,
        pixels * channels * up(taps, 8),
        shape["signed"] * pixels * channels,
    )


def channel_planes(shape: Shape) -> Terms:
    """Depthwise kernels with a plane per channel, whose lines are the input's or padding, and move on from strip to
    strip."""
    reach = (shape["filter_height"] - 1) * shape.get("dilation_height", 1) + 1
    height, width, stride = shape["output_height"], shape["output_width"], shape["stride_width"]
    inside = moved = padding = runs = 0
    filled = -shape["padding_top"]
    for y in range(0, height, shape["strip"]):
        top, count = y * shape["stride_height"] - shape["padding_top"], min(shape["strip"], height - y)
        end = top + (count - 1) * shape["stride_height"] + reach
        moved += max(0, filled - top) if y else 0
        lines = range(max(filled, top), end)
        within = sum(0 <= line < shape["input_height"] for line in lines)
        inside, padding = inside + within, padding + len(lines) - within
        filled = max(filled, end)
        runs += 1 if width % 2 == 0 else 1 + (count > 1) + (width > 1)
    planes, strips = shape["batches"] * shape["output_channels"], up(height, shape["strip"])
    fills = planes // shape["filters"] if strips == 1 else planes
    line, pairs = shape["line"], up(shape["filter_height"] * shape["filter_width"], 2)
    left = min(shape["padding_left"], line)
    values = min(shape["input_width"], line - left)
    steps = stride == 1, stride == 2, stride > 2
    words = height * up(width, 2)
    return (
        1,
        ((shape["strip"] - 1) * shape["stride_height"] + reach) * line,
        planes,
        planes * pairs,
        planes * strips,
        planes * runs,
        *(fills * inside * step for step in steps),
        *(fills * inside * values * step for step in steps),
        fills * inside * min(stride, line - left - values) * (stride > 1),
        fills * inside * stride * (stride > 2),
        planes * padding,
        planes * padding * line,
        planes * moved * line,
        planes * height,
        planes * words,
        planes * words * pairs,
        planes * words * up(pairs, 4),
        shape["signed"] * planes * words,
    )
