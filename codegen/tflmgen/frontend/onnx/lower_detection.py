"""Results whose number the data determine: NonMaxSuppression and NonZero, where the model declares that number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32, I32, I64
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.loop_builder import Iteration, LoopBuilder
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import indices_of, transpose
from tflmgen.frontend.onnx.node import OnnxNode
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.ir import DType

UNUSED = -1
"""Contents of rows beyond those that the data give."""

_LEAST = float(np.finfo(np.float32).min)


def _declared(node: OnnxNode, axis: int) -> int:
    """The number of results along an axis of output 0. Raises NodeError where the model leaves it open."""
    shape = node.walker.declared.get(node.proto.output[0], ())
    if len(shape) <= axis:
        raise NodeError(
            "gives as many results as the data have, and the model does not declare their number",
            "Declare the shape of its output in the model: rows that are not needed are -1",
        )
    return shape[axis]


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
    if not value.size or not value.rank or not count:
        raise NodeError("has an operand or a result without elements")
    flags = g.cast(value, DType.BOOL) if value.dtype is DType.BOOL else g.not_equal(value, 0)
    places, is_set = _first_places(g, flags, count)
    check_constant((value.rank, value.size), 8)
    table = np.stack(np.unravel_index(np.arange(value.size), value.shape)).astype(np.int64)
    return g.where(is_set, g.gather(constant(table), places, 1), UNUSED)


@lowers("NonMaxSuppression")
def non_max_suppression(node: OnnxNode) -> OnnxValue:
    """int64 [count, 3] of batch, class and box, by ONNX's definition: all classes take their best box in turn."""
    g, scores = node.graph, node[1]
    batch, classes, boxes = scores.shape
    limit = 0 if not node.has(2) else int(node.known(2, "the greatest number of boxes").reshape(-1)[0])
    steps, count = min(limit, boxes), _declared(node, 0)
    if not steps or not count:
        return constant(np.full((count, 3), UNUSED, np.int64))
    corners = _corners(g, node[0], bool(node.attribute("center_point_box", 0)))
    overlap = g.reshape(node[3], ()) if node.has(3) else constant(0.0, F32)
    alive = constant(np.ones(scores.shape, np.bool_))
    if node.has(4):
        alive = g.greater(scores, g.reshape(node[4], ()))

    def step(body: Graph, _: OnnxValue, __: OnnxValue | None, variables: Sequence[OnnxValue]) -> Iteration:
        left = variables[0]
        best = body.cast(body.place_of_extreme(body.where(left, scores, _LEAST), 2), I32)
        chosen = body.equal(body.unsqueeze(best, 2), indices_of((1, 1, boxes), 2, I32))
        suppressed = body.greater(_overlaps(body, corners, chosen), overlap)
        kept = body.logical_not(body.logical_or(suppressed, chosen))
        is_any = body.reduce_any(left, [2], keep=False)
        return Iteration(None, [body.logical_and(left, kept)], [best, is_any])

    loop = LoopBuilder(node.walker, g, g.node or "suppression", constant(steps, I32), None, [alive], step)
    best, selects = (g.cast(transpose(rows, (1, 2, 0)), rows.dtype) for rows in loop.build()[1])
    places, is_set = _first_places(g, selects, count)
    lanes = np.stack(np.unravel_index(np.arange(batch * classes), (batch, classes)), axis=1).astype(np.int64)
    table = constant(np.repeat(lanes, steps, axis=0))
    box = g.cast(g.gather(g.reshape(best, [best.size]), places, 0), I64)
    rows = g.concat([g.gather(table, places, 0), g.unsqueeze(box, 1)], 1)
    return g.where(g.unsqueeze(is_set, 1), rows, UNUSED)


def _corners(g: Graph, boxes: OnnxValue, is_centre: bool) -> list[OnnxValue]:
    """Least and greatest coordinate of the first axis, then of the second: each [batch, 1, boxes]."""
    parts = [g.unsqueeze(g.squeeze(g.part(boxes, 2, k, 1), [2]), 1) for k in range(4)]
    if is_centre:
        halves = [g.div(size, 2.0) for size in parts[2:]]
        ends = [(g.sub(at, half), g.add(at, half)) for at, half in zip(parts[:2], halves, strict=True)]
        return [end for pair in ends for end in pair]
    pairs = [(parts[0], parts[2]), (parts[1], parts[3])]
    return [extreme(g, *pair) for pair in pairs for extreme in (Graph.minimum, Graph.maximum)]


def _overlaps(g: Graph, corners: Sequence[OnnxValue], chosen: OnnxValue) -> OnnxValue:
    """Intersection over union of each box with the chosen one of its class: [batch, classes, boxes]."""
    own = [g.reduce_sum(g.where(chosen, corner, 0.0), [2]) for corner in corners]
    sides, areas = [], []
    for place in (0, 2):
        low = g.maximum(corners[place], own[place])
        high = g.minimum(corners[place + 1], own[place + 1])
        sides.append(g.relu(g.sub(high, low)))
    for box in (corners, own):
        areas.append(g.mul(g.sub(box[1], box[0]), g.sub(box[3], box[2])))
    shared = g.mul(*sides)
    union = g.sub(g.add(*areas), shared)
    overlaps = g.greater(shared, 0.0)
    return g.where(overlaps, g.div(shared, g.where(overlaps, union, 1.0)), 0.0)
