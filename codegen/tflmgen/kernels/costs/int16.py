"""The terms of the cost models of kernels for int16 activations, for the DSP extension."""

from __future__ import annotations

import numpy as np

from tflmgen.kernels.costs.shapes import Shape, Terms, axis, up, windows


def clamped_int16(shape: Shape) -> int:
    """Whether outputs are clamped beyond int16's range, after all are computed."""
    return int(shape["output_min"] > -(2**15) or shape["output_max"] < 2**15 - 1)


def conv_int16(shape: Shape) -> Terms:
    """Blocks of three pixels by two channels; a pixel that is left is gathered, and computed, three times over.

    Windows are copied in runs, by pairs of values; those that aren't whole, or not of whole steps, are cleared first.
    """
    y, x = axis(shape, "height"), axis(shape, "width")
    channels, steps, width = shape["input_channels"], shape["steps"], shape["output_width"]
    size = shape["filter_height"] * shape["filter_width"]
    pixels = shape["batches"] * shape["output_height"] * width
    number = np.arange(pixels)
    at, column = number // width % shape["output_height"], number % width
    lanes = np.ones(pixels, dtype=np.int64)
    left = pixels % 3
    lanes[: left if shape["backward"] else 0] = 3
    lanes[pixels - left if not shape["backward"] else pixels :] = 3
    dilated = shape["dilation_width"] > 1
    lines, columns = y.inside[at], x.inside[column]
    cleared = int(lanes[(lines * columns < size) | (size * channels % 4 != 0)].sum())
    # A run begins at an odd value of its window, or ends at an even one: then a value is copied alone.
    first = np.maximum(0, -(x.origins // shape["dilation_width"]))
    runs = firsts = looped = pairs = lasts = 0
    for line in range(shape["filter_height"]):
        above = y.origins + line * shape["dilation_height"]
        within = (above >= 0) & (above < shape["input_height"])
        for tap in range(shape["filter_width"]) if dilated else (None,):
            if tap is None:
                begin = (line * shape["filter_width"] + np.minimum(first, shape["filter_width"])) * channels
                count = x.inside * channels
                some = np.ones(len(begin), dtype=bool)
            else:
                begin = np.full(width, (line * shape["filter_width"] + tap) * channels)
                place = x.origins + tap * shape["dilation_width"]
                some = (place >= 0) & (place < shape["input_width"])
                count = np.full(width, channels)
            odd = begin % 2 * (count > 0)
            weight = lanes * within[at] * some[column]
            runs += int(weight.sum())
            firsts += int((weight * odd[column]).sum())
            pairs += int((weight * ((count - odd) // 2)[column]).sum())
            looped += int((weight * (count - odd > 1)[column]).sum())
            lasts += int((weight * ((count - odd) % 2)[column]).sum())
    blocks, pairs_of_channels = pixels // 3 + left, up(shape["output_channels"], 2)
    return (
        1,
        blocks,
        cleared,
        2 * cleared * steps,
        int((lanes * lines).sum()),
        dilated * int((lanes * lines).sum()),
        runs,
        firsts,
        looped,
        pairs,
        lasts,
        blocks * pairs_of_channels,
        blocks * pairs_of_channels * (steps % 2),
        blocks * pairs_of_channels * (steps // 2),
        clamped_int16(shape) * pixels * shape["output_channels"],
    )


def depthwise_int16(shape: Shape) -> Terms:
    """Four channels at a time, then one by one; the taps inside the input."""
    w, channels = windows(shape), shape["input_channels"]
    y, x = axis(shape, "height"), axis(shape, "width")
    groups, rest = channels // 4, channels % 4
    some = shape["batches"] * int((y.inside > 0).sum()) * int((x.inside > 0).sum())
    lines = shape["batches"] * int(y.inside.sum()) * int((x.inside > 0).sum())
    return (
        1,
        shape["batches"] * shape["output_height"],
        w.pixels,
        some * (groups > 0),
        some * groups,
        lines * groups,
        w.taps * groups,
        some * rest,
        lines * rest,
        w.taps * rest,
        clamped_int16(shape) * w.pixels * channels,
    )


def matrix_int16(shape: Shape) -> Terms:
    """Groups of four units, then one by one; rows that are not of whole fours are copied."""
    batches, depth, steps = shape["batches"], shape["depth"], up(shape["depth"], 4)
    groups, rest = shape["units"] // 4, shape["units"] % 4
    copied = batches * (depth % 4 != 0)
    return (
        1,
        batches,
        copied,
        copied * depth,
        batches * groups,
        batches * groups * steps,
        batches * rest,
        batches * rest * steps,
    )
