"""What the terms of cost models count of a kernel's shape: windows, those at borders, and those gathered alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Shape = Mapping[str, int]
Terms = tuple[float, ...]


def up(number: int, step: int) -> int:
    return -(-number // step)


def clamped(shape: Shape) -> int:
    """Whether outputs are clamped beyond int8's range, after all are computed."""
    return int(shape["output_min"] > -128 or shape["output_max"] < 127)


Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Axis:
    """Along one dimension, by output position: where its window begins, and how many of its taps lie in the input."""

    origins: Integers
    inside: Integers
    taps: int

    @property
    def whole(self) -> Booleans:
        whole: Booleans = self.inside == self.taps
        return whole


def axis(shape: Shape, along: str) -> Axis:
    size, taps, output = shape[f"input_{along}"], shape[f"filter_{along}"], shape[f"output_{along}"]
    stride, dilation = shape[f"stride_{along}"], shape.get(f"dilation_{along}", 1)
    origins = np.arange(output) * stride - shape["padding_top" if along == "height" else "padding_left"]
    at = origins[:, None] + np.arange(taps) * dilation
    return Axis(origins, ((at >= 0) & (at < size)).sum(axis=1), taps)


@dataclass(frozen=True, slots=True)
class Windows:
    """Output pixels, those whose window is cut off at a border, rows of windows and taps inside the input."""

    pixels: int
    cut: int
    rows: int
    taps: int


def windows(shape: Shape) -> Windows:
    y, x = axis(shape, "height"), axis(shape, "width")
    batches, width = shape["batches"], shape["output_width"]
    pixels = batches * shape["output_height"] * width
    cut = pixels - batches * int(y.whole.sum()) * int(x.whole.sum())
    rows, columns = int(y.inside.sum()), int(x.inside.sum())
    return Windows(pixels, cut, batches * rows * width, batches * rows * columns)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Output pixels in blocks of `lanes`, the last of which may have fewer.

    line, column: of every pixel. together: of every whole block, whether its windows lie side by side in the input.
    """

    line: Integers
    column: Integers
    together: Booleans
    lanes: int

    @property
    def alone(self) -> Booleans:
        """Of every pixel, whether its window is gathered for itself."""
        alone = np.ones(len(self.line), dtype=bool)
        alone[: len(self.together) * self.lanes] = ~np.repeat(self.together, self.lanes)
        return alone


def blocks_of(shape: Shape, lanes: int, tall: bool) -> Blocks:
    """tall: nor may a window that is side by side with others be cut off above or below."""
    y, x = axis(shape, "height"), axis(shape, "width")
    width, height = shape["output_width"], shape["output_height"]
    pixel = np.arange(shape["batches"] * height * width)
    line, column = pixel // width % height, pixel % width
    first = pixel[: len(pixel) // lanes * lanes : lanes]
    begin = x.origins[column[first]]
    reach = (lanes - 1) * shape["stride_width"] + shape["filter_width"]
    together = (column[first] + lanes <= width) & (begin >= 0) & (begin + reach <= shape["input_width"])
    if tall:
        together &= y.whole[line[first]]
    if shape["dilation_width"] > 1:
        together &= False
    return Blocks(line, column, together, lanes)


def alone_pixels(shape: Shape, lanes: int, tall: bool, dilated: bool = False) -> int:
    """Pixels whose windows are gathered each for itself: `lanes` of them are not side by side, or not in the input.

    tall: nor may a window be cut off above or below. dilated: they may be side by side.
    """
    width, height = shape["output_width"], shape["output_height"]
    first = np.arange(shape["batches"] * height * width // lanes) * lanes
    column, line = first % width, first // width % height
    x = column * shape["stride_width"] - shape["padding_left"]
    y = line * shape["stride_height"] - shape["padding_top"]
    spread = shape["dilation_width"] if dilated else 1
    reach = (lanes - 1) * shape["stride_width"] + (shape["filter_width"] - 1) * spread + 1
    together = (column + lanes <= width) & (x >= 0) & (x + reach <= shape["input_width"])
    if tall:
        below = y + (shape["filter_height"] - 1) * shape["dilation_height"]
        together &= (y >= 0) & (below < shape["input_height"])
    if shape["dilation_width"] > spread:
        together &= False
    return shape["batches"] * height * width - lanes * int(together.sum())


def phases(shape: Shape) -> list[Shape]:
    """The convolutions that a TRANSPOSE_CONV is, one for each phase of the outputs."""
    found: list[Shape] = []
    for y, x in np.ndindex(shape["stride_height"], shape["stride_width"]):
        down, across = (_phase(shape, *at) for at in ((y, "height", "top"), (x, "width", "left")))
        found.append({**shape, **down, **across})
    return found


def _phase(shape: Shape, phase: int, along: str, side: str) -> dict[str, int]:
    """Of the outputs that are a stride apart the window along one dimension: tflmgen_transpose_conv_mve_phase_of."""
    stride, padding = shape[f"stride_{along}"], shape[f"padding_{side}"]
    first = (phase + padding) % stride
    taps = up(shape[f"filter_{along}"] - first, stride)
    return {
        f"output_{along}": up(shape[f"output_{along}"] - phase, stride),
        f"filter_{along}": taps,
        f"stride_{along}": 1,
        f"padding_{side}": taps - 1 - (phase + padding - first) // stride,
    }
