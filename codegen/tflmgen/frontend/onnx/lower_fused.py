"""Operators into which ONNX Runtime's optimiser of transformers fuses others, and their forms with codes: embeddings,
sums that are normalised, and activations with a bias.
"""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.onnx.element_graph import I32
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.lower_codes import real_of
from tflmgen.frontend.onnx.lower_normal import normalized
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError

_EPSILON = 1e-12
"""Default of the attribute."""


@lowers("com.microsoft.Gelu", "com.microsoft.BiasGelu", "com.microsoft.FastGelu")
def gelu(node: OnnxNode) -> OnnxValue:
    """Gelu, BiasGelu and FastGelu: of a sum with a bias, FastGelu by its approximation with tanh."""
    bias = node.optional(1)
    value = node[0] if bias is None else node.graph.add(node[0], bias)
    return node.graph.gelu(value, node.op == "FastGelu")


@lowers("com.microsoft.QuickGelu")
def quick_gelu(node: OnnxNode) -> OnnxValue:
    """QuickGelu: x times the logistic function of alpha x."""
    g = node.graph
    return g.mul(node[0], g.logistic(g.mul(node[0], float(node.attribute("alpha", 1.702)))))


@lowers("com.microsoft.SkipLayerNormalization")
def skip_layer_normalization(node: OnnxNode) -> list[OnnxValue | None]:
    """SkipLayerNormalization: a sum of two values and a bias, normalised along its rows; the sum is a result, too."""
    g = node.graph
    if node.wants(1) or node.wants(2):
        raise NodeError("gives a mean or an inverse deviation, which is unsupported")
    bias = node.optional(4)
    total = g.add(node[0], node[1])
    total = total if bias is None else g.add(total, bias)
    return [_scaled(node, total, node[2], node.optional(3)), None, None, total][: 4 if node.wants(3) else 1]


def _scaled(node: OnnxNode, value: OnnxValue, gain: OnnxValue, shift: OnnxValue | None) -> OnnxValue:
    epsilon = float(node.attribute("epsilon", _EPSILON))
    scaled = node.graph.mul(normalized(node.graph, value, [value.rank - 1], epsilon)[0], gain)
    return scaled if shift is None else node.graph.add(scaled, shift)


@lowers("com.microsoft.EmbedLayerNormalization")
def embedding(node: OnnxNode) -> list[OnnxValue | None]:
    """EmbedLayerNormalization: rows of up to three tables, summed and normalised."""
    rows = [node.graph.gather(table, places, 0) for table, places in _tables(node, node.optional(8))]
    return _embedded(node, rows, node[5], node[6])


@lowers("com.microsoft.QEmbedLayerNormalization")
def quantized_embedding(node: OnnxNode) -> list[OnnxValue | None]:
    """QEmbedLayerNormalization: the tables, the gain and the offset are codes."""

    def real(codes: OnnxValue, number: int) -> OnnxValue:
        return real_of(node, codes, node[8 + number], node.optional(13 + number), 0)

    numbers = (0, 1, 2)
    tables = zip(numbers, _tables(node, None), strict=False)
    rows = [real(node.graph.gather(table, places, 0), number) for number, (table, places) in tables]
    return _embedded(node, rows, real(node[5], 3), real(node[6], 4))


def _tables(node: OnnxNode, positions: OnnxValue | None) -> list[tuple[OnnxValue, OnnxValue]]:
    """Tables of words, positions and segments, each with the rows that are looked up."""
    words = node[0]
    if positions is None:
        positions = constant(np.broadcast_to(np.arange(words.shape[1], dtype=np.int32), words.shape).copy(), I32)
    tables = [(node[2], words), (node[3], positions)]
    return [*tables, (node[4], node[1])] if node.has(4) else tables


def _embedded(node: OnnxNode, rows: list[OnnxValue], gain: OnnxValue, shift: OnnxValue) -> list[OnnxValue | None]:
    """The normalised sum, the number of positions that the mask has, and the sum itself."""
    g, mask = node.graph, node.optional(7)
    total = g.sum_of(rows)
    results: list[OnnxValue | None] = [_scaled(node, total, gain, shift)]
    if node.wants(1):
        batch = total.shape[0]
        lengths = None if mask is None else g.reshape(g.reduce_sum(mask, [1]), (batch,))
        results.append(constant(np.zeros(batch, np.int32), I32) if lengths is None else lengths)
    if node.wants(2):
        results = [*results, *[None] * (2 - len(results)), total]
    return results
