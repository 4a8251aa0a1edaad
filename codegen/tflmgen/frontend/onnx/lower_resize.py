"""Resize in all modes: per axis a choice of elements or a matrix, both computed at build time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError

Floats = NDArray[np.float64]


@lowers("Resize", "Upsample", evaluated=False)
def resize(node: OnnxNode) -> OnnxValue:
    """Resize and Upsample in all modes, one axis after the other. Raises NodeError if sizes are not known at build
    time."""
    g, value = node.graph, node[0]
    axes, scales, sizes = _target(node, value)
    mode = node.attribute("mode", "nearest")
    regions = node.known(1, "its region") if node.has(1) and not _is_old(node) else None
    crops = not _is_old(node) and node.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
    # ONNX Runtime copies what keeps its shape, and with antialias each axis that does, whatever the scale.
    keeps = sizes == [value.shape[axis] for axis in axes] or bool(node.attribute("antialias", 0))
    for place, axis in enumerate(axes):
        region = None
        if regions is not None and regions.size:
            region = float(regions[place]), float(regions[place + len(axes)])
        if sizes[place] == value.shape[axis] and not crops and (keeps or scales[place] == 1):
            continue
        check_constant((sizes[place],))
        at = coordinates(node, value.shape[axis], sizes[place], scales[place], region)
        if mode == "nearest":
            value = _nearest(node, g, value, axis, at, scales[place])
        else:
            matrix = _matrix(node, mode, at, value.shape[axis], scales[place])
            value = _outside(node, g, _times(g, value, axis, matrix), at, axis, matrix.shape[1])
    return value


def _target(node: OnnxNode, value: OnnxValue) -> tuple[list[int], list[float], list[int]]:
    """Axes that are resized, their scales and their sizes."""
    if _is_old(node):
        known_scales = node.attribute("scales") or node.known(1, "its scales").reshape(-1)
        scales = [float(s) for s in known_scales]
        return list(range(value.rank)), scales, _floors(value.shape, scales)
    axes = [normal_axis(axis, value.rank) for axis in node.attribute("axes") or range(value.rank)]
    sizes = node.integers(3, "its sizes")
    before = [value.shape[axis] for axis in axes]
    if sizes:
        scales = [size / n for size, n in zip(sizes, before, strict=True)]
        policy = node.attribute("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            scale = min(scales) if policy == "not_larger" else max(scales)
            scales = [scale] * len(axes)
            sizes = [int(np.floor(scale * n + 0.5)) for n in before]
        return axes, scales, sizes
    scales = [float(s) for s in node.known(2, "its scales").reshape(-1)]
    return axes, scales, _floors(before, scales)


def _floors(sizes: Sequence[int], scales: Sequence[float]) -> list[int]:
    """Sizes times scales, in float32 as ONNX Runtime multiplies them: 5 times 2.6 are 13."""
    return [int(np.floor(np.float32(n) * np.float32(s))) for n, s in zip(sizes, scales, strict=True)]


def coordinates(node: OnnxNode, before: int, after: int, scale: float, region: tuple[float, float] | None) -> Floats:
    """The place in the input of each element of the output; a length is the number of elements there are.

    In float32, as ONNX Runtime computes: which element is the nearest, and which lies outside, depends on the rounding.
    """
    places = _float_coordinates(node, before, after, np.float32(scale), region)
    return np.asarray(places, np.float32).astype(np.float64)


def _float_coordinates(
    node: OnnxNode, before: int, after: int, scale: np.float32, region: tuple[float, float] | None
) -> NDArray[np.floating[Any]]:
    x = np.arange(after, dtype=np.float32)
    mode = "asymmetric" if _is_old(node) else node.attribute("coordinate_transformation_mode", "half_pixel")
    if mode == "asymmetric":
        return x / scale
    if mode == "align_corners":
        return x * (before - 1) / max(after - 1, 1)
    if mode == "tf_crop_and_resize":
        start, end = (np.float32(k) for k in region or (0.0, 1.0))
        if after > 1:
            return start * (before - 1) + x * (end - start) * (before - 1) / (after - 1)
        return np.array([0.5 * (start + end) * (before - 1)], np.float32)
    if mode == "pytorch_half_pixel" and after == 1:
        return np.zeros(1, np.float32)
    if mode == "half_pixel_symmetric":
        adjustment = after / (before * scale)
        centre = before / 2
        return centre * (1 - adjustment) + (x + 0.5) / scale - 0.5
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (x + 0.5) / scale - 0.5
    raise NodeError(f"has the unknown coordinate transformation '{mode}'")


def _is_old(node: OnnxNode) -> bool:
    """Whether it is Upsample, or Resize of version 10, which has its operands, and no modes of its own.

    What such a node takes for the nearest element is ONNX Runtime's: the next one where it makes an axis shorter.
    """
    return node.op == "Upsample" or node.version < 11


def _nearest(node: OnnxNode, g: Graph, value: OnnxValue, axis: int, at: Floats, scale: float) -> OnnxValue:
    mode = node.attribute("nearest_mode", "round_prefer_floor")
    if _is_old(node):
        mode = "ceil" if scale < 1 else "floor"
    rounded = {
        "round_prefer_floor": np.ceil(at - 0.5),
        "round_prefer_ceil": np.floor(at + 0.5),
        "floor": np.floor(at),
        "ceil": np.ceil(at),
    }[mode]
    places = np.clip(rounded, 0, value.shape[axis] - 1).astype(np.int32)
    return _outside(node, g, g.gather(value, constant(places), axis), at, axis, value.shape[axis])


def _outside(node: OnnxNode, g: Graph, value: OnnxValue, at: Floats, axis: int, before: int) -> OnnxValue:
    """The value with `extrapolation_value` for elements outside of the input, in the mode tf_crop_and_resize."""
    outside = (at < 0) | (at > before - 1)
    if node.attribute("coordinate_transformation_mode") != "tf_crop_and_resize" or not outside.any():
        return value
    mask = outside.reshape([-1 if k == axis else 1 for k in range(value.rank)])
    return g.where(constant(mask), float(node.attribute("extrapolation_value", 0.0)), value)


def _matrix(node: OnnxNode, mode: str, at: Floats, before: int, scale: float) -> Floats:
    """Weight of each input element in each output element."""
    stretch = min(scale, 1.0) if node.attribute("antialias", 0) else 1.0
    reach = (1.0 if mode == "linear" else 2.0) / stretch
    exclude = bool(node.attribute("exclude_outside", 0))
    a = float(node.attribute("cubic_coeff_a", -0.75))
    check_constant((len(at), before))
    rows = np.zeros((len(at), before))
    for row, x in enumerate(at):
        taps = (np.floor(x) + np.arange(np.floor(-reach) + 1, 1 - np.floor(-reach))).astype(int)
        weights = _weights(mode, (taps - x) * stretch, a)
        inside = (taps >= 0) & (taps < before)
        if exclude:
            weights = np.where(inside, weights, 0.0)
        total = weights.sum()
        np.add.at(rows[row], np.clip(taps, 0, before - 1), weights / (total if exclude or stretch < 1 else 1.0))
    return rows


def _weights(mode: str, distance: Floats, a: float) -> Floats:
    d = np.abs(distance)
    if mode in ("linear", "bilinear"):
        hat: Floats = np.maximum(1 - d, 0.0)
        return hat
    if mode != "cubic":
        raise NodeError(f"has the unknown mode '{mode}'")
    inner = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    weights: Floats = np.where(d <= 1, inner, np.where(d < 2, far, 0.0))
    return weights


def _times(g: Graph, value: OnnxValue, axis: int, matrix: Floats) -> OnnxValue:
    """A matrix applied to one axis."""
    weights = constant(matrix, F32)
    others = [k for k in range(value.rank) if k != axis]
    moved = transpose(value, [*others, axis])
    product = g.matmul(moved, transpose(weights, [1, 0]))
    back: list[int] = [others.index(k) if k != axis else value.rank - 1 for k in range(value.rank)]
    return transpose(product, back)
