"""Pools: of two dimensions by TFLite's kernels where these have the window, else by the elements of each tap."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32, I64
from tflmgen.frontend.onnx.laid_out import Graph, Value, check_constant, constant, stored_shape
from tflmgen.frontend.onnx.lower_window import (
    SAME,
    VALID,
    Window,
    as_image,
    flat_window,
    last_order,
    pad_spatial,
    window_of,
)
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node
from tflmgen.frontend.onnx.quantized_tensors import SIGNED, dequantized, quantized


@lowers("MaxPool")
def max_pool(node: Node) -> list[Value]:
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


def _by_taps_or_kernel(g: Graph, value: Value, window: Window) -> Value:
    """Greatest elements of windows."""
    same = window.is_padded and window.is_same(value.shape[2:])
    if value.dtype is F32 and value.rank in (3, 4) and all(d == 1 for d in window.dilations):
        return _by_kernel(g, "MAX_POOL_2D", value, window, same, -math.inf)
    least = -math.inf if value.dtype is F32 else value.dtype.limits[0]
    return c.total(g, "MAXIMUM", list(_taps(g, pad_spatial(g, value, window.pads, least), window)))


def _by_kernel(g: Graph, name: str, value: Value, window: Window, same: bool, filler: float) -> Value:
    if value.rank == 3:
        wide = _by_kernel(g, name, as_image(g, value), flat_window(window), same, filler)
        return m.reshape(g, wide, [wide.shape[0], wide.shape[1], wide.shape[3]])
    if not same:
        value = pad_spatial(g, value, window.pads, filler)
    shape = (*value.shape[:2], *window.out)
    options = {
        "padding": SAME if same else VALID,
        "stride_h": window.strides[0],
        "stride_w": window.strides[1],
        "filter_height": window.size[0],
        "filter_width": window.size[1],
    }
    tensor = g.laid(value, last_order(4))
    output = (value.dtype, stored_shape(shape, last_order(4)), None)
    return g.value(g.operator(name, [tensor], [output], options)[0], shape, last_order(4))


def _taps(g: Graph, value: Value, window: Window) -> Iterator[Value]:
    """Strided slices of a padded value, one per element (tap) of the window: that element of all windows."""
    for tap in np.ndindex(*window.size):
        starts = [0, 0, *(t * d for t, d in zip(tap, window.dilations, strict=True))]
        yield m.slices(g, value, starts, [*value.shape[:2], *window.out], [1, 1, *window.strides])


def _with_places(node: Node, value: Value, window: Window) -> list[Value]:
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
        larger = c.greater(g, other, best)
        best, place = c.where(g, larger, other, best), c.where(g, larger, its_place, place)
    return [best, place if place.constant is None else constant(place.constant, I64)]


def _counts(value: Value, window: Window, pads_count: bool, node: Node) -> NDArray[np.float64]:
    """How many elements each window averages. Padding that only rounds the output size up never counts."""
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


@lowers("AveragePool")
def average_pool(node: Node) -> Value:
    """AveragePool: by TFLite's kernel where it has the window, corrected where padding counts otherwise, else tap by
    tap."""
    g, value = node.graph, node[0]
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape"))
    pads_count = bool(node.attribute("count_include_pad", 0))
    same = window.is_padded and window.is_same(value.shape[2:]) and not pads_count
    counts = _counts(value, window, pads_count, node)
    if value.rank in (3, 4) and all(d == 1 for d in window.dilations):
        pooled = _by_kernel(g, "AVERAGE_POOL_2D", value, window, same, 0.0)
        ratio = np.ones_like(counts) if same else math.prod(window.size) / counts
        return pooled if np.all(ratio == 1) else c.mul(g, pooled, constant(ratio, F32))
    sums = c.total(g, "ADD", list(_taps(g, pad_spatial(g, value, window.pads, 0.0), window)))
    return c.mul(g, sums, constant(1.0 / counts, F32))


@lowers("LpPool")
def lp_pool(node: Node) -> Value:
    """LpPool: p-th root of the sum of p-th powers in each window."""
    g, value, p = node.graph, node[0], float(node.attribute("p", 2))
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape"))
    size = c.absolute(g, value)
    powers = c.mul(g, size, size) if p == 2 else size if p == 1 else c.power(g, size, p)
    sums = c.total(g, "ADD", list(_taps(g, pad_spatial(g, powers, window.pads, 0.0), window)))
    return c.sqrt(g, sums) if p == 2 else sums if p == 1 else c.power(g, sums, 1.0 / p)


@lowers("MaxUnpool")
def max_unpool(node: Node) -> Value:
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
    tuples = m.reshape(g, places, [places.size, 1])
    flat = m.scatter_nd(g, tuples, m.reshape(g, value, [value.size]), (math.prod(natural),))
    image = m.reshape(g, flat, natural)
    if whole == natural:
        return image
    return m.pad(g, image, [(0, b - a) for a, b in zip(natural, whole, strict=True)])


@lowers("LRN")
def local_response(node: Node) -> Value:
    """x / (bias + alpha / size * sum of squares of neighbouring channels) ** beta."""
    g, value, size = node.graph, node[0], int(node.attribute("size"))
    alpha, beta, bias = (float(node.attribute(n, d)) for n, d in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    before, after = (size - 1) // 2, size // 2
    squares = c.mul(g, value, value)
    wide = m.pad(g, squares, [(before, after) if k == 1 else (0, 0) for k in range(value.rank)])
    sums = c.total(g, "ADD", [m.part(g, wide, 1, k, value.shape[1]) for k in range(size)])
    return c.div(g, value, c.power(g, c.add(g, c.mul(g, sums, alpha / size), bias), beta))
