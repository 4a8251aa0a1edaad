"""Convolutions: Conv with one to three spatial dimensions, groups and dilations, and ConvTranspose."""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
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
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError


@lowers("Conv", evaluated=False)
def convolution_node(node: OnnxNode) -> OnnxValue:
    """Conv in one to three spatial dimensions, with groups, strides, dilations and padding."""
    value, weights = node[0], node[1]
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape") or weights.shape[2:])
    return convolution(node.graph, value, weights, node.optional(2), window, int(node.attribute("group", 1)))


def convolution(
    g: Graph, value: OnnxValue, weights: OnnxValue, bias: OnnxValue | None, window: SlidingWindow, groups: int
) -> OnnxValue:
    """Convolution of floats: `weights` are ONNX's, output channels first, then channels of one group."""
    if value.rank == 3:
        wide = convolution(g, as_image(g, value), as_image(g, weights), bias, flat_window(window), groups)
        return g.reshape(wide, [wide.shape[0], wide.shape[1], wide.shape[3]])
    if value.rank not in (4, 5):
        raise NodeError(f"convolves {value.rank - 2} spatial dimensions, but one to three are possible")
    if value.rank == 5:
        return _convolution_3d(g, value, weights, bias, window, groups)
    same = window.is_padded and window.is_same(value.shape[2:])
    if window.is_padded and not same:
        value = pad_spatial(g, value, window.pads, 0.0)
    bias = bias if bias is not None else constant(np.zeros(weights.shape[0], np.float32))
    options = {
        "padding": SAME if same else VALID,
        "stride_h": window.strides[0],
        "stride_w": window.strides[1],
        "dilation_h_factor": window.dilations[0],
        "dilation_w_factor": window.dilations[1],
    }
    is_depthwise = groups == value.shape[1] and groups > 1 and weights.shape[1] == 1
    convolve = Graph.depthwise_convolution if is_depthwise else Graph.image_convolution
    return convolve(g, value, weights, bias, window.out, options)


def _convolution_3d(
    g: Graph, value: OnnxValue, weights: OnnxValue, bias: OnnxValue | None, window: SlidingWindow, groups: int
) -> OnnxValue:
    if groups > 1:
        each, channels = weights.shape[0] // groups, weights.shape[1]
        parts = []
        for k in range(groups):
            own_bias = None if bias is None else g.part(bias, 0, k * each, each)
            own = g.part(value, 1, k * channels, channels)
            parts.append(_convolution_3d(g, own, g.part(weights, 0, k * each, each), own_bias, window, 1))
        return g.concat(parts, 1)
    if weights.constant is None:
        return _sum_of_taps(g, value, weights, bias, window)
    same = window.is_padded and window.is_same(value.shape[2:])
    if window.is_padded and not same:
        value = pad_spatial(g, value, window.pads, 0.0)
    options: dict[str, int] = {"padding": SAME if same else VALID}
    for name, stride, dilation in zip("dhw", window.strides, window.dilations, strict=True):
        options |= {f"stride_{name}": stride, f"dilation_{name}_factor": dilation}
    return g.volume_convolution(value, weights, bias, window.out, options)


def _sum_of_taps(
    g: Graph, value: OnnxValue, weights: OnnxValue, bias: OnnxValue | None, window: SlidingWindow
) -> OnnxValue:
    """A convolution whose filter is known at run time only: a matrix product for each tap of the filter."""
    value = pad_spatial(g, value, window.pads, 0.0)
    outer = [value.shape[0], weights.shape[1]]
    result: OnnxValue | None = None
    for tap in np.ndindex(*window.size):
        starts = [0, 0, *(t * d for t, d in zip(tap, window.dilations, strict=True))]
        patch = g.slices(value, starts, [*outer, *window.out], [1, 1, *window.strides])
        matrix = weights
        for axis, place in enumerate(tap):
            matrix = g.part(matrix, axis + 2, place, 1)
        matrix = g.reshape(matrix, weights.shape[:2])
        rows = g.reshape(patch, [*outer, -1 if 0 in window.out else int(np.prod(window.out))])
        product = g.matmul(matrix, rows)
        result = product if result is None else g.add(result, product)
    assert result is not None
    if bias is not None:
        result = g.add(result, g.reshape(bias, [bias.size, 1]))
    return g.reshape(result, [value.shape[0], weights.shape[0], *window.out])


@lowers("ConvTranspose", evaluated=False)
def lower_transposed_convolution(node: OnnxNode) -> OnnxValue:
    """Zeros between the elements, then a convolution; in two dimensions TFLite's TRANSPOSE_CONV."""
    g, value, weights, bias = node.graph, node[0], node[1], node.optional(2)
    count, groups = value.rank - 2, int(node.attribute("group", 1))
    strides, dilations, pads, whole = _transposed_geometry(node, value, weights, count)
    if count == 1:
        value, weights = as_image(g, value), as_image(g, weights)
        strides, dilations, pads = [1, *strides], [1, *dilations], [(0, 0), *pads]
        whole = [1, *whole]
    parts = []
    each = value.shape[1] // groups
    for k in range(groups):
        own, filters = g.part(value, 1, k * each, each), g.part(weights, 0, k * each, each)
        direct = value.rank == 4 and all(d == 1 for d in dilations)
        parts.append((_direct if direct else _dilated)(g, own, filters, strides, dilations))
    joined = g.concat(parts, 1)
    joined = _cropped(g, joined, pads, whole)
    if bias is not None:
        joined = g.add(joined, g.reshape(bias, [1, bias.size, *[1] * (joined.rank - 2)]))
    return g.reshape(joined, [*joined.shape[:2], joined.shape[3]]) if count == 1 else joined


def _transposed_geometry(
    node: OnnxNode, value: OnnxValue, weights: OnnxValue, count: int
) -> tuple[list[int], list[int], list[tuple[int, int]], list[int]]:
    """Strides, dilations, what is cut off before and after, and the output's size."""
    strides = list(node.attribute("strides") or [1] * count)
    dilations = list(node.attribute("dilations") or [1] * count)
    extra = list(node.attribute("output_padding") or [0] * count)
    sizes = [(k - 1) * d + 1 for k, d in zip(weights.shape[2:], dilations, strict=True)]
    full = [(n - 1) * s + k + e for n, s, k, e in zip(value.shape[2:], strides, sizes, extra, strict=True)]
    mode, wanted = node.attribute("auto_pad", "NOTSET"), node.attribute("output_shape")
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [n * s for n, s in zip(value.shape[2:], strides, strict=True)]
    if wanted is not None:
        pads = []
        for n, out in zip(full, wanted[-count:], strict=True):
            whole, less = max(n - out, 0), max(n - out, 0) // 2
            pads.append((less, n - out - less) if mode == "SAME_UPPER" else (whole - less, n - out - whole + less))
    else:
        flat_pads = node.attribute("pads") or [0] * (2 * count)
        pads = list(zip(flat_pads[:count], flat_pads[count:], strict=True)) if mode == "NOTSET" else [(0, 0)] * count
    whole = [n - a - b for n, (a, b) in zip(full, pads, strict=True)]
    return strides, dilations, pads, whole


def _direct(g: Graph, value: OnnxValue, weights: OnnxValue, strides: list[int], _: list[int]) -> OnnxValue:
    sizes = [(n - 1) * s + k for n, s, k in zip(value.shape[2:], strides, weights.shape[2:], strict=True)]
    shape = (value.shape[0], weights.shape[1], *sizes)
    options = {"padding": VALID, "stride_h": strides[0], "stride_w": strides[1]}
    return g.transposed_convolution(value, weights, shape, options)


def _dilated(g: Graph, value: OnnxValue, weights: OnnxValue, strides: list[int], dilations: list[int]) -> OnnxValue:
    """A transposed convolution as a convolution: input with zeros between its elements, by the reversed filter."""
    for axis, stride in enumerate(strides, 2):
        if stride > 1:
            shape = value.shape
            value = g.unsqueeze(value, axis + 1)
            value = g.pad(value, [(0, 0)] * (axis + 1) + [(0, stride - 1)] + [(0, 0)] * (value.rank - axis - 2))
            value = g.reshape(value, [*shape[:axis], shape[axis] * stride, *shape[axis + 1 :]])
            value = g.part(value, axis, 0, (shape[axis] - 1) * stride + 1)
    spatial = list(range(2, value.rank))
    turned = transpose(g.reverse(weights, spatial), [1, 0, *spatial])
    sizes = weights.shape[2:]
    around = [((k - 1) * d, (k - 1) * d) for k, d in zip(sizes, dilations, strict=True)]
    out = [n + (k - 1) * d for n, k, d in zip(value.shape[2:], sizes, dilations, strict=True)]
    window = SlidingWindow(sizes, (1,) * len(sizes), tuple(dilations), tuple(around), tuple(out))
    return convolution(g, value, turned, None, window, 1)


def _cropped(g: Graph, value: OnnxValue, pads: list[tuple[int, int]], whole: list[int]) -> OnnxValue:
    """Cuts off what is before, and cuts or adds zeros after."""
    more = [max(a + n - size, 0) for n, size, (a, _) in zip(whole, value.shape[2:], pads, strict=True)]
    value = pad_spatial(g, value, [(max(-a, 0), b) for b, (a, _) in zip(more, pads, strict=True)], 0.0)
    starts = [0, 0, *(max(a, 0) for a, _ in pads)]
    return g.slices(value, starts, [*value.shape[:2], *whole], [1] * value.rank)
