"""Reductions along axes: sums, extremes, their places, softmax, cumulative sums and the greatest elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.frontend.onnx.element_graph import BOOL, F32, I32, I64
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import indices_of
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.ir import DType


def _reduced(g: Graph, op: str, x: OnnxValue, axes: Sequence[int]) -> OnnxValue:
    if op in _REDUCTIONS:
        return _REDUCTIONS[op](g, x, axes)
    if op == "ReduceL1":
        return g.reduce_sum(g.absolute(x), axes)
    if op in ("ReduceL2", "ReduceSumSquare"):
        squares = g.reduce_sum(g.mul(x, x), axes)
        return squares if op == "ReduceSumSquare" else _root(g, squares)
    if op == "ReduceLogSum":
        return g.log(g.reduce_sum(x, axes))
    return _log_sum_exp(g, x, axes)


_REDUCTIONS = {
    "ReduceSum": Graph.reduce_sum,
    "ReduceMean": Graph.reduce_mean,
    "ReduceMax": Graph.reduce_max,
    "ReduceMin": Graph.reduce_min,
    "ReduceProd": Graph.reduce_prod,
}


def _root(g: Graph, value: OnnxValue) -> OnnxValue:
    return g.cast(g.sqrt(g.cast(value, F32)), value.dtype)


def _log_sum_exp(g: Graph, x: OnnxValue, axes: Sequence[int]) -> OnnxValue:
    if not x.size:
        return g.log(g.reduce_sum(g.exp(x), axes))
    greatest = g.reduce_max(x, axes)
    finite = g.minimum(g.maximum(greatest, -3e38), 3e38)
    return g.add(g.log(g.reduce_sum(g.exp(g.sub(x, finite)), axes)), finite)


@lowers(
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
    "ReduceLogSum", "ReduceLogSumExp",
)  # fmt: skip
def reduction(node: OnnxNode) -> OnnxValue:
    """Reductions along the node's axes, or along all; with `noop_with_empty_axes`, of each element alone."""
    g, value = node.graph, node[0]
    axes = node.axes(value.rank)
    if not axes:
        if node.attribute("noop_with_empty_axes", 0):
            return _reduced(g, node.op, value, [])
        axes = list(range(value.rank))
    reduced = _reduced(g, node.op, value, sorted(set(axes)))
    if node.op == "ReduceSum" and value.dtype in (I32, I64) and len(set(axes)) == value.rank:
        reduced = g.with_count(reduced, value)
    if node.attribute("keepdims", 1):
        return reduced
    sizes = [size for axis, size in enumerate(value.shape) if axis not in axes]
    return replace(g.reshape(reduced, sizes), numbers=reduced.numbers)


@lowers("ArgMax", "ArgMin")
def argument(node: OnnxNode) -> OnnxValue:
    """ArgMax and ArgMin along one axis: the first or the last place of the extreme."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank)
    last = bool(node.attribute("select_last_index", 0))
    index = g.place_of_extreme(value, axis, least=node.op == "ArgMin", last=last)
    if not node.attribute("keepdims", 1):
        return index
    return g.reshape(index, [1 if k == axis else size for k, size in enumerate(value.shape)])


@lowers("Softmax", "LogSoftmax", "Hardmax", evaluated=False)
def lower_softmax(node: OnnxNode) -> OnnxValue:
    """Softmax, LogSoftmax and Hardmax along one axis; before version 13, of all axes from there on as one row."""
    g, value = node.graph, node[0]
    rows = node.version < 13
    axis = node.axis(value.rank, 1 if rows else -1)
    shape = value.shape
    if rows:
        value, axis = g.reshape(value, [math.prod(shape[:axis]), math.prod(shape[axis:])]), 1
    if node.op == "Softmax":
        result = g.softmax(value, axis)
    elif node.op == "LogSoftmax":
        result = g.log_softmax(value, axis)
    else:
        index = g.place_of_extreme(value, axis)
        kept = g.reshape(index, [1 if k == axis else size for k, size in enumerate(value.shape)])
        result = g.cast(g.equal(kept, indices_of(value.shape, axis)), value.dtype)
    return g.reshape(result, shape)


@lowers("CumSum")
def lower_cumulative_sum(node: OnnxNode) -> OnnxValue:
    """CumSum along one axis, also from the end or without the element itself."""
    g, value = node.graph, node[0]
    axis = int(node.known(1, "its axis").reshape(-1)[0]) % max(value.rank, 1)
    exclusive, backward = bool(node.attribute("exclusive", 0)), bool(node.attribute("reverse", 0))
    return g.cumulative_sum(value, axis, exclusive, backward)


@lowers("CumProd")
def cumulative_product(node: OnnxNode) -> OnnxValue:
    """Products of prefixes, element by element: there is no kernel for all at once."""
    g, value = node.graph, node[0]
    axis = int(node.known(1, "its axis").reshape(-1)[0]) % max(value.rank, 1)
    count = value.shape[axis]
    exclusive, backward = bool(node.attribute("exclusive", 0)), bool(node.attribute("reverse", 0))
    places = range(count - 1, -1, -1) if backward else range(count)
    parts = [g.part(value, axis, place, 1) for place in places]
    if exclusive:
        parts = [constant(np.ones(parts[0].shape), value.dtype), *parts[:-1]]
    products = parts[:1]
    for factor in parts[1:]:
        products.append(g.mul(products[-1], factor))
    return g.concat(products[::-1] if backward else products, axis)


@lowers("TopK")
def top_k(node: OnnxNode) -> list[OnnxValue]:
    """TopK along one axis: values and places, in order; k may be computed. Raises NodeError for Booleans."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank, -1)
    count = int(node.attribute("k")) if node.version < 10 else node.sizes(1, "its k", from_data=True)[0]
    smallest = not node.attribute("largest", 1)
    if smallest:
        value = mirrored(g, value)
    if value.dtype is BOOL:
        raise NodeError("sorts Booleans, which is unsupported")
    values, indices = g.greatest(value, axis, count)
    return [mirrored(g, values) if smallest else values, g.cast(indices, I64)]


def mirrored(g: Graph, value: OnnxValue) -> OnnxValue:
    """Values in the opposite order: -x, or of integers -1 - x, which can't overflow."""
    if value.dtype is F32:
        return g.neg(value)
    if value.dtype in (DType.UINT8, DType.UINT16):
        return g.sub(constant(value.dtype.limits[1], value.dtype), value)
    return g.sub(constant(-1, value.dtype), value)


@lowers("LpNormalization", evaluated=False)
def lp_normalization(node: OnnxNode) -> OnnxValue:
    """LpNormalization: elements over the norm along one axis; where that is 0, as they are."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank, -1)
    if int(node.attribute("p", 2)) == 1:
        norm = g.reduce_sum(g.absolute(value), [axis])
    else:
        norm = g.sqrt(g.reduce_sum(g.mul(value, value), [axis]))
    zero = g.equal(norm, 0.0)
    return g.div(value, g.where(zero, 1.0, norm))


@lowers("GlobalAveragePool", "GlobalMaxPool", evaluated=False)
def global_pool(node: OnnxNode) -> OnnxValue:
    """GlobalAveragePool and GlobalMaxPool: over all spatial axes, which stay with size 1."""
    axes = list(range(2, node[0].rank))
    return (Graph.reduce_mean if node.op == "GlobalAveragePool" else Graph.reduce_max)(node.graph, node[0], axes)


@lowers("GlobalLpPool", evaluated=False)
def global_lp_pool(node: OnnxNode) -> OnnxValue:
    """GlobalLpPool: p-th root of the sum of p-th powers over all spatial axes."""
    g, value, p = node.graph, node[0], float(node.attribute("p", 2))
    sums = g.reduce_sum(g.power(g.absolute(value), p), list(range(2, value.rank)))
    return g.power(sums, 1.0 / p)
