"""What kernels take: instructions and cycles of a call, as sums over the loops that a shape makes of them.

Each family of kernels has its terms: how often its loops run at each depth. What one pass takes is fitted to counts of
measured layers, per core (cost_table.py). Cycles are those that `bench` estimates, see docs/counting.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tflmgen.kernel import Kernel
from tflmgen.ops.cost_table import COSTS

Shape = Mapping[str, int]
Terms = tuple[float, ...]

CORES = {
    "cortex-m0": "cortex-m0",
    "cortex-m0plus": "cortex-m0",
    "cortex-m1": "cortex-m0",
    "cortex-m23": "cortex-m0",
    "cortex-m3": "cortex-m3",
    "cortex-m4": "cortex-m4",
    "cortex-m33": "cortex-m4",
    "cortex-m35p": "cortex-m4",
    "cortex-m7": "cortex-m7",
    "cortex-m52": "cortex-m55",
    "cortex-m55": "cortex-m55",
    "cortex-m85": "cortex-m55",
}
"""By GCC's name of a core the one that was measured: itself, or its nearest relative."""


@dataclass(frozen=True, slots=True)
class Estimate:
    instructions: int
    cycles: int


def estimate(kernel: Kernel, core: str) -> Estimate | None:
    """None for kernels, and for cores, that there is no model of."""
    found = family(kernel)
    if found is None or core not in CORES:
        return None
    name, terms = found
    table = COSTS.get((name, CORES[core]))
    if table is None:
        return None
    counts = terms(_shape(kernel))
    instructions, cycles = (sum(c * f for c, f in zip(counts, factors, strict=True)) for factors in table)
    return Estimate(max(1, round(instructions)), max(1, round(cycles)))


def terms_of(kernel: Kernel) -> tuple[str, Terms] | None:
    """A kernel's family, and how often its loops run."""
    found = family(kernel)
    return None if found is None else (found[0], found[1](_shape(kernel)))


def _shape(kernel: Kernel) -> Shape:
    assert kernel.params is not None
    shape = {name: int(value) for name, value in kernel.params.fields if isinstance(value, (int, bool))}
    return {**shape, "signed": int("signed" in kernel.function), "stack": int("stack" in kernel.function)}


def _up(number: int, step: int) -> int:
    return -(-number // step)


def _inside(shape: Shape, along: str) -> tuple[int, int]:
    """Along one dimension: taps inside the input, over all output positions; positions where all of them are."""
    size, taps, output = shape[f"input_{along}"], shape[f"filter_{along}"], shape[f"output_{along}"]
    stride, dilation = shape[f"stride_{along}"], shape.get(f"dilation_{along}", 1)
    padding = shape["padding_top" if along == "height" else "padding_left"]
    origins = range(-padding, output * stride - padding, stride)
    inside = [sum(0 <= o + t * dilation < size for t in range(taps)) for o in origins]
    return sum(inside), inside.count(taps)


@dataclass(frozen=True, slots=True)
class _Windows:
    """Output pixels, those whose window is cut off at a border, rows of windows and taps inside the input."""

    pixels: int
    cut: int
    rows: int
    taps: int


def _windows(shape: Shape) -> _Windows:
    (rows, whole_rows), (columns, whole_columns) = _inside(shape, "height"), _inside(shape, "width")
    batches, width = shape["batches"], shape["output_width"]
    pixels = batches * shape["output_height"] * width
    cut = pixels - batches * whole_rows * whole_columns
    return _Windows(pixels, cut, batches * rows * width, batches * rows * columns)


def _alone(shape: Shape, lanes: int, tall: bool) -> int:
    """Pixels whose windows are gathered each for itself: `lanes` of them are not side by side, or not in the input.

    tall: nor may a window be cut off above or below.
    """
    width, height = shape["output_width"], shape["output_height"]
    first = np.arange(shape["batches"] * height * width // lanes) * lanes
    column, line = first % width, first // width % height
    x = column * shape["stride_width"] - shape["padding_left"]
    y = line * shape["stride_height"] - shape["padding_top"]
    reach = (lanes - 1) * shape["stride_width"] + shape["filter_width"]
    together = (column + lanes <= width) & (x >= 0) & (x + reach <= shape["input_width"])
    if tall:
        below = y + (shape["filter_height"] - 1) * shape["dilation_height"]
        together &= (y >= 0) & (below < shape["input_height"])
    if shape["dilation_width"] > 1:
        together &= False
    return shape["batches"] * height * width - lanes * int(together.sum())


def _conv(block: int, rest: int, group: int, step: int, lanes: int, tall: bool) -> Callable[[Shape], Terms]:
    """Blocks of pixels, then `rest` of them at a time; groups of output channels; steps of values."""

    def terms(shape: Shape) -> Terms:
        pixels = shape["batches"] * shape["output_height"] * shape["output_width"]
        values = shape["filter_height"] * shape["filter_width"] * shape["input_channels"]
        steps = shape.get("steps") or shape.get("chunks") or _up(values, step)
        groups = _up(shape["output_channels"], group)
        blocks, left = pixels // block, _up(pixels % block, rest)
        alone = _alone(shape, lanes, tall)
        one_tap = int(shape["filter_height"] * shape["filter_width"] == 1)
        return (
            1,
            pixels,
            pixels * shape["filter_height"],
            (1 - one_tap) * pixels * values,
            one_tap * pixels * values,
            alone,
            alone * shape["filter_height"],
            alone * values,
            blocks * groups,
            blocks * groups * steps,
            left * groups,
            left * groups * steps,
            shape["signed"] * pixels * shape["output_channels"],
            one_tap * pixels,
            (values % 4 != 0) * pixels,
            (values % 4 != 0) * pixels * values,
        )

    return terms


def _conv_mve(shape: Shape) -> Terms:
    """Blocks of four pixels, the last one too; rows of windows inside are copied by 16 bytes, in three ways."""
    w, chunks, rows = _windows(shape), shape["chunks"], shape["filter_height"]
    row = shape["filter_width"] * shape["input_channels"]
    alone = _alone(shape, 4, True)
    together = (rows == 1) * (w.pixels - alone)
    inside = w.pixels - w.cut - together
    whole, short = int(row % 16 == 0), int(row < 16)
    direct = int(shape["input_channels"] % 16 == 0) * w.cut
    flattened = w.cut - direct
    long = (1 - whole) * (1 - short)
    blocks, groups = _up(w.pixels, 4), _up(shape["output_channels"], 2)
    return (
        1,
        blocks,
        alone,
        flattened,
        flattened * chunks,
        flattened * rows * _up(row, 16),
        direct,
        direct * rows * shape["filter_width"],
        direct * chunks,
        together * _up(row, 16),
        whole * inside * rows,
        whole * inside * rows * (row // 16),
        short * inside * rows,
        long * inside * rows,
        long * inside * rows * _up(row, 16),
        (1 - whole) * inside,
        (1 - whole) * inside * chunks,
        blocks * groups,
        blocks * groups * chunks,
        blocks * groups * _up(chunks - 1, 4),
        shape["signed"] * blocks * groups,
    )


def _portable_conv(shape: Shape) -> Terms:
    w, outputs = _windows(shape), shape["output_channels"]
    return (
        1,
        w.pixels,
        w.pixels * outputs,
        w.rows * outputs,
        w.taps * outputs,
        w.taps * shape.get("filter_channels", 1) * outputs,
    )


def _planes(shape: Shape) -> Terms:
    """Depthwise kernels for 3x3 filters over planes of channels, in strips of lines."""
    w, channels = _windows(shape), shape["input_channels"]
    height, batches = shape["output_height"], shape["batches"]
    words = _up(shape["output_width"], 2)
    strips = batches * _up(height, shape["strip"])
    filled = batches * (height * shape["stride_height"] + shape["filter_height"] - shape["stride_height"])
    line = words * 2 * shape["stride_width"] + shape["filter_width"]
    pairs = _up(shape["filter_height"] * shape["filter_width"], 2)
    return (
        1,
        channels,
        strips * channels,
        filled * channels,
        filled * line * channels,
        batches * height * channels,
        batches * height * words * channels,
        batches * height * words * channels * pairs,
        shape["signed"] * w.pixels * channels,
        (shape["output_width"] % 2) * strips * channels,
        (strips - batches) * line * channels,
    )


def _channel_planes(shape: Shape) -> Terms:
    """The same with a plane per channel, whose lines are the input's or padding, and move on from strip to strip."""
    reach = (shape["filter_height"] - 1) * shape.get("dilation_height", 1) + 1
    inside = moved = padding = 0
    filled = -shape["padding_top"]
    for y in range(0, shape["output_height"], shape["strip"]):
        top = y * shape["stride_height"] - shape["padding_top"]
        end = top + (min(shape["strip"], shape["output_height"] - y) - 1) * shape["stride_height"] + reach
        moved += max(0, filled - top) if y else 0
        lines = range(max(filled, top), end)
        within = sum(0 <= line < shape["input_height"] for line in lines)
        inside, padding = inside + within, padding + len(lines) - within
        filled = max(filled, end)
    planes = shape["batches"] * shape["input_channels"]
    line, pairs = shape["line"], _up(shape["filter_height"] * shape["filter_width"], 2)
    strips, words = _up(shape["output_height"], shape["strip"]), _up(shape["output_width"], 2)
    return (
        1,
        planes,
        strips * planes,
        inside * planes,
        inside * planes * shape["input_width"],
        padding * planes * line,
        moved * planes * line,
        shape["output_height"] * planes,
        shape["output_height"] * words * planes,
        shape["output_height"] * words * planes * pairs,
        shape["signed"] * shape["output_height"] * words * planes,
        (shape["output_width"] % 2) * strips * planes,
        (shape["stride_width"] > 1) * inside * planes,
        (shape["stride_width"] > 1) * inside * planes * shape["input_width"],
    )


def _groups(group: int) -> Callable[[Shape], Terms]:
    """Depthwise kernels that walk over the pixels, with groups of channels at each."""

    def terms(shape: Shape) -> Terms:
        w, channels = _windows(shape), shape["input_channels"]
        taps = shape["filter_height"] * shape["filter_width"]
        groups = _up(channels, group)
        return (
            1,
            w.pixels,
            w.cut,
            w.cut * taps,
            w.rows,
            w.pixels * groups,
            w.pixels * groups * _up(taps, 2),
            shape["signed"] * w.pixels * groups,
            w.cut * groups,
        )

    return terms


def _depthwise_mve(shape: Shape) -> Terms:
    """3x3 windows within the input's width in twos where they move by one, or alone; all others tap by tap."""
    width, lines = shape["output_width"], shape["batches"] * shape["output_height"]
    groups, taps = _up(shape["input_channels"], 8), shape["filter_height"] * shape["filter_width"]
    three = (shape["filter_height"], shape["filter_width"]) == (3, 3)
    three &= (shape["dilation_height"], shape["dilation_width"]) == (1, 1)
    twos = ones = x = 0
    while three and x < width:
        left = shape["input_width"] - (x * shape["stride_width"] - shape["padding_left"])
        whole = x * shape["stride_width"] >= shape["padding_left"] and left >= 3
        two = whole and shape["stride_width"] == 1 and left >= 4
        twos, ones, x = twos + two, ones + (whole and not two), x + 1 + two
    rest = lines * (width - 2 * twos - ones)
    twos, ones = lines * twos, lines * ones
    signed = shape["signed"] * groups
    return (
        1,
        lines,
        twos,
        twos * groups,
        twos * signed,
        ones,
        ones * groups,
        ones * signed,
        rest,
        rest * taps,
        rest * groups,
        rest * groups * taps,
        rest * signed,
        rest * shape["filter_height"],
    )


def _matrix(group: int, step: int) -> Callable[[Shape], Terms]:
    def terms(shape: Shape) -> Terms:
        batches, groups, steps = shape["batches"], _up(shape["units"], group), _up(shape["depth"], step)
        return (
            1,
            batches,
            batches * shape["depth"],
            batches * groups,
            batches * groups * steps,
            shape["signed"] * batches * groups,
            batches * (shape["units"] % group != 0),
        )

    return terms


def _copied_matrix(group: int, step: int) -> Callable[[Shape], Terms]:
    """Rows that are not of whole steps are copied to the stack."""
    plain = _matrix(group, step)

    def terms(shape: Shape) -> Terms:
        copied = shape["stack"] * shape["batches"]
        return (*plain(shape), copied, copied * shape["depth"])

    return terms


def _elements(shape: Shape) -> Terms:
    count = shape["count"]
    return 1, count, shape["signed"] * count


FAMILIES: tuple[tuple[str, Callable[[Shape], Terms]], ...] = (
    (r"conv2d_s8", _portable_conv),
    (r"depthwise_conv2d_s8", _portable_conv),
    (r"fully_connected_s8", _matrix(1, 1)),
    (r"fully_connected_channels_s8", _matrix(1, 1)),
    (r"conv2d_thumb", _conv(4, 4, 1, 4, 2, False)),
    (r"conv2d_dsp", _conv(3, 1, 2, 4, 3, True)),
    (r"conv2d_mve", _conv_mve),
    (r"depthwise_thumb_3x3", _channel_planes),
    (r"depthwise_thumb_window", _channel_planes),
    (r"depthwise3x3_dsp", _planes),
    (r"depthwise_window_dsp", _groups(4)),
    (r"depthwise_window_mve", _depthwise_mve),
    (r"fully_connected_thumb_copied", _matrix(4, 2)),
    (r"fully_connected_thumb_plain", _matrix(4, 2)),
    (r"fully_connected_dsp_widened", _matrix(4, 4)),
    (r"fully_connected_dsp_plain", _matrix(4, 4)),
    (r"fully_connected_mve", _copied_matrix(8, 16)),
    (r"add_thumb", _elements),
    (r"add_dsp", _elements),
)
"""Kernels by how their names begin, behind tflmgen_."""


def family(kernel: Kernel) -> tuple[str, Callable[[Shape], Terms]] | None:
    name = kernel.function.removeprefix("tflmgen_")
    return next(((f, terms) for f, terms in FAMILIES if re.match(rf"{f}(_|$)", name)), None)
