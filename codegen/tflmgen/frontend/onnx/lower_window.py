"""Geometry of convolutions and pools: ONNX's attributes, and how their padding becomes TFLite's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.frontend.onnx.layer_graph import Graph, last_order
from tflmgen.frontend.onnx.layout_graph import OnnxValue
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError

SAME, VALID = 0, 1
"""TFLite's numbers of paddings."""


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """Per spatial axis: size of the filter, its strides and dilations, padding before and after, and output size."""

    size: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    out: tuple[int, ...]

    @property
    def extent(self) -> tuple[int, ...]:
        """Elements from the first to the last tap."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.size, self.dilations, strict=True))

    @property
    def is_padded(self) -> bool:
        """Whether any side of any axis has padding."""
        return any(a or b for a, b in self.pads)

    def is_same(self, spatial: Sequence[int]) -> bool:
        """Whether TFLite's SAME padding is this one."""
        for n, k, s, pads, out in zip(spatial, self.extent, self.strides, self.pads, self.out, strict=True):
            whole = max((-(-n // s) - 1) * s + k - n, 0)
            if out != -(-n // s) or pads != (whole // 2, whole - whole // 2):
                return False
        return True


def window_of(node: OnnxNode, spatial: Sequence[int], size: Sequence[int]) -> SlidingWindow:
    """The window of a convolution or pool over a value with these spatial dimensions."""
    count = len(spatial)
    size = tuple(int(k) for k in size)
    strides = tuple(node.attribute("strides") or [1] * count)
    dilations = tuple(node.attribute("dilations") or [1] * count)
    extent = [(k - 1) * d + 1 for k, d in zip(size, dilations, strict=True)]
    mode = node.attribute("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        pads = []
        for n, k, s in zip(spatial, extent, strides, strict=True):
            whole = max((-(-n // s) - 1) * s + k - n, 0)
            less = whole // 2
            pads.append((less, whole - less) if mode == "SAME_UPPER" else (whole - less, less))
    else:
        flat_pads = [0] * (2 * count) if mode == "VALID" else node.attribute("pads") or [0] * (2 * count)
        pads = list(zip(flat_pads[:count], flat_pads[count:], strict=True))
    out = []
    for k, (n, e, s, (a, b)) in enumerate(zip(spatial, extent, strides, pads, strict=True)):
        room = n + a + b - e
        steps = room // s
        if node.attribute("ceil_mode", 0) and mode == "NOTSET" and room % s and (steps + 1) * s < n + a:
            steps += 1
            pads[k] = (a, steps * s + e - n - a)
        if room < 0:
            raise NodeError(f"has a window of {e} elements over {n + a + b}")
        out.append(steps + 1)
    return SlidingWindow(size, strides, dilations, tuple(pads), tuple(out))


def pad_spatial(g: Graph, value: OnnxValue, pads: Sequence[tuple[int, int]], filler: float) -> OnnxValue:
    """The value (NC and spatial axes) padded by `pads`, (before, after) per spatial axis, with `filler`."""
    return g.pad(g.laid_as(value, last_order(value.rank)), [(0, 0), (0, 0), *pads], filler)


def as_image(g: Graph, value: OnnxValue) -> OnnxValue:
    """A value with one spatial dimension as an image of height 1."""
    return g.unsqueeze(value, 2) if value.rank == 3 else value


def flat_window(window: SlidingWindow) -> SlidingWindow:
    """A one-dimensional window as a two-dimensional one of height 1."""
    if len(window.size) != 1:
        return window
    return SlidingWindow(
        (1, *window.size), (1, *window.strides), (1, *window.dilations), ((0, 0), *window.pads), (1, *window.out)
    )
