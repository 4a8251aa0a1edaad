"""Sampling at places known at run time: GridSample, RoiAlign, and updates of a cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32, I32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import indices_of, transpose
from tflmgen.frontend.onnx.node import OnnxNode, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError


@lowers("GridSample", evaluated=False)
def grid_sample(node: OnnxNode) -> OnnxValue:
    """Each tap is gathered from the flattened image and weighted."""
    g, value, grid = node.graph, node[0], node[1]
    mode = node.attribute("mode", "linear").removeprefix("bi")
    padding, corners = node.attribute("padding_mode", "zeros"), bool(node.attribute("align_corners", 0))
    sizes = value.shape[2:]
    count = len(sizes)
    at = []
    for axis, size in enumerate(sizes):
        place = g.squeeze(g.part(grid, grid.rank - 1, count - 1 - axis, 1), [grid.rank - 1])
        scale = (size - 1) / 2 if corners else size / 2
        at.append(g.add(g.mul(place, scale), (size - 1) / 2))
    low, high = (0.0, 0.0) if corners else (-0.5, -0.5)
    if mode == "nearest":
        taps = [[(constant(1.0, F32), g.round_even(x))] for x in at]
    elif mode == "linear":
        taps = [_linear(g, x) for x in at]
    elif mode == "cubic":
        taps = [_cubic(g, x) for x in at]
    else:
        raise NodeError(f"has the unknown mode '{mode}'")
    bounds = [(low, size - 1 - high) for size in sizes]
    return _weighted(g, value, taps, bounds, padding)


def _linear(g: Graph, x: OnnxValue) -> list[tuple[OnnxValue, OnnxValue]]:
    base = g.floor(x)
    fraction = g.sub(x, base)
    return [(g.sub(constant(1.0, F32), fraction), base), (fraction, g.add(base, 1.0))]


def _cubic(g: Graph, x: OnnxValue) -> list[tuple[OnnxValue, OnnxValue]]:
    """Weights of R. Keys, "Cubic convolution interpolation for digital image processing" (1981), with a = -0.75."""
    base, a = g.floor(x), -0.75
    fraction = g.sub(x, base)
    terms = []
    for offset in (-1, 0, 1, 2):
        d = g.absolute(g.sub(fraction, float(offset)))
        if offset in (0, 1):
            weight = g.add(g.mul(g.mul(g.sub(g.mul(d, a + 2), a + 3), d), d), 1.0)
        else:
            inner = g.add(g.mul(g.sub(g.mul(d, a), 5 * a), d), 8 * a)
            weight = g.sub(g.mul(inner, d), 4 * a)
        terms.append((weight, g.add(base, float(offset))))
    return terms


def _weighted(
    g: Graph,
    value: OnnxValue,
    taps: Sequence[Sequence[tuple[OnnxValue, OnnxValue]]],
    bounds: Sequence[tuple[float, float]],
    padding: str,
) -> OnnxValue:
    """The sum over all taps of weight times element, of (batch, channels, places...)."""
    batch, channels, *sizes = value.shape
    flat = g.reshape(value, [batch * channels, math.prod(sizes)])
    result: OnnxValue | None = None
    for combination in product(*taps):
        weight, inside, place = None, None, None
        for (own, x), size, (low, high) in zip(combination, sizes, bounds, strict=True):
            index, fits = _index(g, x, size, low, high, padding)
            place = index if place is None else g.add(g.mul(place, size), index)
            weight = own if weight is None else g.mul(weight, own)
            if fits is not None:
                inside = fits if inside is None else g.logical_and(inside, fits)
        assert place is not None
        assert weight is not None
        element = _gathered(g, flat, place, batch, channels)
        if inside is not None:
            element = g.where(g.unsqueeze(inside, 1), element, 0.0)
        term = g.mul(element, g.unsqueeze(weight, 1) if weight.rank else weight)
        result = term if result is None else g.add(result, term)
    assert result is not None
    return result


def _gathered(g: Graph, flat: OnnxValue, place: OnnxValue, batch: int, channels: int) -> OnnxValue:
    """Elements of each channel at places (batch, ...): (batch, channels, ...)."""
    parts = []
    for number in range(batch):
        rows = g.part(flat, 0, number * channels, channels)
        own = g.squeeze(g.part(place, 0, number, 1), [0])
        parts.append(g.unsqueeze(g.gather(rows, own, 1), 0))
    return g.concat(parts, 0)


def _index(
    g: Graph, x: OnnxValue, size: int, low: float, high: float, padding: str
) -> tuple[OnnxValue, OnnxValue | None]:
    """An index in range for a place that may lie outside, and with zeros around whether it is inside."""
    inside = None
    if padding == "zeros":
        inside = g.logical_and(g.greater_equal(x, 0.0), g.less_equal(x, float(size - 1)))
    elif padding == "reflection":
        x = _reflected(g, x, low, high)
    elif padding != "border":
        raise NodeError(f"has the unknown padding '{padding}'")
    clamped = g.minimum(g.maximum(x, 0.0), float(size - 1))
    return g.cast(clamped, I32), inside


def _reflected(g: Graph, x: OnnxValue, low: float, high: float) -> OnnxValue:
    """A place folded back at both ends, as often as it takes."""
    span = high - low
    if span == 0:
        return g.mul(x, 0.0)
    far = g.absolute(g.sub(x, low))
    rest = g.floor_mod(far, 2 * span)
    return g.add(g.minimum(rest, g.sub(constant(2 * span, F32), rest)), low)


@lowers("TensorScatter")
def tensor_scatter(node: OnnxNode) -> OnnxValue:
    """A cache with an update written from an index on that each batch has: rows are chosen, not moved."""
    g, cache, update = node.graph, node[0], node[1]
    axis = normal_axis(int(node.attribute("axis", -2)), cache.rank)
    size, count, batch = cache.shape[axis], update.shape[axis], cache.shape[0]
    start = constant(np.zeros(batch, np.int32)) if not node.has(2) else g.cast(node[2], I32)
    shape = [n if k in (0, axis) else 1 for k, n in enumerate(cache.shape)]
    offset = g.sub(indices_of(shape, axis, I32), g.reshape(start, [batch, *[1] * (cache.rank - 1)]))
    if node.attribute("mode", "linear") == "circular":
        offset = g.floor_mod(offset, size)
    inside = g.logical_and(g.greater_equal(offset, 0), g.less(offset, count))
    places = g.minimum(g.maximum(offset, 0), count - 1)
    parts = []
    for number in range(batch):
        own = g.reshape(g.part(places, 0, number, 1), [size])
        parts.append(g.gather(g.part(update, 0, number, 1), own, axis))
    return g.where(inside, g.concat(parts, 0), cache)


@lowers("RoiAlign", evaluated=False)
def region_align(node: OnnxNode) -> OnnxValue:
    """Bilinear samples of regions of constant size; the number of samples must be given."""
    g, value, regions, batches = node.graph, node[0], node[1], node[2]
    height, width = (int(node.attribute(n, 1)) for n in ("output_height", "output_width"))
    ratio = int(node.attribute("sampling_ratio", 0))
    if ratio <= 0:
        raise NodeError("takes a number of samples that depends on its regions; give it a sampling_ratio")
    scale = float(node.attribute("spatial_scale", 1.0))
    default = "half_pixel" if node.version >= 16 else "output_half_pixel"
    half = node.attribute("coordinate_transformation_mode", default) == "half_pixel"
    count, (_, channels, *sizes) = regions.shape[0], value.shape
    weights, places = [], []
    for axis, out in ((0, height), (1, width)):
        first, last = (g.part(regions, 1, k, 1) for k in (1 - axis, 3 - axis))
        begin = g.sub(g.mul(first, scale), 0.5 if half else 0.0)
        extent = g.sub(g.mul(last, scale), g.mul(first, scale))
        extent = extent if half else g.maximum(extent, 1.0)
        steps = constant(((np.arange(out * ratio) + 0.5) / (out * ratio)).reshape(1, -1), F32)
        x = g.add(g.mul(extent, steps), begin)
        shape = [count, out * ratio, 1] if axis == 0 else [count, 1, out * ratio]
        fits = g.logical_and(g.greater_equal(x, -1.0), g.less_equal(x, float(sizes[axis])))
        clamped = g.minimum(g.maximum(x, 0.0), float(sizes[axis] - 1))
        base = g.minimum(g.floor(clamped), float(max(sizes[axis] - 2, 0)))
        fraction = g.sub(clamped, base)
        lower, upper = g.sub(constant(1.0, F32), fraction), fraction
        zero = constant(0.0, F32)
        weights.append([g.reshape(g.where(fits, weight, zero), shape) for weight in (lower, upper)])
        above = g.minimum(g.add(base, 1.0), float(sizes[axis] - 1))
        places.append([g.reshape(g.cast(place, I32), shape) for place in (base, above)])
    return _pooled(node, value, batches, weights, places, (channels, height, width, ratio))


def _pooled(
    node: OnnxNode,
    value: OnnxValue,
    batches: OnnxValue,
    weights: Sequence[Sequence[OnnxValue]],
    places: Sequence[Sequence[OnnxValue]],
    sizes: tuple[int, int, int, int],
) -> OnnxValue:
    """Mean or greatest of the samples of each cell."""
    g, (channels, height, width, ratio) = node.graph, sizes
    count, spatial = places[0][0].shape[0], math.prod(value.shape[2:])
    last = g.reshape(transpose(value, [0, 2, 3, 1]), [value.shape[0] * spatial, channels])
    start = g.reshape(g.mul(g.cast(batches, I32), spatial), [count, 1, 1])
    terms = []
    for row, column in product((0, 1), repeat=2):
        place = g.add(g.add(g.mul(places[0][row], value.shape[3]), places[1][column]), start)
        weight = g.mul(weights[0][row], weights[1][column])
        terms.append(g.mul(g.gather(last, place, 0), g.unsqueeze(weight, 3)))
    is_mean = node.attribute("mode", "avg") == "avg"
    samples = g.sum_of(terms) if is_mean else g.maximum_of(terms)
    cells = g.reshape(samples, [count, height, ratio, width, ratio, channels])
    reduced = (Graph.reduce_mean if is_mean else Graph.reduce_max)(g, cells, [2, 4], keep=False)
    return transpose(reduced, [0, 3, 1, 2])


@lowers("AffineGrid", evaluated=False)
def affine_grid(node: OnnxNode) -> OnnxValue:
    """AffineGrid: places (x, y) or (x, y, z) of a grid of constant size, each times the batch's matrix."""
    g, theta = node.graph, node[0]
    sizes = (node.integers(1, "its size") or [])[2:]
    corners = bool(node.attribute("align_corners", 0))
    check_constant([*sizes, len(sizes) + 1])
    steps = [np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in sizes]
    grids = np.meshgrid(*steps, indexing="ij")[::-1]
    places = np.stack([*(grid.reshape(-1) for grid in grids), np.ones(math.prod(sizes))])
    moved = transpose(g.matmul(theta, constant(places, F32)), [0, 2, 1])
    return g.reshape(moved, [theta.shape[0], *sizes, len(sizes)])
