"""Sampling at places known at run time: GridSample, RoiAlign, and updates of a cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32, I32
from tflmgen.frontend.onnx.laid_out import Graph, Value, check_constant, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lower_matrix import matmul
from tflmgen.frontend.onnx.lower_reduce import reduce
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node, normal_axis


@lowers("GridSample")
def grid_sample(node: Node) -> Value:
    """Each tap is gathered from the flattened image and weighted."""
    g, value, grid = node.graph, node[0], node[1]
    mode = node.attribute("mode", "linear").removeprefix("bi")
    padding, corners = node.attribute("padding_mode", "zeros"), bool(node.attribute("align_corners", 0))
    sizes = value.shape[2:]
    count = len(sizes)
    at = []
    for axis, size in enumerate(sizes):
        place = m.squeeze(g, m.part(g, grid, grid.rank - 1, count - 1 - axis, 1), [grid.rank - 1])
        scale = (size - 1) / 2 if corners else size / 2
        at.append(c.add(g, c.mul(g, place, scale), (size - 1) / 2))
    low, high = (0.0, 0.0) if corners else (-0.5, -0.5)
    if mode == "nearest":
        taps = [[(constant(1.0, F32), c.round_even(g, x))] for x in at]
    elif mode == "linear":
        taps = [_linear(g, x) for x in at]
    elif mode == "cubic":
        taps = [_cubic(g, x) for x in at]
    else:
        raise NodeError(f"has the unknown mode '{mode}'")
    bounds = [(low, size - 1 - high) for size in sizes]
    return _weighted(g, value, taps, bounds, padding)


def _linear(g: Graph, x: Value) -> list[tuple[Value, Value]]:
    base = c.floor(g, x)
    part = c.sub(g, x, base)
    return [(c.sub(g, constant(1.0, F32), part), base), (part, c.add(g, base, 1.0))]


def _cubic(g: Graph, x: Value) -> list[tuple[Value, Value]]:
    """Weights of R. Keys, "Cubic convolution interpolation for digital image processing" (1981), with a = -0.75."""
    base, a = c.floor(g, x), -0.75
    part = c.sub(g, x, base)
    terms = []
    for offset in (-1, 0, 1, 2):
        d = c.absolute(g, c.sub(g, part, float(offset)))
        if offset in (0, 1):
            weight = c.add(g, c.mul(g, c.mul(g, c.sub(g, c.mul(g, d, a + 2), a + 3), d), d), 1.0)
        else:
            inner = c.add(g, c.mul(g, c.sub(g, c.mul(g, d, a), 5 * a), d), 8 * a)
            weight = c.sub(g, c.mul(g, inner, d), 4 * a)
        terms.append((weight, c.add(g, base, float(offset))))
    return terms


def _weighted(
    g: Graph,
    value: Value,
    taps: Sequence[Sequence[tuple[Value, Value]]],
    bounds: Sequence[tuple[float, float]],
    padding: str,
) -> Value:
    """The sum over all taps of weight times element, of (batch, channels, places...)."""
    batch, channels, *sizes = value.shape
    flat = m.reshape(g, value, [batch * channels, math.prod(sizes)])
    result: Value | None = None
    for combination in product(*taps):
        weight, inside, place = None, None, None
        for (own, x), size, (low, high) in zip(combination, sizes, bounds, strict=True):
            index, fits = _index(g, x, size, low, high, padding)
            place = index if place is None else c.add(g, c.mul(g, place, size), index)
            weight = own if weight is None else c.mul(g, weight, own)
            if fits is not None:
                inside = fits if inside is None else c.logical_and(g, inside, fits)
        assert place is not None
        assert weight is not None
        element = _gathered(g, flat, place, batch, channels)
        if inside is not None:
            element = c.where(g, m.unsqueeze(g, inside, 1), element, 0.0)
        term = c.mul(g, element, m.unsqueeze(g, weight, 1) if weight.rank else weight)
        result = term if result is None else c.add(g, result, term)
    assert result is not None
    return result


def _gathered(g: Graph, flat: Value, place: Value, batch: int, channels: int) -> Value:
    """Elements of each channel at places (batch, ...): (batch, channels, ...)."""
    parts = []
    for number in range(batch):
        rows = m.part(g, flat, 0, number * channels, channels)
        own = m.squeeze(g, m.part(g, place, 0, number, 1), [0])
        parts.append(m.unsqueeze(g, m.gather(g, rows, own, 1), 0))
    return m.concat(g, parts, 0)


def _index(g: Graph, x: Value, size: int, low: float, high: float, padding: str) -> tuple[Value, Value | None]:
    """An index in range for a place that may lie outside, and with zeros around whether it is inside."""
    inside = None
    if padding == "zeros":
        inside = c.logical_and(g, c.greater_equal(g, x, 0.0), c.less_equal(g, x, float(size - 1)))
    elif padding == "reflection":
        x = _reflected(g, x, low, high)
    elif padding != "border":
        raise NodeError(f"has the unknown padding '{padding}'")
    clamped = c.minimum(g, c.maximum(g, x, 0.0), float(size - 1))
    return c.cast(g, clamped, I32), inside


def _reflected(g: Graph, x: Value, low: float, high: float) -> Value:
    """A place folded back at both ends, as often as it takes."""
    span = high - low
    if span == 0:
        return c.mul(g, x, 0.0)
    far = c.absolute(g, c.sub(g, x, low))
    rest = c.floor_mod(g, far, 2 * span)
    return c.add(g, c.minimum(g, rest, c.sub(g, constant(2 * span, F32), rest)), low)


@lowers("TensorScatter")
def tensor_scatter(node: Node) -> Value:
    """A cache with an update written from an index on that each batch has: rows are chosen, not moved."""
    g, cache, update = node.graph, node[0], node[1]
    axis = normal_axis(int(node.attribute("axis", -2)), cache.rank)
    size, count, batch = cache.shape[axis], update.shape[axis], cache.shape[0]
    start = constant(np.zeros(batch, np.int32)) if not node.has(2) else c.cast(g, node[2], I32)
    shape = [n if k in (0, axis) else 1 for k, n in enumerate(cache.shape)]
    offset = c.sub(g, m.indices_of(shape, axis, I32), m.reshape(g, start, [batch, *[1] * (cache.rank - 1)]))
    if node.attribute("mode", "linear") == "circular":
        offset = c.floor_mod(g, offset, size)
    inside = c.logical_and(g, c.greater_equal(g, offset, 0), c.less(g, offset, count))
    places = c.minimum(g, c.maximum(g, offset, 0), count - 1)
    parts = []
    for number in range(batch):
        own = m.reshape(g, m.part(g, places, 0, number, 1), [size])
        parts.append(m.gather(g, m.part(g, update, 0, number, 1), own, axis))
    return c.where(g, inside, m.concat(g, parts, 0), cache)


@lowers("RoiAlign")
def region_align(node: Node) -> Value:
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
        first, last = (m.part(g, regions, 1, k, 1) for k in (1 - axis, 3 - axis))
        begin = c.sub(g, c.mul(g, first, scale), 0.5 if half else 0.0)
        extent = c.sub(g, c.mul(g, last, scale), c.mul(g, first, scale))
        extent = extent if half else c.maximum(g, extent, 1.0)
        steps = constant(((np.arange(out * ratio) + 0.5) / (out * ratio)).reshape(1, -1), F32)
        x = c.add(g, c.mul(g, extent, steps), begin)
        shape = [count, out * ratio, 1] if axis == 0 else [count, 1, out * ratio]
        fits = c.logical_and(g, c.greater_equal(g, x, -1.0), c.less_equal(g, x, float(sizes[axis])))
        clamped = c.minimum(g, c.maximum(g, x, 0.0), float(sizes[axis] - 1))
        base = c.minimum(g, c.floor(g, clamped), float(max(sizes[axis] - 2, 0)))
        part = c.sub(g, clamped, base)
        lower, upper = c.sub(g, constant(1.0, F32), part), part
        zero = constant(0.0, F32)
        weights.append([m.reshape(g, c.where(g, fits, weight, zero), shape) for weight in (lower, upper)])
        above = c.minimum(g, c.add(g, base, 1.0), float(sizes[axis] - 1))
        places.append([m.reshape(g, c.cast(g, place, I32), shape) for place in (base, above)])
    return _pooled(node, value, batches, weights, places, (channels, height, width, ratio))


def _pooled(
    node: Node,
    value: Value,
    batches: Value,
    weights: Sequence[Sequence[Value]],
    places: Sequence[Sequence[Value]],
    sizes: tuple[int, int, int, int],
) -> Value:
    """Mean or greatest of the samples of each cell."""
    g, (channels, height, width, ratio) = node.graph, sizes
    count, spatial = places[0][0].shape[0], math.prod(value.shape[2:])
    last = m.reshape(g, m.transpose(value, [0, 2, 3, 1]), [value.shape[0] * spatial, channels])
    start = m.reshape(g, c.mul(g, c.cast(g, batches, I32), spatial), [count, 1, 1])
    terms = []
    for row, column in product((0, 1), repeat=2):
        place = c.add(g, c.add(g, c.mul(g, places[0][row], value.shape[3]), places[1][column]), start)
        weight = c.mul(g, weights[0][row], weights[1][column])
        terms.append(c.mul(g, m.gather(g, last, place, 0), m.unsqueeze(g, weight, 3)))
    is_mean = node.attribute("mode", "avg") == "avg"
    samples = c.total(g, "ADD" if is_mean else "MAXIMUM", terms)
    cells = m.reshape(g, samples, [count, height, ratio, width, ratio, channels])
    name = "MEAN" if is_mean else "REDUCE_MAX"
    return m.transpose(reduce(g, name, cells, [2, 4], keep=False), [0, 3, 1, 2])


@lowers("AffineGrid")
def affine_grid(node: Node) -> Value:
    """AffineGrid: places (x, y) or (x, y, z) of a grid of constant size, each times the batch's matrix."""
    g, theta = node.graph, node[0]
    sizes = (node.integers(1, "its size") or [])[2:]
    corners = bool(node.attribute("align_corners", 0))
    check_constant([*sizes, len(sizes) + 1])
    steps = [np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in sizes]
    grids = np.meshgrid(*steps, indexing="ij")[::-1]
    places = np.stack([*(grid.reshape(-1) for grid in grids), np.ones(math.prod(sizes))])
    moved = m.transpose(matmul(g, theta, constant(places, F32)), [0, 2, 1])
    return m.reshape(g, moved, [theta.shape[0], *sizes, len(sizes)])
