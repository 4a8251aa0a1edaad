"""Resize in all modes: per axis a choice of elements or a matrix, both computed at build time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32
from tflmgen.frontend.onnx.laid_out import Graph, Value, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lower_matrix import matmul
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node, normal_axis

Floats = NDArray[np.float64]


@lowers("Resize", "Upsample")
def resize(node: Node) -> Value:
    """Resize and Upsample in all modes, one axis after the other. Raises NodeError if sizes are not known at build
    time."""
    g, value = node.graph, node[0]
    axes, scales, sizes = _target(node, value)
    mode = node.attribute("mode", "nearest")
    regions = node.known(1, "its region") if node.has(1) and node.op == "Resize" else None
    for place, axis in enumerate(axes):
        region = None
        if regions is not None and regions.size:
            region = float(regions[place]), float(regions[place + len(axes)])
        resized = node.attribute("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
        if sizes[place] == value.shape[axis] and scales[place] == 1 and not resized:
            continue
        at = coordinates(node, value.shape[axis], sizes[place], scales[place], region)
        if mode == "nearest":
            value = _nearest(node, g, value, axis, at)
        else:
            matrix = _matrix(node, mode, at, value.shape[axis], scales[place])
            value = _outside(node, g, _times(g, value, axis, matrix), at, axis, matrix.shape[1])
    return value


def _target(node: Node, value: Value) -> tuple[list[int], list[float], list[int]]:
    """Axes that are resized, their scales and their sizes."""
    if node.op == "Upsample":
        known_scales = node.attribute("scales") or node.known(1, "its scales").reshape(-1)
        scales = [float(s) for s in known_scales]
        return list(range(value.rank)), scales, [int(n * s) for n, s in zip(value.shape, scales, strict=True)]
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
    return axes, scales, [int(np.floor(n * s)) for n, s in zip(before, scales, strict=True)]


def coordinates(node: Node, before: int, after: int, scale: float, region: tuple[float, float] | None) -> Floats:
    """The place in the input of each element of the output."""
    x = np.arange(after, dtype=np.float64)
    mode = node.attribute("coordinate_transformation_mode", "half_pixel") if node.op == "Resize" else "asymmetric"
    if mode == "asymmetric":
        return x / scale
    if mode == "align_corners":
        return x * (before - 1) / (before * scale - 1) if before * scale != 1 else np.zeros(after)
    if mode == "tf_crop_and_resize":
        start, end = region or (0.0, 1.0)
        if after > 1:
            return start * (before - 1) + x * (end - start) * (before - 1) / (before * scale - 1)
        return np.array([0.5 * (start + end) * (before - 1)])
    if mode == "pytorch_half_pixel" and after == 1:
        return np.array([-0.5])
    if mode == "half_pixel_symmetric":
        adjustment = after / (before * scale)
        centre = before / 2
        return centre * (1 - adjustment) + (x + 0.5) / scale - 0.5
    if mode in ("half_pixel", "pytorch_half_pixel"):
        return (x + 0.5) / scale - 0.5
    raise NodeError(f"has the unknown coordinate transformation '{mode}'")


def _nearest(node: Node, g: Graph, value: Value, axis: int, at: Floats) -> Value:
    mode = node.attribute("nearest_mode", "round_prefer_floor") if node.op == "Resize" else "floor"
    rounded = {
        "round_prefer_floor": np.ceil(at - 0.5),
        "round_prefer_ceil": np.floor(at + 0.5),
        "floor": np.floor(at),
        "ceil": np.ceil(at),
    }[mode]
    places = np.clip(rounded, 0, value.shape[axis] - 1).astype(np.int32)
    return _outside(node, g, m.gather(g, value, constant(places), axis), at, axis, value.shape[axis])


def _outside(node: Node, g: Graph, value: Value, at: Floats, axis: int, before: int) -> Value:
    """The value with `extrapolation_value` for elements outside of the input, in the mode tf_crop_and_resize."""
    outside = (at < 0) | (at > before - 1)
    if node.attribute("coordinate_transformation_mode") != "tf_crop_and_resize" or not outside.any():
        return value
    mask = outside.reshape([-1 if k == axis else 1 for k in range(value.rank)])
    return c.where(g, constant(mask), float(node.attribute("extrapolation_value", 0.0)), value)


def _matrix(node: Node, mode: str, at: Floats, before: int, scale: float) -> Floats:
    """Weight of each input element in each output element."""
    stretch = min(scale, 1.0) if node.attribute("antialias", 0) else 1.0
    reach = (1.0 if mode == "linear" else 2.0) / stretch
    exclude = bool(node.attribute("exclude_outside", 0))
    a = float(node.attribute("cubic_coeff_a", -0.75))
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


def _times(g: Graph, value: Value, axis: int, matrix: Floats) -> Value:
    """A matrix applied to one axis."""
    weights = constant(matrix, F32)
    others = [k for k in range(value.rank) if k != axis]
    moved = m.transpose(value, [*others, axis])
    product = matmul(g, moved, m.transpose(weights, [1, 0]))
    back: list[int] = [others.index(k) if k != axis else value.rank - 1 for k in range(value.rank)]
    return m.transpose(product, back)
