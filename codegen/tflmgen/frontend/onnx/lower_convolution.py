"""Convolutions: Conv with one to three spatial dimensions, groups and dilations, and ConvTranspose."""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32
from tflmgen.frontend.onnx.laid_out import Graph, Value, constant, stored_shape
from tflmgen.frontend.onnx.located import NodeError
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


@lowers("Conv")
def convolution_node(node: Node) -> Value:
    """Conv in one to three spatial dimensions, with groups, strides, dilations and padding."""
    value, weights = node[0], node[1]
    window = window_of(node, value.shape[2:], node.attribute("kernel_shape") or weights.shape[2:])
    return convolution(node.graph, value, weights, node.optional(2), window, int(node.attribute("group", 1)))


def convolution(g: Graph, value: Value, weights: Value, bias: Value | None, window: Window, groups: int) -> Value:
    """Convolution of floats: `weights` are ONNX's, output channels first, then channels of one group."""
    if value.rank == 3:
        wide = convolution(g, as_image(g, value), as_image(g, weights), bias, flat_window(window), groups)
        return m.reshape(g, wide, [wide.shape[0], wide.shape[1], wide.shape[3]])
    if value.rank not in (4, 5):
        raise NodeError(f"convolves {value.rank - 2} spatial dimensions, but one to three are possible")
    if value.rank == 5:
        return _convolution_3d(g, value, weights, bias, window, groups)
    same = window.is_padded and window.is_same(value.shape[2:])
    if window.is_padded and not same:
        value = pad_spatial(g, value, window.pads, 0.0)
    depthwise = groups == value.shape[1] and groups > 1 and weights.shape[1] == 1
    if depthwise:
        filters = m.transpose(m.reshape(g, weights, [1, weights.shape[0], *weights.shape[2:]]), [0, 2, 3, 1])
    else:
        filters = m.transpose(weights, [0, 2, 3, 1])
    tensors = [g.laid(value, last_order(4)), g.laid(filters)]
    tensors.append(g.laid(bias if bias is not None else constant(np.zeros(weights.shape[0], np.float32))))
    options = {
        "padding": SAME if same else VALID,
        "stride_h": window.strides[0],
        "stride_w": window.strides[1],
        "dilation_h_factor": window.dilations[0],
        "dilation_w_factor": window.dilations[1],
    }
    if depthwise:
        options["depth_multiplier"] = weights.shape[0] // groups
    shape = (value.shape[0], weights.shape[0], *window.out)
    output = (F32, stored_shape(shape, last_order(4)), None)
    convolved = g.operator("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", tensors, [output], options)[0]
    return g.value(convolved, shape, last_order(4))


def _convolution_3d(g: Graph, value: Value, weights: Value, bias: Value | None, window: Window, groups: int) -> Value:
    if groups > 1:
        each, channels = weights.shape[0] // groups, weights.shape[1]
        parts = []
        for k in range(groups):
            own_bias = None if bias is None else m.part(g, bias, 0, k * each, each)
            own = m.part(g, value, 1, k * channels, channels)
            parts.append(_convolution_3d(g, own, m.part(g, weights, 0, k * each, each), own_bias, window, 1))
        return m.concat(g, parts, 1)
    if weights.constant is None:
        return _sum_of_taps(g, value, weights, bias, window)
    same = window.is_padded and window.is_same(value.shape[2:])
    if window.is_padded and not same:
        value = pad_spatial(g, value, window.pads, 0.0)
    filters = m.transpose(weights, [2, 3, 4, 1, 0])
    tensors = [g.laid(value, last_order(5)), g.laid(filters)]
    if bias is not None:
        tensors.append(g.laid(bias))
    options: dict[str, int] = {"padding": SAME if same else VALID}
    for name, stride, dilation in zip("dhw", window.strides, window.dilations, strict=True):
        options |= {f"stride_{name}": stride, f"dilation_{name}_factor": dilation}
    shape = (value.shape[0], weights.shape[0], *window.out)
    output = (F32, stored_shape(shape, last_order(5)), None)
    return g.value(g.operator("CONV_3D", tensors, [output], options)[0], shape, last_order(5))


def _sum_of_taps(g: Graph, value: Value, weights: Value, bias: Value | None, window: Window) -> Value:
    """A convolution whose filter is known at run time only: a matrix product for each tap of the filter."""
    from tflmgen.frontend.onnx.lower_matrix import matmul

    value = pad_spatial(g, value, window.pads, 0.0)
    outer = [value.shape[0], weights.shape[1]]
    result: Value | None = None
    for tap in np.ndindex(*window.size):
        starts = [0, 0, *(t * d for t, d in zip(tap, window.dilations, strict=True))]
        patch = m.slices(g, value, starts, [*outer, *window.out], [1, 1, *window.strides])
        matrix = weights
        for axis, place in enumerate(tap):
            matrix = m.part(g, matrix, axis + 2, place, 1)
        matrix = m.reshape(g, matrix, weights.shape[:2])
        rows = m.reshape(g, patch, [*outer, -1 if 0 in window.out else int(np.prod(window.out))])
        product = matmul(g, matrix, rows)
        result = product if result is None else c.add(g, result, product)
    assert result is not None
    if bias is not None:
        result = c.add(g, result, m.reshape(g, bias, [bias.size, 1]))
    return m.reshape(g, result, [value.shape[0], weights.shape[0], *window.out])


@lowers("ConvTranspose")
def transposed_convolution(node: Node) -> Value:
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
        own, filters = m.part(g, value, 1, k * each, each), m.part(g, weights, 0, k * each, each)
        direct = value.rank == 4 and all(d == 1 for d in dilations)
        parts.append((_direct if direct else _dilated)(g, own, filters, strides, dilations))
    joined = m.concat(g, parts, 1)
    joined = _cropped(g, joined, pads, whole)
    if bias is not None:
        joined = c.add(g, joined, m.reshape(g, bias, [1, bias.size, *[1] * (joined.rank - 2)]))
    return m.reshape(g, joined, [*joined.shape[:2], joined.shape[3]]) if count == 1 else joined


def _transposed_geometry(
    node: Node, value: Value, weights: Value, count: int
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


def _direct(g: Graph, value: Value, weights: Value, strides: list[int], _: list[int]) -> Value:
    sizes = [(n - 1) * s + k for n, s, k in zip(value.shape[2:], strides, weights.shape[2:], strict=True)]
    shape = (value.shape[0], weights.shape[1], *sizes)
    stored = stored_shape(shape, last_order(4))
    filters = m.transpose(weights, [1, 2, 3, 0])
    tensors = [g.constant(np.array(stored, np.int32)), g.laid(filters), g.laid(value, last_order(4))]
    options = {"padding": VALID, "stride_h": strides[0], "stride_w": strides[1]}
    return g.value(g.operator("TRANSPOSE_CONV", tensors, [(F32, stored, None)], options)[0], shape, last_order(4))


def _dilated(g: Graph, value: Value, weights: Value, strides: list[int], dilations: list[int]) -> Value:
    """A transposed convolution as a convolution: input with zeros between its elements, by the reversed filter."""
    for axis, stride in enumerate(strides, 2):
        if stride > 1:
            shape = value.shape
            value = m.unsqueeze(g, value, axis + 1)
            value = m.pad(g, value, [(0, 0)] * (axis + 1) + [(0, stride - 1)] + [(0, 0)] * (value.rank - axis - 2))
            value = m.reshape(g, value, [*shape[:axis], shape[axis] * stride, *shape[axis + 1 :]])
            value = m.part(g, value, axis, 0, (shape[axis] - 1) * stride + 1)
    spatial = list(range(2, value.rank))
    turned = m.transpose(m.reverse(g, weights, spatial), [1, 0, *spatial])
    sizes = weights.shape[2:]
    around = [((k - 1) * d, (k - 1) * d) for k, d in zip(sizes, dilations, strict=True)]
    out = [n + (k - 1) * d for n, k, d in zip(value.shape[2:], sizes, dilations, strict=True)]
    window = Window(sizes, (1,) * len(sizes), tuple(dilations), tuple(around), tuple(out))
    return convolution(g, value, turned, None, window, 1)


def _cropped(g: Graph, value: Value, pads: list[tuple[int, int]], whole: list[int]) -> Value:
    """Cuts off what is before, and cuts or adds zeros after."""
    more = [max(a + n - size, 0) for n, size, (a, _) in zip(whole, value.shape[2:], pads, strict=True)]
    value = pad_spatial(g, value, [(max(-a, 0), b) for b, (a, _) in zip(more, pads, strict=True)], 0.0)
    starts = [0, 0, *(max(a, 0) for a, _ in pads)]
    return m.slices(g, value, starts, [*value.shape[:2], *whole], [1] * value.rank)
