"""Normalisations that ONNX does not define by other operators."""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError


def channel(g: Graph, value: OnnxValue, rank: int) -> OnnxValue:
    """One number per channel, or per element of a sample, to go with a value whose channels are axis 1."""
    return g.reshape(value, [1, *(value.shape if value.rank == rank - 1 else (value.size, *[1] * (rank - 2)))])


@lowers("BatchNormalization", evaluated=False)
def batch_normalization(node: OnnxNode) -> list[OnnxValue]:
    """BatchNormalization by scale and offset per channel; in training mode also the new running mean and variance."""
    g, value = node.graph, node[0]
    epsilon = float(node.attribute("epsilon", 1e-5))
    scale, shift, mean, variance = (node[k] for k in range(1, 5))
    outputs: list[OnnxValue] = []
    if node.version < 14 and any(node.wants(index) for index in range(1, 5)):
        raise NodeError("is in training mode: it has further outputs", "Export the model for inference")
    if node.attribute("training_mode", 0):
        axes = [0, *range(2, value.rank)]
        momentum = float(node.attribute("momentum", 0.9))
        mean_kept, variance_kept = mean, variance
        mean_now = g.reduce_mean(value, axes)
        centred = g.sub(value, mean_now)
        variance_now = g.reduce_mean(g.mul(centred, centred), axes)
        mean, variance = (g.reshape(statistic, [value.shape[1]]) for statistic in (mean_now, variance_now))
        for kept, now in ((mean_kept, mean), (variance_kept, variance)):
            outputs.append(g.add(g.mul(kept, momentum), g.mul(now, 1 - momentum)))
    known = [parameters.constant for parameters in (scale, shift, mean, variance)]
    if all(constant is not None for constant in known):
        a, b, u, v = (np.asanyarray(constant, np.float64) for constant in known)
        factor = a / np.sqrt(v + epsilon)
        scaled = g.mul(value, channel(g, constant(factor, F32), value.rank))
        return [g.add(scaled, channel(g, constant(b - u * factor, F32), value.rank)), *outputs]
    root = g.sqrt(g.add(variance, epsilon))
    centred = g.sub(value, channel(g, mean, value.rank))
    scaled = g.mul(g.div(centred, channel(g, root, value.rank)), channel(g, scale, value.rank))
    return [g.add(scaled, channel(g, shift, value.rank)), *outputs]


@lowers("InstanceNormalization", evaluated=False)
def instance_normalization(node: OnnxNode) -> OnnxValue:
    """InstanceNormalization over the spatial axes, then scale and offset per channel."""
    g, value = node.graph, node[0]
    scaled = normalized(g, value, list(range(2, value.rank)), float(node.attribute("epsilon", 1e-5)))[0]
    return g.add(g.mul(scaled, channel(g, node[1], value.rank)), channel(g, node[2], value.rank))


def normalized(g: Graph, value: OnnxValue, axes: list[int], epsilon: float) -> tuple[OnnxValue, OnnxValue, OnnxValue]:
    """(x - mean) / sqrt(variance + epsilon) over axes, with the mean and the inverse deviation."""
    mean = g.reduce_mean(value, axes)
    centred = g.sub(value, mean)
    variance = g.reduce_mean(g.mul(centred, centred), axes)
    inverse = g.rsqrt(g.add(variance, epsilon))
    return g.mul(centred, inverse), mean, inverse


@lowers("LayerNormalization", evaluated=False)
def layer_normalization(node: OnnxNode) -> list[OnnxValue]:
    """LayerNormalization over the axes from `axis` on: result, mean and reciprocal of the standard deviation."""
    g, value = node.graph, node[0]
    axes = list(range(node.axis(value.rank, -1), value.rank))
    scaled, mean, inverse = normalized(g, value, axes, float(node.attribute("epsilon", 1e-5)))
    scaled = g.mul(scaled, node[1])
    bias = node.optional(2)
    return [scaled if bias is None else g.add(scaled, bias), mean, inverse]


@lowers("GroupNormalization", evaluated=False)
def group_normalization(node: OnnxNode) -> OnnxValue:
    """GroupNormalization of channels by groups; before version 21, scale and offset are per group."""
    g, value, groups = node.graph, node[0], int(node.attribute("num_groups"))
    n, channels, *rest = value.shape
    parts = g.reshape(value, [n, groups, channels // groups, *rest])
    scaled = normalized(g, parts, list(range(2, parts.rank)), float(node.attribute("epsilon", 1e-5)))[0]
    if node.version < 21:
        scaled = g.mul(scaled, channel(g, node[1], parts.rank))
        return g.reshape(g.add(scaled, channel(g, node[2], parts.rank)), value.shape)
    scaled = g.reshape(scaled, value.shape)
    return g.add(g.mul(scaled, channel(g, node[1], value.rank)), channel(g, node[2], value.rank))
