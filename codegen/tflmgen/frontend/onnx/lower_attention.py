"""Attention of ONNX Runtime's own domain, in floats and in codes: projections, heads, masks, and what earlier calls
have left.
"""

from __future__ import annotations

import math

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.lower_quantized import lower_as
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError

_MASKED = -10000.0
"""Default of mask_filter_value."""
_LATER = -3e38
"""Added to scores of later positions: ONNX Runtime adds the least float, which overflows where a score is negative."""


@lowers("com.microsoft.Attention")
def attention(node: OnnxNode) -> list[OnnxValue]:
    """Attention: the projection is a product of floats; its last operands are added to scores."""
    if node.attribute("qkv_hidden_sizes") or node.has(6):
        raise NodeError("has hidden sizes, or a length of its past, of their own, which is unsupported")
    product = node.graph.matmul(node[0], node[1])
    bias = node.optional(2)
    projected = product if bias is None else node.graph.add(product, bias)
    return _attention(node, projected, node.optional(3), node.optional(4), node.optional(5))


@lowers("com.microsoft.QAttention")
def quantized_attention(node: OnnxNode) -> list[OnnxValue]:
    """QAttention: the projection is a product of codes."""
    g, scale = node.graph, node.graph.mul(node.graph.reshape(node[3], ()), node[4])
    sums = g.cast(lower_as(node, "MatMulInteger", node[0], node[1], node.optional(6), node.optional(7)), F32)
    return _attention(node, g.add(g.mul(sums, scale), node[2]), node.optional(5), node.optional(8), None)


def _attention(
    node: OnnxNode, projected: OnnxValue, mask: OnnxValue | None, past: OnnxValue | None, added: OnnxValue | None
) -> list[OnnxValue]:
    """Output and present state of (batch, sequence, 3 x hidden): queries, keys and values of all heads.

    added  to scores of (batch, heads, sequence, total)
    """
    g, heads = node.graph, int(node.attribute("num_heads", 0))
    if node.attribute("do_rotary", 0) or node.attribute("past_present_share_buffer", 0):
        raise NodeError("turns its operands by their positions, or shares a buffer with its past, which is unsupported")
    batch, sequence, width = projected.shape
    if heads < 1 or width % (3 * heads):
        raise NodeError(f"has {width} projections for {heads} heads")
    split = g.reshape(projected, (batch, sequence, 3, heads, width // 3 // heads))
    parts = transpose(split, (2, 0, 3, 1, 4))
    query, keys, values = (g.squeeze(g.part(parts, 0, k, 1), [0]) for k in range(3))
    if past is not None:
        before = [g.squeeze(g.part(past, 0, k, 1), [0]) for k in range(2)]
        keys, values = g.concat([before[0], keys], 2), g.concat([before[1], values], 2)
    size = float(node.attribute("scale", 0.0)) or 1 / math.sqrt(query.shape[-1])
    scores = g.mul(g.matmul(query, transpose(keys, (0, 1, 3, 2))), size)
    for terms in (added, _mask_terms(node, mask, sequence, keys.shape[2], batch)):
        scores = scores if terms is None else g.add(scores, terms)
    weighted = g.matmul(g.softmax(scores, 3), values)
    output = g.reshape(transpose(weighted, (0, 2, 1, 3)), (batch, sequence, width // 3))
    return [output, g.concat([g.unsqueeze(keys, 0), g.unsqueeze(values, 0)], 0)] if node.wants(1) else [output]


def _mask_terms(node: OnnxNode, mask: OnnxValue | None, sequence: int, total: int, batch: int) -> OnnxValue | None:
    """Terms that masks add to scores of (batch, heads, sequence, total), or None."""
    g, added = node.graph, None
    if mask is not None:
        seen = g.where(
            _seen(g, mask, total, batch), constant(0.0, F32), float(node.attribute("mask_filter_value", _MASKED))
        )
        added = g.reshape(seen, (seen.shape[0], 1, *((1,) if seen.rank == 2 else ()), *seen.shape[1:]))
    if node.attribute("unidirectional", 0):
        places = np.arange(total) > np.arange(sequence)[:, None] + total - sequence
        later = constant(np.where(places, np.float32(_LATER), np.float32(0)))
        added = later if added is None else g.add(added, later)
    return added


def _seen(g: Graph, mask: OnnxValue, total: int, batch: int) -> OnnxValue:
    """Positions that are no padding, (batch, total) or (batch, sequence, total): by ones, or by ends and beginnings."""
    if mask.rank > 1:
        if mask.rank > 3 or mask.shape[-1] != total:
            raise NodeError(f"has a mask of {mask.rank} dimensions, of which the last is {mask.shape[-1]}")
        return g.greater(mask, 0.0)
    if mask.size not in (batch, 2 * batch):
        raise NodeError(f"has a mask of {mask.size} elements for a batch of {batch}")
    places = constant(np.arange(total, dtype=np.int32)[None])
    ends = g.reshape(g.part(mask, 0, 0, batch), (batch, 1))
    seen = g.less(places, ends)
    if mask.size == 2 * batch:
        starts = g.reshape(g.part(mask, 0, batch, batch), (batch, 1))
        seen = g.logical_and(seen, g.greater_equal(places, starts))
    return seen
