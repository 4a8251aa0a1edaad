"""Pools: of two dimensions by TFLite's kernels where these have the window, else by the elements of each tap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.onnx.element_graph import F32, I64
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.lower_window import (
    SAME,
    VALID,
    SlidingWindow,
    as_image,
    flat_window,
    pad_spatial,
    window_of,
)
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.quantized_tensors import SIGNED, dequantized, quantized


@lowers("MaxPool", evaluated=False)
def lower_max_pool(node: OnnxNode) -> list[OnnxValue]:
    """MaxPool. Codes whose scale is known are pooled as real numbers; integer_operators.py removes the conversions."""
    g, value = node.graph, node[0]
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape"))
    if node.wants(1):
        return _with_places(node, value, window)
    kind = None if value.constant is not None else g.tensors[g.own(value).tensor].quantization
    if kind is not None and value.dtype in SIGNED and (real := dequantized(g, value, kind)) is not None:
        pooled = _by_taps_or_kernel(g, real, window)
        return [quantized(g, pooled, value.dtype, kind)]
    return [_by_taps_or_kernel(g, value, window)]


def _by_taps_or_kernel(g: Graph, value: OnnxValue, window: SlidingWindow) -> OnnxValue:
    """Greatest elements of windows."""
    same = window.is_padded and window.is_same(value.shape[2:])
    if value.dtype is F32 and value.rank in (3, 4) and all(d == 1 for d in window.dilations):
        return _by_kernel(g, Graph.max_pool, value, window, same, -math.inf)
    least = -math.inf if value.dtype is F32 else value.dtype.limits[0]
    return g.maximum_of(list(_taps(g, pad_spatial(g, value, window.pads, least), window)))


def _by_kernel(
    g: Graph, pool: Callable[..., OnnxValue], value: OnnxValue, window: SlidingWindow, same: bool, filler: float
) -> OnnxValue:
    if value.rank == 3:
        wide = _by_kernel(g, pool, as_image(g, value), flat_window(window), same, filler)
        return g.reshape(wide, [wide.shape[0], wide.shape[1], wide.shape[3]])
    if not same:
        value = pad_spatial(g, value, window.pads, filler)
    options = {
        "padding": SAME if same else VALID,
        "stride_h": window.strides[0],
        "stride_w": window.strides[1],
        "filter_height": window.size[0],
        "filter_width": window.size[1],
    }
    return pool(g, value, window.out, options)


def _taps(g: Graph, value: OnnxValue, window: SlidingWindow) -> Iterator[OnnxValue]:
    """Strided slices of a padded value, one per element (tap) of the window: that element of all windows."""
    for tap in np.ndindex(*window.size):
        starts = [0, 0, *(t * d for t, d in zip(tap, window.dilations, strict=True))]
        yield g.slices(value, starts, [*value.shape[:2], *window.out], [1, 1, *window.strides])


def _with_places(node: OnnxNode, value: OnnxValue, window: SlidingWindow) -> list[OnnxValue]:
    """The greatest elements and their places in the flattened input."""
    g, least = node.graph, -math.inf if value.dtype is F32 else value.dtype.limits[0]
    check_constant(value.shape, 8)
    numbers = np.arange(value.size, dtype=np.int64).reshape(value.shape)
    if node.attribute("storage_order", 0):
        planes = numbers.reshape(*value.shape[:2], -1)[:, :, :1]
        inner = np.arange(math.prod(value.shape[2:])).reshape(value.shape[2:], order="F")
        numbers = planes.reshape(*value.shape[:2], *[1] * (value.rank - 2)) + inner
    values = list(_taps(g, pad_spatial(g, value, window.pads, least), window))
    places = list(_taps(g, pad_spatial(g, constant(numbers), window.pads, 0), window))
    best, place = values[0], places[0]
    for other, its_place in zip(values[1:], places[1:], strict=True):
        larger = g.greater(other, best)
        best, place = g.where(larger, other, best), g.where(larger, its_place, place)
    return [best, place if place.constant is None else constant(place.constant, I64)]


def _counts(value: OnnxValue, window: SlidingWindow, pads_count: bool, node: OnnxNode) -> NDArray[np.float64]:
    """Number of elements that each window averages. Padding that only rounds the output size up never counts."""
    count = len(window.size)
    flat_pads = node.attribute("pads") or [0] * (2 * count)
    if node.attribute("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER"):
        flat_pads = [a for a, _ in window.pads] + [b for _, b in window.pads]
    result = np.ones(window.out)
    for axis, (n, k, s, d, (a, _)) in enumerate(
        zip(value.shape[2:], window.size, window.strides, window.dilations, window.pads, strict=True)
    ):
        low, high = (-a, n + flat_pads[count + axis]) if pads_count else (0, n)
        starts = np.arange(window.out[axis]) * s - a
        taps = starts[:, None] + np.arange(k) * d
        own = ((taps >= low) & (taps < high)).sum(1)
        result = result * own.reshape([-1 if j == axis else 1 for j in range(count)])
    return result


@lowers("AveragePool", evaluated=False)
def lower_average_pool(node: OnnxNode) -> OnnxValue:
    """AveragePool: by TFLite's kernel where it has the window, corrected where padding counts otherwise, else tap by
    tap."""
    g, value = node.graph, node[0]
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape"))
    pads_count = bool(node.attribute("count_include_pad", 0))
    same = window.is_padded and window.is_same(value.shape[2:]) and not pads_count
    counts = _counts(value, window, pads_count, node)
    if value.rank in (3, 4) and all(d == 1 for d in window.dilations):
        pooled = _by_kernel(g, Graph.average_pool, value, window, same, 0.0)
        ratio = np.ones_like(counts) if same else math.prod(window.size) / counts
        return pooled if np.all(ratio == 1) else g.mul(pooled, constant(ratio, F32))
    sums = g.sum_of(list(_taps(g, pad_spatial(g, value, window.pads, 0.0), window)))
    return g.mul(sums, constant(1.0 / counts, F32))


@lowers("LpPool", evaluated=False)
def lp_pool(node: OnnxNode) -> OnnxValue:
    """LpPool: p-th root of the sum of p-th powers in each window."""
    g, value, p = node.graph, node[0], float(node.attribute("p", 2))
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape"))
    size = g.absolute(value)
    powers = g.mul(size, size) if p == 2 else size if p == 1 else g.power(size, p)
    sums = g.sum_of(list(_taps(g, pad_spatial(g, powers, window.pads, 0.0), window)))
    return g.sqrt(sums) if p == 2 else sums if p == 1 else g.power(sums, 1.0 / p)


@lowers("MaxUnpool", evaluated=False)
def max_unpool(node: OnnxNode) -> OnnxValue:
    """MaxUnpool: values scattered to the indices that MaxPool gave, zero elsewhere."""
    g, value, places = node.graph, node[0], node[1]
    count = value.rank - 2
    strides = node.attribute("strides") or [1] * count
    pads = node.attribute("pads") or [0] * (2 * count)
    sizes = node.attribute("kernel_shape")
    shape = [
        (n - 1) * s + k - pads[axis] - pads[axis + count]
        for axis, (n, s, k) in enumerate(zip(value.shape[2:], strides, sizes, strict=True))
    ]
    natural = (*value.shape[:2], *shape)
    whole = tuple(node.integers(2, "its output shape") or natural)
    tuples = g.reshape(places, [places.size, 1])
    flat = g.scatter_nd(tuples, g.reshape(value, [value.size]), (math.prod(natural),))
    image = g.reshape(flat, natural)
    if whole == natural:
        return image
    return g.pad(image, [(0, b - a) for a, b in zip(natural, whole, strict=True)])


@lowers("LRN", evaluated=False)
def local_response(node: OnnxNode) -> OnnxValue:
    """x / (bias + alpha / size * sum of squares of neighbouring channels) ** beta."""
    g, value, size = node.graph, node[0], int(node.attribute("size"))
    alpha, beta, bias = (float(node.attribute(n, d)) for n, d in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    before, after = (size - 1) // 2, size // 2
    squares = g.mul(value, value)
    wide = g.pad(squares, [(before, after) if k == 1 else (0, 0) for k in range(value.rank)])
    sums = g.sum_of([g.part(wide, 1, k, value.shape[1]) for k in range(size)])
    return g.div(value, g.power(g.add(g.mul(sums, alpha / size), bias), beta))
