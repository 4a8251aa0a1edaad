"""Normalisations that ONNX does not define by other operators."""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32
from tflmgen.frontend.onnx.laid_out import Graph, Value, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lower_reduce import reduce
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node


def channel(g: Graph, value: Value, rank: int) -> Value:
    """One number per channel, or per element of a sample, to go with a value whose channels are axis 1."""
    return m.reshape(g, value, [1, *(value.shape if value.rank == rank - 1 else (value.size, *[1] * (rank - 2)))])


@lowers("BatchNormalization")
def batch_normalization(node: Node) -> list[Value]:
    """BatchNormalization by scale and offset per channel; in training mode also the new running mean and variance."""
    g, value = node.graph, node[0]
    epsilon = float(node.attribute("epsilon", 1e-5))
    scale, shift, mean, variance = (node[k] for k in range(1, 5))
    outputs: list[Value] = []
    if node.version < 14 and any(node.wants(index) for index in range(1, 5)):
        raise NodeError("is in training mode: it has further outputs", "Export the model for inference")
    if node.attribute("training_mode", 0):
        axes = [0, *range(2, value.rank)]
        momentum = float(node.attribute("momentum", 0.9))
        mean_kept, variance_kept = mean, variance
        mean_now = reduce(g, "MEAN", value, axes)
        centred = c.sub(g, value, mean_now)
        variance_now = reduce(g, "MEAN", c.mul(g, centred, centred), axes)
        mean, variance = (m.reshape(g, statistic, [value.shape[1]]) for statistic in (mean_now, variance_now))
        for kept, now in ((mean_kept, mean), (variance_kept, variance)):
            outputs.append(c.add(g, c.mul(g, kept, momentum), c.mul(g, now, 1 - momentum)))
    known = [parameters.constant for parameters in (scale, shift, mean, variance)]
    if all(constant is not None for constant in known):
        a, b, u, v = (np.asarray(constant, np.float64) for constant in known)
        factor = a / np.sqrt(v + epsilon)
        scaled = c.mul(g, value, channel(g, constant(factor, F32), value.rank))
        return [c.add(g, scaled, channel(g, constant(b - u * factor, F32), value.rank)), *outputs]
    root = c.sqrt(g, c.add(g, variance, epsilon))
    centred = c.sub(g, value, channel(g, mean, value.rank))
    scaled = c.mul(g, c.div(g, centred, channel(g, root, value.rank)), channel(g, scale, value.rank))
    return [c.add(g, scaled, channel(g, shift, value.rank)), *outputs]


@lowers("InstanceNormalization")
def instance_normalization(node: Node) -> Value:
    """InstanceNormalization over the spatial axes, then scale and offset per channel."""
    g, value = node.graph, node[0]
    scaled = normalized(g, value, list(range(2, value.rank)), float(node.attribute("epsilon", 1e-5)))[0]
    return c.add(g, c.mul(g, scaled, channel(g, node[1], value.rank)), channel(g, node[2], value.rank))


def normalized(g: Graph, value: Value, axes: list[int], epsilon: float) -> tuple[Value, Value, Value]:
    """(x - mean) / sqrt(variance + epsilon) over axes, with the mean and the inverse deviation."""
    mean = reduce(g, "MEAN", value, axes)
    centred = c.sub(g, value, mean)
    variance = reduce(g, "MEAN", c.mul(g, centred, centred), axes)
    inverse = c.elementwise(g, "RSQRT", c.add(g, variance, epsilon))
    return c.mul(g, centred, inverse), mean, inverse


@lowers("LayerNormalization")
def layer_normalization(node: Node) -> list[Value]:
    """LayerNormalization over the axes from `axis` on: result, mean and reciprocal of the standard deviation."""
    g, value = node.graph, node[0]
    axes = list(range(node.axis(value.rank, -1), value.rank))
    scaled, mean, inverse = normalized(g, value, axes, float(node.attribute("epsilon", 1e-5)))
    scaled = c.mul(g, scaled, node[1])
    bias = node.optional(2)
    return [scaled if bias is None else c.add(g, scaled, bias), mean, inverse]


@lowers("GroupNormalization")
def group_normalization(node: Node) -> Value:
    """GroupNormalization of channels by groups; before version 21, scale and offset are per group."""
    g, value, groups = node.graph, node[0], int(node.attribute("num_groups"))
    n, channels, *rest = value.shape
    parts = m.reshape(g, value, [n, groups, channels // groups, *rest])
    scaled = normalized(g, parts, list(range(2, parts.rank)), float(node.attribute("epsilon", 1e-5)))[0]
    if node.version < 21:
        scaled = c.mul(g, scaled, channel(g, node[1], parts.rank))
        return m.reshape(g, c.add(g, scaled, channel(g, node[2], parts.rank)), value.shape)
    scaled = m.reshape(g, scaled, value.shape)
    return c.add(g, c.mul(g, scaled, channel(g, node[1], value.rank)), channel(g, node[2], value.rank))
