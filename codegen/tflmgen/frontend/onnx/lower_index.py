"""Operators that choose elements by index: gathering, scattering, one-hot codes, sequences turned around."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.frontend.onnx.element_graph import BOOL, I32, I64
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, Shape, check_constant, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import indices_of
from tflmgen.frontend.onnx.node import OnnxNode, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.ir import DType


@lowers("Gather")
def lower_gather(node: OnnxNode) -> OnnxValue:
    """Gather: slices along one axis; negative indices count from the end."""
    g, value = node.graph, node[0]
    axis = node.axis(value.rank)
    return g.gather(value, g.in_range(node[1], value.shape[axis]), axis)


def flat_places(g: Graph, indices: OnnxValue, data: Shape, axis: int) -> OnnxValue:
    """Places in the flattened data of elements whose index along `axis` is given, along the others their own."""
    check_constant(indices.shape, 8)
    strides = [math.prod(data[k + 1 :]) for k in range(len(data))]
    other = np.zeros(indices.shape, np.int64)
    for k, stride in enumerate(strides):
        if k != axis:
            sizes = [indices.shape[k] if j == k else 1 for j in range(len(data))]
            other = other + (np.arange(indices.shape[k]) * stride).reshape(sizes)
    inside = g.in_range(indices, data[axis])
    wide = g.cast(inside, I32)
    return g.add(g.mul(wide, strides[axis]), constant(other.astype(np.int32)))


@lowers("GatherElements")
def gather_elements(node: OnnxNode) -> OnnxValue:
    """GatherElements: each element from the place of its index along one axis, by a gather from the flat operand."""
    g, value = node.graph, node[0]
    places = flat_places(g, node[1], value.shape, node.axis(value.rank))
    return g.gather(g.reshape(value, [value.size]), places, 0)


def tuples_in_range(g: Graph, indices: OnnxValue, data: Shape) -> OnnxValue:
    """Index tuples of the last dimension, counted from the start, as int32."""
    limits = g.cast(g.sizes_value(data[: indices.shape[-1]]), I32)
    if indices.constant is not None and limits.constant is not None:
        array = indices.constant
        return constant(np.where(array < 0, array + limits.constant, array).astype(np.int32))
    wide = g.cast(indices, I32)
    return g.where(g.less(wide, 0), g.add(wide, limits), wide)


@lowers("GatherND")
def lower_gather_nd(node: OnnxNode) -> OnnxValue:
    """GatherND: slices at tuples of indices; leading dimensions of a batch become constant parts of the tuples."""
    g, value, indices = node.graph, node[0], node[1]
    batch = int(node.attribute("batch_dims", 0))
    tuples = tuples_in_range(g, indices, value.shape[batch:])
    if batch:
        lead = value.shape[:batch]
        grids = np.meshgrid(*(np.arange(n) for n in lead), indexing="ij")
        own = np.stack(grids, -1).reshape(*lead, *[1] * (indices.rank - 1 - batch), batch)
        own = np.broadcast_to(own, (*indices.shape[:-1], batch)).astype(np.int32)
        tuples = g.concat([constant(own.copy()), tuples], indices.rank - 1)
    return g.gather_nd(value, tuples)


@lowers("ScatterND")
def lower_scatter_nd(node: OnnxNode) -> OnnxValue:
    """ScatterND: the operand with updates at tuples of indices, set, added, multiplied or compared with what is
    there."""
    g, value, updates = node.graph, node[0], node[2]
    flags = g.found_in(node[1])
    if flags is not None and flags.shape == value.shape and node.attribute("reduction", "none") == "none":
        return _at_flags(g, value, node[1], updates, flags)
    tuples = tuples_in_range(g, node[1], value.shape)
    return _scattered(node, value, tuples, updates)


def _at_flags(g: Graph, value: OnnxValue, tuples: OnnxValue, updates: OnnxValue, flags: OnnxValue) -> OnnxValue:
    """`value` with updates where flags are set: with one number that is repeated, or one for each in order."""
    chosen = flags if flags.dtype is BOOL else g.not_equal(flags, 0)
    repeated = g.repeated_in(updates)
    if repeated is not None and not repeated.is_open and repeated.size == 1:
        return g.where(chosen, g.reshape(repeated, ()), value)
    return _placed(g, value, g.cast(tuples, I32), updates, chosen)


@lowers("ScatterElements", "Scatter")
def scatter_elements(node: OnnxNode) -> OnnxValue:
    """ScatterElements: the operand with each update at the place of its index along one axis."""
    g, value, updates = node.graph, node[0], node[2]
    places = flat_places(g, node[1], value.shape, node.axis(value.rank))
    tuples = g.reshape(places, [places.size, 1])
    scattered = _scattered(node, g.reshape(value, [value.size]), tuples, g.reshape(updates, [updates.size]))
    return g.reshape(scattered, value.shape)


def _scattered(node: OnnxNode, value: OnnxValue, tuples: OnnxValue, updates: OnnxValue) -> OnnxValue:
    """`value` with updates at tuples of indices, by ONNX's `reduction`.

    SCATTER_ND adds to zeros: sums come out at once, and so do assignments, whose places ONNX wants unique. Other
    reductions take one update after the other.
    """
    g, reduction = node.graph, node.attribute("reduction", "none")
    if updates.is_empty:
        return value
    if reduction == "none":
        return _assigned(g, value, tuples, updates)
    if reduction == "add" and value.dtype is not BOOL:
        return g.add(value, g.scatter_nd(tuples, updates, value.shape))
    combine = {"mul": Graph.mul, "max": Graph.maximum, "min": Graph.minimum}.get(reduction)
    count = math.prod(tuples.shape[:-1])
    if combine is None or count > 64:
        raise NodeError(f"scatters {count} updates by '{reduction}'; the limits are 64 updates, and mul, max and min")
    flat = g.reshape(tuples, [count, tuples.shape[-1]])
    rest = value.shape[tuples.shape[-1] :]
    each = g.reshape(updates, [count, *rest])
    for place in range(count):
        at, new = g.part(flat, 0, place, 1), g.part(each, 0, place, 1)
        value = _assigned(g, value, at, combine(g, g.gather_nd(value, at), new))
    return value


def _assigned(g: Graph, value: OnnxValue, tuples: OnnxValue, updates: OnnxValue) -> OnnxValue:
    """`value` with `updates` in place of what is at tuples of indices."""
    ones = g.broadcast_to(constant(np.int32(1)), updates.shape)
    if tuples.constant is not None:
        mask = np.zeros(value.shape, bool)
        mask[tuple(np.moveaxis(tuples.constant, -1, 0))] = True
        chosen = constant(mask)
    else:
        chosen = g.not_equal(g.scatter_nd(tuples, ones, value.shape), 0)
    return _placed(g, value, tuples, updates, chosen)


def _placed(g: Graph, value: OnnxValue, tuples: OnnxValue, updates: OnnxValue, chosen: OnnxValue) -> OnnxValue:
    """`value` with `updates` at tuples of indices, which are those of the chosen elements."""
    if updates.dtype in (BOOL, DType.UINT16):
        return g.cast(_placed(g, g.cast(value, I32), tuples, g.cast(updates, I32), chosen), value.dtype)
    return g.where(chosen, g.scatter_nd(tuples, updates, value.shape), value)


@lowers("OneHot")
def one_hot(node: OnnxNode) -> OnnxValue:
    """OneHot: `off` and `on` from the third operand, by comparison of indices with a new axis. Raises NodeError if the
    depth is not known at build time."""
    g, indices, values = node.graph, node[0], node[2]
    depth = int(node.known(1, "its depth").reshape(-1)[0])
    axis = normal_axis(int(node.attribute("axis", -1)), indices.rank + 1)
    whole = g.cast(indices, I64)
    positive = g.where(g.less(whole, 0), g.add(whole, depth), whole)
    sizes = (*indices.shape[:axis], depth, *indices.shape[axis:])
    chosen = g.equal(g.unsqueeze(positive, axis), indices_of(sizes, axis))
    off, on = (g.reshape(g.part(values, 0, k, 1), ()) for k in (0, 1))
    return g.where(chosen, on, off)


@lowers("ReverseSequence")
def reverse_sequence(node: OnnxNode) -> OnnxValue:
    """ReverseSequence: each sequence of the batch turned around up to its own length."""
    g, value = node.graph, node[0]
    time, batch = int(node.attribute("time_axis", 0)), int(node.attribute("batch_axis", 1))
    sizes = [n if k in (time, batch) else 1 for k, n in enumerate(value.shape)]
    lengths = g.reshape(g.cast(node[1], I32), [n if k == batch else 1 for k, n in enumerate(value.shape)])
    steps = indices_of(sizes, time, I32)
    back = g.sub(g.sub(lengths, 1), steps)
    places = g.where(g.less(steps, lengths), back, g.broadcast_to(steps, sizes))
    places = g.broadcast_to(places, value.shape)
    flat = flat_places(g, places, value.shape, time)
    return g.gather(g.reshape(value, [value.size]), flat, 0)


@lowers("Compress")
def compress(node: OnnxNode) -> OnnxValue:
    """Compress: slices where the condition holds, which may be shorter than the axis."""
    g, value, condition = node.graph, node[0], node[1]
    axis = node.attribute("axis")
    if axis is None:
        value, axis = g.flat(value), 0
    if condition.constant is not None:
        places = constant(np.nonzero(condition.constant)[0].astype(np.int32))
    else:
        places = g.set_places(condition)
    return g.gather(value, places, normal_axis(axis, value.rank))
