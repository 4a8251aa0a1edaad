"""Results whose number the data determine: NonMaxSuppression and NonZero, where the model declares that number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx import compose_moves as m
from tflmgen.frontend.onnx.compose import F32, I32, I64
from tflmgen.frontend.onnx.laid_out import Graph, Value, check_constant, constant
from tflmgen.frontend.onnx.located import NodeError
from tflmgen.frontend.onnx.loop_builder import Iteration, Loop
from tflmgen.frontend.onnx.lower_reduce import index_of_extreme, reduce
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import Node
from tflmgen.ir import DType

UNUSED = -1
"""What stands in rows beyond those that the data give."""

_LEAST = float(np.finfo(np.float32).min)


def _declared(node: Node, axis: int) -> int:
    """The number of results along an axis of output 0. Raises NodeError where the model leaves it open."""
    shape = node.walker.declared.get(node.proto.output[0], ())
    if len(shape) <= axis:
        raise NodeError(
            "gives as many results as the data have, and the model does not declare their number",
            "Declare the shape of its output in the model: rows that are not needed are -1",
        )
    return shape[axis]


def _first_places(g: Graph, flags: Value, count: int) -> tuple[Value, Value]:
    """Places [count] of the first flags that are set, in order, and whether there is such a flag for each.

    TOPK_V2 of keys that fall with the place, and are positive where the flag is set.
    """
    size = flags.size
    kept = min(count, size)
    falling = np.arange(size, 0, -1, dtype=np.int32)
    keys = c.where(g, m.reshape(g, flags, [size]), constant(falling), constant(falling - np.int32(size + 1)))
    operands = [g.laid(keys), g.constant(np.array(kept, np.int32))]
    outputs = [(I32, (kept,), None), (I32, (kept,), None)]
    largest, places = (g.value(t) for t in g.operator("TOPK_V2", operands, outputs, {}))
    missing = [(0, count - kept)]
    return m.pad(g, places, missing), c.greater(g, m.pad(g, largest, missing, UNUSED), 0)


@lowers("NonZero")
def non_zero(node: Node) -> Value:
    """int64 [rank, count]: the indices of elements that are not zero."""
    g, value = node.graph, node[0]
    count = _declared(node, 1)
    if not value.size or not value.rank or not count:
        raise NodeError("has an operand or a result without elements")
    flags = c.cast(g, value, DType.BOOL) if value.dtype is DType.BOOL else c.not_equal(g, value, 0)
    places, is_set = _first_places(g, flags, count)
    check_constant((value.rank, value.size), 8)
    table = np.stack(np.unravel_index(np.arange(value.size), value.shape)).astype(np.int64)
    return c.where(g, is_set, m.gather(g, constant(table), places, 1), UNUSED)


@lowers("NonMaxSuppression")
def non_max_suppression(node: Node) -> Value:
    """int64 [count, 3] of batch, class and box, by ONNX's definition: all classes take their best box in turn."""
    g, scores = node.graph, node[1]
    batch, classes, boxes = scores.shape
    limit = 0 if not node.has(2) else int(node.known(2, "the greatest number of boxes").reshape(-1)[0])
    steps, count = min(limit, boxes), _declared(node, 0)
    if not steps or not count:
        return constant(np.full((count, 3), UNUSED, np.int64))
    corners = _corners(g, node[0], bool(node.attribute("center_point_box", 0)))
    overlap = m.reshape(g, node[3], ()) if node.has(3) else constant(0.0, F32)
    alive = constant(np.ones(scores.shape, np.bool_))
    if node.has(4):
        alive = c.greater(g, scores, m.reshape(g, node[4], ()))

    def step(body: Graph, _: Value, __: Value | None, variables: Sequence[Value]) -> Iteration:
        left = variables[0]
        best = c.cast(body, index_of_extreme(body, "ARG_MAX", c.where(body, left, scores, _LEAST), 2), I32)
        chosen = c.equal(body, m.unsqueeze(body, best, 2), m.indices_of((1, 1, boxes), 2, I32))
        suppressed = c.greater(body, _overlaps(body, corners, chosen), overlap)
        kept = c.logical_not(body, c.logical_or(body, suppressed, chosen))
        is_any = reduce(body, "REDUCE_ANY", left, [2], keep=False)
        return Iteration(None, [c.logical_and(body, left, kept)], [best, is_any])

    loop = Loop(node.walker, g, g.node or "suppression", constant(steps, I32), None, [alive], step)
    best, selects = (c.cast(g, m.transpose(rows, (1, 2, 0)), rows.dtype) for rows in loop.build()[1])
    places, is_set = _first_places(g, selects, count)
    lanes = np.stack(np.unravel_index(np.arange(batch * classes), (batch, classes)), axis=1).astype(np.int64)
    table = constant(np.repeat(lanes, steps, axis=0))
    box = c.cast(g, m.gather(g, m.reshape(g, best, [best.size]), places, 0), I64)
    rows = m.concat(g, [m.gather(g, table, places, 0), m.unsqueeze(g, box, 1)], 1)
    return c.where(g, m.unsqueeze(g, is_set, 1), rows, UNUSED)


def _corners(g: Graph, boxes: Value, is_centre: bool) -> list[Value]:
    """Least and greatest coordinate of the first axis, then of the second: each [batch, 1, boxes]."""
    parts = [m.unsqueeze(g, m.squeeze(g, m.part(g, boxes, 2, k, 1), [2]), 1) for k in range(4)]
    if is_centre:
        halves = [c.div(g, size, 2.0) for size in parts[2:]]
        ends = [(c.sub(g, at, half), c.add(g, at, half)) for at, half in zip(parts[:2], halves, strict=True)]
        return [end for pair in ends for end in pair]
    pairs = [(parts[0], parts[2]), (parts[1], parts[3])]
    return [extreme(g, *pair) for pair in pairs for extreme in (c.minimum, c.maximum)]


def _overlaps(g: Graph, corners: Sequence[Value], chosen: Value) -> Value:
    """Intersection over union of each box with the chosen one of its class: [batch, classes, boxes]."""
    own = [reduce(g, "SUM", c.where(g, chosen, corner, 0.0), [2]) for corner in corners]
    sides, areas = [], []
    for place in (0, 2):
        low = c.maximum(g, corners[place], own[place])
        high = c.minimum(g, corners[place + 1], own[place + 1])
        sides.append(c.relu(g, c.sub(g, high, low)))
    for box in (corners, own):
        areas.append(c.mul(g, c.sub(g, box[1], box[0]), c.sub(g, box[3], box[2])))
    shared = c.mul(g, *sides)
    union = c.sub(g, c.add(g, *areas), shared)
    overlaps = c.greater(g, shared, 0.0)
    return c.where(g, overlaps, c.div(g, shared, c.where(g, overlaps, union, 1.0)), 0.0)
