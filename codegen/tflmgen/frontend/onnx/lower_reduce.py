"""Reductions along axes: sums, extremes, their places, softmax, cumulative sums and the greatest elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx.compose import BOOL, F32, I32, I64
from tflmgen.frontend.onnx.compose_moves import concat, indices_of, part, reshape, reverse
from tflmgen.frontend.onnx.laid_out import Graph, Value, constant, stored_shape
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node
from tflmgen.ir import DType

_NEUTRAL = {"SUM": 0.0, "MEAN": math.nan, "REDUCE_PROD": 1.0}
"""Results of reductions of nothing; the extremes' are the type's own."""


def reduce(g: Graph, name: str, value: Value, axes: Sequence[int], keep: bool = True) -> Value:
    """A reduction over logical axes, in the order in which the operand lies."""
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(value.shape))
    kept = shape if keep else tuple(size for axis, size in enumerate(value.shape) if axis not in axes)
    if not axes:
        return value
    if value.size == 0:
        return constant(np.full(kept, _of_nothing(name, value.dtype), value.dtype.numpy))
    inner = c.computed_in(name, value.dtype)
    tensor_value = c.cast(g, value, inner)
    tensor = g.laid(tensor_value, tensor_value.order)
    places = g.constant(np.array(sorted(value.order.index(axis) for axis in axes), np.int32))
    output = (inner, stored_shape(shape, value.order), None)
    reduced = g.value(g.operator(name, [tensor, places], [output], {"keep_dims": True})[0], shape, value.order)
    if name in ("REDUCE_MAX", "REDUCE_MIN") and c.may_be_infinite(g, value):
        reduced = _infinite_extreme(g, name, value, axes, reduced)
    reduced = c.cast(g, reduced, value.dtype)
    return reduced if keep else reshape(g, reduced, kept)


def _infinite_extreme(g: Graph, name: str, value: Value, axes: Sequence[int], reduced: Value) -> Value:
    """The extreme of elements that may all be infinite: TFLite's kernels begin with the last float."""
    last = -math.inf if name == "REDUCE_MAX" else math.inf
    every = reduce(g, "REDUCE_ALL", c.equal(g, value, last), axes)
    return c.where(g, every, last, reduced)


def _of_nothing(name: str, dtype: DType) -> float:
    if name in _NEUTRAL:
        return _NEUTRAL[name]
    least = name == "REDUCE_MAX"
    if dtype is F32:
        return -math.inf if least else math.inf
    return dtype.limits[0] if least else dtype.limits[1]


def _reduced(g: Graph, op: str, x: Value, axes: Sequence[int]) -> Value:
    if op in ("ReduceMax", "ReduceMin"):
        name = "REDUCE_MAX" if op == "ReduceMax" else "REDUCE_MIN"
        return reduce(g, name, x, axes)
    if op == "ReduceMean":
        return reduce(g, "MEAN", x, axes)
    if op == "ReduceProd":
        return reduce(g, "REDUCE_PROD", x, axes)
    if op == "ReduceL1":
        return reduce(g, "SUM", c.absolute(g, x), axes)
    if op in ("ReduceL2", "ReduceSumSquare"):
        squares = reduce(g, "SUM", c.mul(g, x, x), axes)
        return squares if op == "ReduceSumSquare" else _root(g, squares)
    if op == "ReduceLogSum":
        return c.log(g, reduce(g, "SUM", x, axes))
    if op == "ReduceLogSumExp":
        return _log_sum_exp(g, x, axes)
    return reduce(g, "SUM", x, axes)


def _root(g: Graph, value: Value) -> Value:
    return c.cast(g, c.sqrt(g, c.cast(g, value, F32)), value.dtype)


def _log_sum_exp(g: Graph, x: Value, axes: Sequence[int]) -> Value:
    if not x.size:
        return c.log(g, reduce(g, "SUM", c.exp(g, x), axes))
    greatest = reduce(g, "REDUCE_MAX", x, axes)
    finite = c.minimum(g, c.maximum(g, greatest, -3e38), 3e38)
    return c.add(g, c.log(g, reduce(g, "SUM", c.exp(g, c.sub(g, x, finite)), axes)), finite)


@lowers(
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
    "ReduceLogSum", "ReduceLogSumExp",
)  # fmt: skip
def reduction(node: Node) -> Value:
    """Reductions along the node's axes, or along all; with `noop_with_empty_axes`, of each element alone."""
    g, value = node.graph, node[0]
    axes = node.axes(value.rank)
    if not axes:
        if node.attribute("noop_with_empty_axes", 0):
            return _reduced(g, node.op, value, [])
        axes = list(range(value.rank))
    reduced = _reduced(g, node.op, value, sorted(set(axes)))
    if node.attribute("keepdims", 1):
        return reduced
    return reshape(g, reduced, [size for axis, size in enumerate(value.shape) if axis not in axes])


def index_of_extreme(g: Graph, name: str, value: Value, axis: int, last: bool = False) -> Value:
    """int64 index of the first (or last) extreme along one axis, which disappears."""
    inner = c.computed_in(name, value.dtype)
    value = c.cast(g, value, inner)
    if last:
        value = reverse(g, value, [axis])
    tensor = g.laid(value, value.order)
    place = g.constant(np.array([value.order.index(axis)], np.int32))
    order = tuple(k - (k > axis) for k in value.order if k != axis)
    shape = tuple(size for k, size in enumerate(value.shape) if k != axis)
    options = {"output_type": 4}
    places = g.operator(name, [tensor, place], [(I64, stored_shape(shape, order), None)], options)[0]
    index = g.value(places, shape, order)
    return c.sub(g, constant(value.shape[axis] - 1, I64), index) if last else index


@lowers("ArgMax", "ArgMin")
def argument(node: Node) -> Value:
    """ArgMax and ArgMin along one axis: the first or the last place of the extreme."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank)
    name = "ARG_MAX" if node.op == "ArgMax" else "ARG_MIN"
    index = index_of_extreme(g, name, value, axis, bool(node.attribute("select_last_index", 0)))
    if not node.attribute("keepdims", 1):
        return index
    return reshape(g, index, [1 if k == axis else size for k, size in enumerate(value.shape)])


def last_axis(g: Graph, value: Value, axis: int) -> tuple[int, tuple[int, ...]]:
    """The tensor of a value with one axis innermost, and its order."""
    order = (*(k for k in value.order if k != axis), axis)
    if value.order[-1:] == (axis,):
        order = value.order
    return g.laid(value, order), order


def along_last(g: Graph, name: str, value: Value, axis: int, options: dict[str, float] | None = None) -> Value:
    """An operator along the innermost axis that keeps the shape."""
    tensor, order = last_axis(g, value, axis)
    result = g.operator(name, [tensor], [(value.dtype, g.tensors[tensor].shape, None)], options or {})[0]
    return g.value(result, value.shape, order)


@lowers("Softmax", "LogSoftmax", "Hardmax")
def softmax(node: Node) -> Value:
    """Softmax, LogSoftmax and Hardmax along one axis; before version 13, of all axes from there on as one row."""
    g, value = node.graph, node[0]
    rows = node.version < 13
    axis = node.axis(value.rank, 1 if rows else -1)
    shape = value.shape
    if rows:
        value, axis = reshape(g, value, [math.prod(shape[:axis]), math.prod(shape[axis:])]), 1
    if node.op == "Softmax":
        result = along_last(g, "SOFTMAX", value, axis, {"beta": 1.0})
    elif node.op == "LogSoftmax":
        result = along_last(g, "LOG_SOFTMAX", value, axis)
    else:
        index = index_of_extreme(g, "ARG_MAX", value, axis)
        kept = reshape(g, index, [1 if k == axis else size for k, size in enumerate(value.shape)])
        result = c.cast(g, c.equal(g, kept, indices_of(value.shape, axis)), value.dtype)
    return reshape(g, result, shape)


@lowers("CumSum")
def cumulative_sum(node: Node) -> Value:
    """CumSum along one axis, also from the end or without the element itself."""
    g, value = node.graph, node[0]
    axis = int(node.known(1, "its axis").reshape(-1)[0]) % max(value.rank, 1)
    inner = c.computed_in("CUMSUM", value.dtype)
    wide = c.cast(g, value, inner)
    tensor = g.laid(wide, wide.order)
    place = g.constant(np.array([wide.order.index(axis)], np.int32))
    options = {
        "exclusive": bool(node.attribute("exclusive", 0)),
        "reverse": bool(node.attribute("reverse", 0)),
    }
    sums = g.operator("CUMSUM", [tensor, place], [(inner, g.tensors[tensor].shape, None)], options)[0]
    return c.cast(g, g.value(sums, value.shape, wide.order), value.dtype)


@lowers("CumProd")
def cumulative_product(node: Node) -> Value:
    """Products of prefixes, element by element: there is no kernel for all at once."""
    g, value = node.graph, node[0]
    axis = int(node.known(1, "its axis").reshape(-1)[0]) % max(value.rank, 1)
    count = value.shape[axis]
    exclusive, backward = bool(node.attribute("exclusive", 0)), bool(node.attribute("reverse", 0))
    places = range(count - 1, -1, -1) if backward else range(count)
    parts = [part(g, value, axis, place, 1) for place in places]
    if exclusive:
        parts = [constant(np.ones(parts[0].shape), value.dtype), *parts[:-1]]
    products = parts[:1]
    for factor in parts[1:]:
        products.append(c.mul(g, products[-1], factor))
    return concat(g, products[::-1] if backward else products, axis)


@lowers("TopK")
def top_k(node: Node) -> list[Value]:
    """TopK along one axis: values and places, in order. Raises NodeError for Booleans or if k is not known at build
    time."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank, -1)
    count = int(node.attribute("k") if node.version < 10 else node.known(1, "its k").reshape(-1)[0])
    smallest = not node.attribute("largest", 1)
    if smallest:
        value = _mirrored(g, value)
    inner = c.computed_in("TOPK_V2", value.dtype)
    if value.dtype is BOOL:
        raise NodeError("sorts Booleans, which is unsupported")
    tensor, order = last_axis(g, c.cast(g, value, inner), axis)
    shape = tuple(count if k == axis else size for k, size in enumerate(value.shape))
    stored = stored_shape(shape, order)
    outputs = [(inner, stored, None), (I32, stored, None)]
    tensors = g.operator("TOPK_V2", [tensor, g.constant(np.array(count, np.int32))], outputs, {})
    values, indices = (g.value(tensor, shape, order) for tensor in tensors)
    values = c.cast(g, values, value.dtype)
    return [_mirrored(g, values) if smallest else values, c.cast(g, indices, I64)]


def _mirrored(g: Graph, value: Value) -> Value:
    """Values in the opposite order: -x, or of integers -1 - x, which can't overflow."""
    if value.dtype is F32:
        return c.neg(g, value)
    if value.dtype in (DType.UINT8, DType.UINT16):
        return c.sub(g, constant(value.dtype.limits[1], value.dtype), value)
    return c.sub(g, constant(-1, value.dtype), value)


@lowers("LpNormalization")
def lp_normalization(node: Node) -> Value:
    """LpNormalization: elements over the norm along one axis; where that is 0, as they are."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank, -1)
    if int(node.attribute("p", 2)) == 1:
        norm = reduce(g, "SUM", c.absolute(g, value), [axis])
    else:
        norm = c.sqrt(g, reduce(g, "SUM", c.mul(g, value, value), [axis]))
    zero = c.equal(g, norm, 0.0)
    return c.div(g, value, c.where(g, zero, 1.0, norm))


@lowers("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> Value:
    """GlobalAveragePool and GlobalMaxPool: over all spatial axes, which stay with size 1."""
    axes = list(range(2, node[0].rank))
    return reduce(node.graph, "MEAN" if node.op == "GlobalAveragePool" else "REDUCE_MAX", node[0], axes)


@lowers("GlobalLpPool")
def global_lp_pool(node: Node) -> Value:
    """GlobalLpPool: p-th root of the sum of p-th powers over all spatial axes."""
    g, value, p = node.graph, node[0], float(node.attribute("p", 2))
    sums = reduce(g, "SUM", c.power(g, c.absolute(g, value), p), list(range(2, value.rank)))
    return c.power(g, sums, 1.0 / p)
