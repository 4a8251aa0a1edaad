"""STABLEHLO operators that are TFLite's under another name: ADD, MULTIPLY, MAXIMUM, MINIMUM and PAD.

StableHLO's PAD (its specification, "pad") lays numbers around a tensor, between its elements, and cuts off where an
edge is negative:

    PAD  ->  for each axis with interior padding RESHAPE, PADV2, RESHAPE; then STRIDED_SLICE of the edges and PADV2
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite
from tflmgen.frontend.tflite.model import FileOperator, SubGraph

SAME = {
    "STABLEHLO_ADD": "ADD",
    "STABLEHLO_MULTIPLY": "MUL",
    "STABLEHLO_MAXIMUM": "MAXIMUM",
    "STABLEHLO_MINIMUM": "MINIMUM",
}
"""StableHLO's operator -> TFLite's, which broadcasts beside it."""

PAD = "STABLEHLO_PAD"
MOST_ELEMENTS = 1 << 28
"""Largest number of elements of a padded tensor before its edges are cut off: no board has room for more."""

_EDGES = ("edge_padding_low", "edge_padding_high", "interior_padding")


def without_stablehlo(graph: SubGraph) -> SubGraph:
    """The subgraph with TFLite's operators in place of StableHLO's; itself if it has none.

    A PAD whose options do not fit its operand stays as it is, and is refused by name.
    """
    rewrite = SubGraphRewrite(graph)

    def written(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
        if op.name in SAME and len(op.inputs) == 2 and len(op.outputs) == 1:
            rewrite.add(SAME[op.name], op.inputs, op.outputs)
            return True
        return op.name == PAD and _pad(rewrite, op)

    rewrite.apply(written)
    return rewrite.result() if rewrite.is_changed else graph


def _pad(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
    """PADs in the order of the operator's meaning; False where operands and options contradict each other."""
    if len(op.inputs) != 2 or min(op.inputs) < 0 or len(op.outputs) != 1 or op.options is None:
        return False
    source, shape = op.inputs[0], rewrite.tensors[op.inputs[0]].shape
    low, high, interior = ([int(n) for n in op.options.get(name) or ()] for name in _EDGES)
    if not len(low) == len(high) == len(interior) == len(shape) or min(interior, default=0) < 0:
        return False
    spread = [dim + max(dim - 1, 0) * between for dim, between in zip(shape, interior, strict=True)]
    result = tuple(dim + a + b for dim, a, b in zip(spread, low, high, strict=True))
    if result != rewrite.tensors[op.outputs[0]].shape or min(shape, default=1) < 1 or min(result, default=1) < 1:
        return False
    if math.prod(dim * (1 + between) for dim, between in zip(shape, interior, strict=True)) > MOST_ELEMENTS:
        return False
    for axis, between in enumerate(interior):
        source = _between(rewrite, source, op.inputs[1], axis, between)
    begin = [max(-edge, 0) for edge in low]
    size = [dim - b - max(-edge, 0) for dim, b, edge in zip(spread, begin, high, strict=True)]
    if min(size, default=1) < 1:
        return False
    if size != spread:
        source = _cut(rewrite, source, begin, size)
    edges = [[max(a, 0), max(b, 0)] for a, b in zip(low, high, strict=True)]
    constant = rewrite.constant("edges", np.array(edges).reshape(-1, 2))
    rewrite.add("PADV2", [source, constant, op.inputs[1]], op.outputs)
    return True


def _between(rewrite: SubGraphRewrite, source: int, number: int, axis: int, between: int) -> int:
    """The tensor with `between` numbers after each element along an axis, but for the last."""
    shape = rewrite.tensors[source].shape
    size = shape[axis]
    if not between or size < 2:
        return source
    rest = math.prod(shape[axis + 1 :])
    columns = rewrite.like(source, "columns", (math.prod(shape[: axis + 1]), 1, rest))
    padded = rewrite.like(source, "spread", (math.prod(shape[: axis + 1]), 1 + between, rest))
    whole = rewrite.like(source, "whole", (*shape[:axis], size * (1 + between), *shape[axis + 1 :]))
    rewrite.reshape(source, columns)
    edges = rewrite.constant("between", np.array([[0, 0], [0, between], [0, 0]]))
    rewrite.add("PADV2", [columns, edges, number], [padded])
    rewrite.reshape(padded, whole)
    kept = [*shape[:axis], size + (size - 1) * between, *shape[axis + 1 :]]
    return _cut(rewrite, whole, [0] * len(shape), kept)


def _cut(rewrite: SubGraphRewrite, source: int, begin: Sequence[int], size: Sequence[int]) -> int:
    part = rewrite.like(source, "part", tuple(size))
    rewrite.cut(source, rewrite.constant("begin", np.array(begin)), rewrite.constant("size", np.array(size)), part)
    return part
