"""What the terms of cost models count of a kernel's shape: windows, those at borders, and those gathered alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

Shape = Mapping[str, int]
Terms = tuple[float, ...]


def up(number: int, step: int) -> int:
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
class Windows:
    """Output pixels, those whose window is cut off at a border, rows of windows and taps inside the input."""

    pixels: int
    cut: int
    rows: int
    taps: int


def windows(shape: Shape) -> Windows:
    (rows, whole_rows), (columns, whole_columns) = _inside(shape, "height"), _inside(shape, "width")
    batches, width = shape["batches"], shape["output_width"]
    pixels = batches * shape["output_height"] * width
    cut = pixels - batches * whole_rows * whole_columns
    return Windows(pixels, cut, batches * rows * width, batches * rows * columns)


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
