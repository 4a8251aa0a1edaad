"""Operators that choose elements by index: gathering, scattering, one-hot codes, sequences turned around."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import BOOL, I32, I64
from tflmgen.frontend.onnx.laid_out import Graph, Shape, Value, check_constant, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node, normal_axis
from tflmgen.ir import DType


@lowers("Gather")
def gather(node: Node) -> Value:
    """Gather: slices along one axis; negative indices count from the end."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank)
    return m.gather(g, value, m.in_range(g, node[1], value.shape[axis]), axis)


def flat_places(g: Graph, indices: Value, data: Shape, axis: int) -> Value:
    """Places in the flattened data of elements whose index along `axis` is given, along the others their own."""
    check_constant(indices.shape, 8)
    strides = [math.prod(data[k + 1 :]) for k in range(len(data))]
    other = np.zeros(indices.shape, np.int64)
    for k, stride in enumerate(strides):
        if k != axis:
            sizes = [indices.shape[k] if j == k else 1 for j in range(len(data))]
            other = other + (np.arange(indices.shape[k]) * stride).reshape(sizes)
    inside = m.in_range(g, indices, data[axis])
    wide = c.cast(g, inside, I32)
    return c.add(g, c.mul(g, wide, strides[axis]), constant(other.astype(np.int32)))


@lowers("GatherElements")
def gather_elements(node: Node) -> Value:
    """GatherElements: each element from the place of its index along one axis, by a gather from the flat operand."""
    g, value = node.graph, node[0]
    places = flat_places(g, node[1], value.shape, node.axis(value.rank))
    return m.gather(g, m.reshape(g, value, [value.size]), places, 0)


def tuples_in_range(g: Graph, indices: Value, data: Shape) -> Value:
    """Index tuples of the last dimension, counted from the start, as int32."""
    limits = np.array(data[: indices.shape[-1]], np.int32)
    if indices.constant is not None:
        array = indices.constant
        return constant(np.where(array < 0, array + limits, array).astype(np.int32))
    wide = c.cast(g, indices, I32)
    return c.where(g, c.less(g, wide, 0), c.add(g, wide, constant(limits)), wide)


@lowers("GatherND")
def gather_nd(node: Node) -> Value:
    """GatherND: slices at tuples of indices; leading dimensions of a batch become constant parts of the tuples."""
    g, value, indices = node.graph, node[0], node[1]
    batch = int(node.attribute("batch_dims", 0))
    tuples = tuples_in_range(g, indices, value.shape[batch:])
    if batch:
        lead = value.shape[:batch]
        grids = np.meshgrid(*(np.arange(n) for n in lead), indexing="ij")
        own = np.stack(grids, -1).reshape(*lead, *[1] * (indices.rank - 1 - batch), batch)
        own = np.broadcast_to(own, (*indices.shape[:-1], batch)).astype(np.int32)
        tuples = m.concat(g, [constant(own.copy()), tuples], indices.rank - 1)
    return m.gather_nd(g, value, tuples)


@lowers("ScatterND")
def scatter_nd(node: Node) -> Value:
    """ScatterND: the operand with updates at tuples of indices, set, added, multiplied or compared with what is
    there."""
    g, value, updates = node.graph, node[0], node[2]
    tuples = tuples_in_range(g, node[1], value.shape)
    return _scattered(node, value, tuples, updates)


@lowers("ScatterElements", "Scatter")
def scatter_elements(node: Node) -> Value:
    """ScatterElements: the operand with each update at the place of its index along one axis."""
    g, value, updates = node.graph, node[0], node[2]
    places = flat_places(g, node[1], value.shape, node.axis(value.rank))
    tuples = m.reshape(g, places, [places.size, 1])
    scattered = _scattered(node, m.reshape(g, value, [value.size]), tuples, m.reshape(g, updates, [updates.size]))
    return m.reshape(g, scattered, value.shape)


def _scattered(node: Node, value: Value, tuples: Value, updates: Value) -> Value:
    """`value` with updates at tuples of indices, by ONNX's `reduction`.

    SCATTER_ND adds to zeros: sums come out at once, and so do assignments, whose places ONNX wants unique. Other
    reductions take one update after the other.
    """
    g, reduction = node.graph, node.attribute("reduction", "none")
    if not updates.size:
        return value
    if reduction == "none":
        return _assigned(g, value, tuples, updates)
    if reduction == "add" and value.dtype is not BOOL:
        return c.add(g, value, m.scatter_nd(g, tuples, updates, value.shape))
    name = {"mul": "MUL", "max": "MAXIMUM", "min": "MINIMUM"}.get(reduction)
    count = math.prod(tuples.shape[:-1])
    if name is None or count > 64:
        raise NodeError(f"scatters {count} updates by '{reduction}'; the limits are 64 updates, and mul, max and min")
    flat = m.reshape(g, tuples, [count, tuples.shape[-1]])
    rest = value.shape[tuples.shape[-1] :]
    each = m.reshape(g, updates, [count, *rest])
    for place in range(count):
        at, new = m.part(g, flat, 0, place, 1), m.part(g, each, 0, place, 1)
        value = _assigned(g, value, at, c.elementwise(g, name, m.gather_nd(g, value, at), new))
    return value


def _assigned(g: Graph, value: Value, tuples: Value, updates: Value) -> Value:
    """`value` with `updates` in place of what is at tuples of indices."""
    if updates.dtype in (BOOL, DType.UINT16):
        wide = _assigned(g, c.cast(g, value, I32), tuples, c.cast(g, updates, I32))
        return c.cast(g, wide, value.dtype)
    check_constant(updates.shape)
    ones = constant(np.ones(updates.shape, np.int32))
    if tuples.constant is not None:
        mask = np.zeros(value.shape, bool)
        mask[tuple(np.moveaxis(tuples.constant, -1, 0))] = True
        chosen = constant(mask)
    else:
        chosen = c.not_equal(g, m.scatter_nd(g, tuples, ones, value.shape), 0)
    return c.where(g, chosen, m.scatter_nd(g, tuples, updates, value.shape), value)


@lowers("OneHot")
def one_hot(node: Node) -> Value:
    """OneHot: `off` and `on` from the third operand, by comparison of indices with a new axis. Raises NodeError if the
    depth is not known at build time."""
    g, indices, values = node.graph, node[0], node[2]
    depth = int(node.known(1, "its depth").reshape(-1)[0])
    axis = normal_axis(int(node.attribute("axis", -1)), indices.rank + 1)
    whole = c.cast(g, indices, I64)
    positive = c.where(g, c.less(g, whole, 0), c.add(g, whole, depth), whole)
    sizes = (*indices.shape[:axis], depth, *indices.shape[axis:])
    chosen = c.equal(g, m.unsqueeze(g, positive, axis), m.indices_of(sizes, axis))
    off, on = (m.reshape(g, m.part(g, values, 0, k, 1), ()) for k in (0, 1))
    return c.where(g, chosen, on, off)


@lowers("ReverseSequence")
def reverse_sequence(node: Node) -> Value:
    """ReverseSequence: each sequence of the batch turned around up to its own length."""
    g, value = node.graph, node[0]
    time, batch = int(node.attribute("time_axis", 0)), int(node.attribute("batch_axis", 1))
    sizes = [n if k in (time, batch) else 1 for k, n in enumerate(value.shape)]
    lengths = m.reshape(g, c.cast(g, node[1], I32), [n if k == batch else 1 for k, n in enumerate(value.shape)])
    steps = m.indices_of(sizes, time, I32)
    back = c.sub(g, c.sub(g, lengths, 1), steps)
    places = c.where(g, c.less(g, steps, lengths), back, m.broadcast_to(g, steps, sizes))
    places = m.broadcast_to(g, places, value.shape)
    flat = flat_places(g, places, value.shape, time)
    return m.gather(g, m.reshape(g, value, [value.size]), flat, 0)


@lowers("Compress")
def compress(node: Node) -> Value:
    """Compress: slices where the condition holds. Raises NodeError if that is not known at build time."""
    g, value = node.graph, node[0]
    axis = node.attribute("axis")
    if axis is None:
        value, axis = m.reshape(g, value, [value.size]), 0
    places = np.nonzero(node.known(1, "its condition"))[0]
    return m.gather(g, value, constant(places.astype(np.int32)), normal_axis(axis, value.rank))
