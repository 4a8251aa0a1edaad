"""Results whose number the data determine: NonMaxSuppression, NonZero and Unique.

Where the model declares the number, the result has as many rows, and those beyond the data's are -1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.onnx.element_graph import BOOL, F32, I32, I64
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.loop_builder import Iteration, LoopBuilder
from tflmgen.frontend.onnx.lower_reduce import mirrored
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import indices_of, transpose
from tflmgen.frontend.onnx.node import OnnxNode, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.open_size import FAR, OpenSize, is_open
from tflmgen.ir import DType

UNUSED = -1
"""Contents of rows beyond those that the data give."""

MOST_COLUMNS = 64
"""Elements of slices up to which different ones are looked for: the slices are sorted by each of them."""

LARGEST_UNROLLED = 4
"""Pairs of batch and class up to which each has operators of its own, instead of a loop."""


def _declared(node: OnnxNode, axis: int) -> int | None:
    """The number of results along an axis of output 0; None where the model leaves it open."""
    shape = node.walker.declared.get(node.proto.output[0], ())
    return shape[axis] if len(shape) > axis else None


def _first_places(g: Graph, flags: OnnxValue, count: int) -> tuple[OnnxValue, OnnxValue]:
    """Places [count] of the first flags that are set, in order, and whether there is such a flag for each.

    TOPK_V2 of keys that fall with the place, and are positive where the flag is set.
    """
    size = flags.size
    kept = min(count, size)
    falling = np.arange(size, 0, -1, dtype=np.int32)
    keys = g.where(g.reshape(flags, [size]), constant(falling), constant(falling - np.int32(size + 1)))
    largest, places = g.greatest(keys, 0, kept)
    missing = [(0, count - kept)]
    return g.pad(places, missing), g.greater(g.pad(largest, missing, UNUSED), 0)


@lowers("NonZero")
def non_zero(node: OnnxNode) -> OnnxValue:
    """int64 [rank, count]: the indices of elements that are not zero."""
    g, value = node.graph, node[0]
    count = _declared(node, 1)
    if value.is_empty or not value.rank or count == 0:
        raise NodeError("has an operand or a result without elements")
    flags = g.cast(value, DType.BOOL) if value.dtype is DType.BOOL else g.not_equal(value, 0)
    if count is None or value.is_open:
        return transpose(g.nonzero_rows(flags), (1, 0))
    places, is_set = _first_places(g, flags, count)
    check_constant((value.rank, value.size), 8)
    table = np.stack(np.unravel_index(np.arange(value.size), value.shape)).astype(np.int64)
    return g.where(is_set, g.gather(constant(table), places, 1), UNUSED)


@dataclass(frozen=True, slots=True)
class _Suppression:
    """A NonMaxSuppression: corners [batch, boxes, 4], scores [batch, classes, boxes], and its numbers."""

    corners: OnnxValue
    scores: OnnxValue
    steps: int
    overlap: OnnxValue
    least: OnnxValue

    def of_lane(self, g: Graph, batch: OnnxValue, kind: OnnxValue) -> tuple[OnnxValue, OnnxValue]:
        """Boxes of one class of one batch in the order in which they are selected, int32, and their number, [1]."""
        boxes = g.gather(self.corners, batch, 0)
        scores = g.gather(g.gather(self.scores, batch, 0), kind, 0)
        numbers = [constant(np.int32(self.steps)), self.overlap, self.least]
        size = OpenSize() if is_open(self.scores.shape[2]) else self.steps
        return g.suppression(boxes, scores, numbers, size)


@lowers("NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> OnnxValue:
    """int64 [count, 3] of batch, class and box: for each batch and class, its best boxes from the best on."""
    g, scores, count = node.graph, node[1], _declared(node, 0)
    batch, classes, boxes = scores.shape
    limit = 0 if not node.has(2) else min(int(node.known(2, "the greatest number of boxes").reshape(-1)[0]), FAR)
    steps = limit if is_open(boxes) else min(limit, boxes)
    if steps < 1 or count == 0 or scores.is_empty:
        return constant(np.full((count or 0, 3), UNUSED, np.int64))
    thresholds = [
        g.reshape(node[place], ()) if node.has(place) else constant(default, F32)
        for place, default in ((3, 0.0), (4, -math.inf))
    ]
    corners = _corners(g, node[0]) if node.attribute("center_point_box", 0) else node[0]
    suppression = _Suppression(corners, scores, steps, *thresholds)
    lanes = np.stack(np.unravel_index(np.arange(batch * classes), (batch, classes)), axis=1)
    if is_open(boxes) or (count is None and len(lanes) <= LARGEST_UNROLLED):
        return g.concat([_rows_of_lane(g, suppression, lane) for lane in lanes], 0)
    best, selects = _selected(node, suppression, lanes.astype(np.int32))
    if count is None:
        places, is_set = g.set_places(selects), None
    else:
        places, is_set = _first_places(g, selects, count)
    table = constant(np.repeat(lanes, steps, axis=0).astype(np.int64))
    box = g.cast(g.gather(g.flat(best), places, 0), I64)
    rows = g.concat([g.gather(table, places, 0), g.unsqueeze(box, 1)], 1)
    return rows if is_set is None else g.where(g.unsqueeze(is_set, 1), rows, UNUSED)


def _rows_of_lane(g: Graph, suppression: _Suppression, lane: NDArray[np.int64]) -> OnnxValue:
    """int64 [rows, 3]: batch, class and box of what is selected for a class of a batch."""
    best, number = suppression.of_lane(g, *(constant(np.int32(place)) for place in lane))
    selected = g.first_rows(best, number)
    rows = g.cast(g.pad(g.unsqueeze(selected, 1), [(0, 0), (2, 0)]), I64)
    return g.add(rows, constant(np.array([*lane, 0], np.int64))) if lane.any() else rows


def _selected(node: OnnxNode, suppression: _Suppression, lanes: NDArray[np.int32]) -> tuple[OnnxValue, OnnxValue]:
    """Boxes [lanes, steps] that are selected, and which of these are there."""
    g, steps = node.graph, suppression.steps

    def step(body: Graph, number: OnnxValue, _: OnnxValue | None, __: Sequence[OnnxValue]) -> Iteration:
        lane = [body.gather(constant(lanes[:, k].copy()), number, 0) for k in (0, 1)]
        return Iteration(None, [], suppression.of_lane(body, *lane))

    loop = LoopBuilder(node.walker, g, g.node or "suppression", constant(len(lanes), I32), None, [], step)
    best, numbers = loop.build()[1]
    return best, g.greater(g.reshape(numbers, [len(lanes), 1]), indices_of((1, steps), 1, I32))


def _corners(g: Graph, boxes: OnnxValue) -> OnnxValue:
    """Two opposite corners of boxes that are given by their centre and size."""
    centre, size = (g.part(boxes, 2, place, 2) for place in (0, 2))
    half = g.div(size, 2.0)
    return g.concat([g.sub(centre, half), g.add(centre, half)], 2)


def _ascending(g: Graph, value: OnnxValue, axis: int) -> tuple[OnnxValue, OnnxValue]:
    """The order of a value's slices along an axis that makes them ascend, and whether each differs from the one before.

    Sorting keeps equal elements in order: the slices are sorted by their last element first.
    """
    size, columns = value.shape[axis], math.prod(n for k, n in enumerate(value.shape) if k != axis)
    if columns > MOST_COLUMNS:
        raise NodeError(f"looks for different slices of {columns} elements; the limit is {MOST_COLUMNS}")
    turned = transpose(value, (axis, *(k for k in range(value.rank) if k != axis)))
    rows = g.reshape(g.cast(turned, I32) if value.dtype is BOOL else turned, [size, columns])
    order = None
    for column in reversed(range(columns)):
        keys = g.reshape(g.part(rows, 1, column, 1), [size])
        _, places = g.greatest(mirrored(g, keys if order is None else g.gather(keys, order, 0)), 0, size)
        order = places if order is None else g.gather(order, places, 0)
    assert order is not None
    ordered = g.gather(rows, order, 0)
    later, earlier = (g.span(ordered, *bounds) for bounds in ((1, FAR), (0, -1)))
    differs = g.not_equal(later, earlier)
    return order, g.reshape(g.reduce_any(differs, [1]), later.shape[:1])


@lowers("Unique")
def unique(node: OnnxNode) -> list[OnnxValue]:
    """Each different element or slice along an axis once, in ascending order or in that of first occurrence; its first
    place, for each element its place among these, and how often each occurs."""
    g, value, axis = node.graph, node[0], node.attribute("axis")
    if value.is_empty:
        raise NodeError("has an operand without elements")
    axis = 0 if axis is None else normal_axis(axis, value.rank)
    value = g.flat(value) if node.attribute("axis") is None else value
    size = value.shape[axis]
    order, differs = _ascending(g, value, axis)
    begins = g.concat([constant(np.ones(1, np.bool_)), differs], 0)
    starts = g.set_places(begins)
    firsts = g.gather(g.cast(order, I64), starts, 0)
    ends = g.concat([g.span(starts, 1, FAR), g.cast(g.value(g.sizes_tensor([size])), I64)], 0)
    groups = g.sub(g.cumulative_sum(g.cast(begins, I32), 0, False, False), 1)
    counts = g.sub(ends, starts)
    if not node.attribute("sorted", 1):
        _, ranks = g.greatest(g.sub(constant(-1, I64), firsts), 0, firsts.shape[0])
        firsts, counts = g.gather(firsts, ranks, 0), g.gather(counts, ranks, 0)
        groups = g.gather(g.turned(ranks), groups, 0)
    inverse = g.scatter_nd(g.unsqueeze(order, 1), groups, (size,))
    return [g.gather(value, firsts, axis), firsts, g.cast(inverse, I64), counts]


@lowers("Range")
def number_range(node: OnnxNode) -> OnnxValue:
    """Range from 0 to a size that the data decide; others are constants."""
    g, (limit,) = node.graph, node.sizes(1, "its limit")
    start, step = (int(node.known(k, text).reshape(-1)[0]) for k, text in ((0, "its start"), (2, "its step")))
    if (start, step) != (0, 1):
        raise NodeError("counts to a size that the data decide, which begins at 0 with steps of 1")
    ones = g.broadcast_to(constant(np.int32(1)), [limit])
    return g.cast(g.cumulative_sum(ones, 0, True, False), node[1].dtype)
