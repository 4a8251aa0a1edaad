"""Windows of filters and pools: their places by TFLite's padding.h, and all windows of an image as one array."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tflmgen.reference.operation import Array

SAME = 0
"""The schema's number of padding SAME."""
EXPLICIT = "explicit_padding"
"""Further option of a Module's operators: pixels before and after along each dimension, from a PAD that has gone."""


@dataclass(frozen=True, slots=True)
class WindowAxis:
    """Windows along one dimension: `count` of them, `taps` elements `dilation` apart each, `stride` from the next."""

    size: int
    taps: int
    stride: int
    dilation: int
    before: int
    count: int

    @property
    def padded_size(self) -> int:
        """Elements that all windows together span, padding included."""
        return max((self.count - 1) * self.stride + (self.taps - 1) * self.dilation + 1, self.before + self.size)

    @property
    def after(self) -> int:
        """Padding behind the last element."""
        return self.padded_size - self.before - self.size

    @property
    def taps_inside(self) -> Array:
        """[count]: how many taps of each window lie inside of the input."""
        places = np.arange(self.count)[:, None] * self.stride + np.arange(self.taps) * self.dilation - self.before
        return np.asarray(((places >= 0) & (places < self.size)).sum(axis=1))


def axis_of(options: Mapping[str, Any], letter: str, place: int, size: int, taps: int) -> WindowAxis:
    """letter: h, w or d in the names of options; place: of the dimension among those with windows."""
    stride = int(options.get(f"stride_{letter}", 1))
    dilation = int(options.get(f"dilation_{letter}_factor", 1) or 1)
    reach = (taps - 1) * dilation + 1
    if options.get("padding", SAME) == SAME:
        count = -(-size // stride)
        return WindowAxis(size, taps, stride, dilation, max(0, (count - 1) * stride + reach - size) // 2, count)
    before, after = options.get(EXPLICIT, ((0, 0),) * 3)[place]
    return WindowAxis(size, taps, stride, dilation, before, (before + size + after - reach) // stride + 1)


def image_axes(
    options: Mapping[str, Any], shape: tuple[int, ...], taps: tuple[int, ...]
) -> tuple[WindowAxis, WindowAxis]:
    """Height and width of an image [batch, height, width, channels]."""
    return (axis_of(options, "h", 0, shape[1], taps[0]), axis_of(options, "w", 1, shape[2], taps[1]))


def padded(values: Array, axes: tuple[WindowAxis, ...], fill: Any = 0) -> Array:
    """An array [batch, dimensions with windows ..., channels] with what windows reach around it."""
    around = [(0, 0), *((axis.before, max(0, axis.after)) for axis in axes), (0, 0)]
    return np.pad(values, around, constant_values=fill) if any(map(any, around)) else values


def tap(values: Array, axes: tuple[WindowAxis, ...], places: tuple[int, ...]) -> Array:
    """The element at one tap of every window: [batch, counts ..., channels] of a padded array."""
    cuts = [slice(None)]
    for axis, place in zip(axes, places, strict=True):
        start = place * axis.dilation
        cuts.append(slice(start, start + (axis.count - 1) * axis.stride + 1, axis.stride))
    return values[tuple(cuts)]
