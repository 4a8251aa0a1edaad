"""The terms of the cost models of kernels for every Cortex-M."""

from __future__ import annotations

from tflmgen.ops.cost_shapes import Shape, Terms, axis, blocks_of, clamped, up


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
        clamped(shape) * pixels * channels,
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
        clamped(shape) * planes * height * width,
    )
