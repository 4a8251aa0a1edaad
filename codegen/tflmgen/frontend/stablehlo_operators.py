"""StableHLO's operators, and DILATE, as TFLite's: one place that says what stands for each.

By the StableHLO specification, "gather", "pad" and "reduce_window":

    ADD, AND of Booleans, MAXIMUM, MINIMUM, MULTIPLY  ->  TFLite's under another name
    PAD            ->  for each axis with numbers between elements RESHAPE, PADV2, RESHAPE; then SLICE, where an edge is
                       below 0, and PADV2
    DILATE         ->  the same between elements alone
    REDUCE_WINDOW  ->  a PAD, and TFLite's REDUCE_WINDOW of the function that its body is
    GATHER         ->  the places of all pieces along the input as one axis (MAXIMUM, MINIMUM, MUL, SUM and ADD of the
                       start indices, which are moved to where a piece fits), GATHER, and TRANSPOSE

SCATTER keeps its name; the number of the function that its body is stands among its options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tflmgen.frontend.model_graph.model_rewrite import SubGraphRewrite
from tflmgen.frontend.tflite.model import FileOperator, SubGraph
from tflmgen.ir import DType

SAME = {
    "STABLEHLO_ADD": "ADD",
    "STABLEHLO_MULTIPLY": "MUL",
    "STABLEHLO_MAXIMUM": "MAXIMUM",
    "STABLEHLO_MINIMUM": "MINIMUM",
}
"""StableHLO's operator -> TFLite's, which broadcasts beside it."""

MOST_ELEMENTS = 1 << 28
"""Largest number of elements of a padded tensor before its edges are cut off: no board has room for more."""

FUNCTIONS = {
    "STABLEHLO_ADD": 1,
    "ADD": 1,
    "STABLEHLO_MULTIPLY": 2,
    "MUL": 2,
    "STABLEHLO_MINIMUM": 3,
    "MINIMUM": 3,
    "STABLEHLO_MAXIMUM": 4,
    "MAXIMUM": 4,
    "STABLEHLO_AND": 5,
    "LOGICAL_AND": 5,
    "STABLEHLO_OR": 6,
    "LOGICAL_OR": 6,
}
"""The one operator of a body -> the schema's ReduceWindowFunction."""
SCATTER_FUNCTIONS = range(5)
"""Functions of a scatter's body, with 0 for a body without operators, whose result is the update."""
FUNCTION = "reduce_function"
"""Option that says it: of REDUCE_WINDOW in the schema, of STABLEHLO_SCATTER no field of the schema."""

_EDGES = ("edge_padding_low", "edge_padding_high", "interior_padding")
_WINDOWS = ("window_dimensions", "window_strides", "window_dilations", "base_dilations")


def without_stablehlo(graph: SubGraph, graphs: Sequence[SubGraph] = ()) -> SubGraph:
    """The subgraph with TFLite's operators in place of StableHLO's; itself if it has none. graphs: of its model.

    An operator whose options do not fit its operands stays as it is, and is refused by name.
    """

    def written(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
        if op.name in SAME and len(op.inputs) == 2 and len(op.outputs) == 1:
            rewrite.add(SAME[op.name], op.inputs, op.outputs)
            return True
        form = _FORMS.get(op.name)
        if form is None or min(op.inputs, default=-1) < 0 or len(op.outputs) != 1:
            return False
        return form(rewrite, op, _body(op, graphs))

    rewrite = SubGraphRewrite(graph)
    rewrite.apply(written)
    return rewrite.result() if rewrite.is_changed else graph


def _body(op: FileOperator, graphs: Sequence[SubGraph]) -> int | None:
    """Number of the function that an operator's body is; 0 if it has no operators, None if it is another."""
    options = op.options or {}
    index = options.get("body_subgraph_index", options.get("update_computation_subgraph_index", -1))
    if not 0 <= index < len(graphs):
        return None
    operators = graphs[index].operators
    return 0 if not operators else FUNCTIONS.get(operators[0].name) if len(operators) == 1 else None


def _numbers(options: Mapping[str, Any], *names: str) -> list[list[int]]:
    return [[int(n) for n in options.get(name) or ()] for name in names]


def _and(rewrite: SubGraphRewrite, op: FileOperator, _: int | None) -> bool:
    if len(op.inputs) != 2 or any(rewrite.tensors[i].dtype is not DType.BOOL for i in op.inputs):
        return False
    rewrite.add("LOGICAL_AND", op.inputs, op.outputs)
    return True


def _pad(rewrite: SubGraphRewrite, op: FileOperator, _: int | None) -> bool:
    """PADs in the order of the operator's meaning; False where operands and options contradict each other."""
    low, high, interior = _numbers(op.options or {}, *_EDGES)
    result = rewrite.tensors[op.outputs[0]].shape
    if len(op.inputs) != 2 or _padded_shape(rewrite.tensors[op.inputs[0]].shape, low, high, interior) != result:
        return False
    _add_padding(rewrite, op.inputs, op.outputs, (low, high, interior))
    return True


def _padded_shape(
    shape: Sequence[int], low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> tuple[int, ...] | None:
    """Shape of a padded tensor; None where the numbers do not fit it, or cut all of it off."""
    if not len(low) == len(high) == len(interior) == len(shape) or min(interior, default=0) < 0:
        return None
    spread = [dim + max(dim - 1, 0) * between for dim, between in zip(shape, interior, strict=True)]
    result = tuple(dim + a + b for dim, a, b in zip(spread, low, high, strict=True))
    kept = [dim + min(a, 0) + min(b, 0) for dim, a, b in zip(spread, low, high, strict=True)]
    if min((*shape, *result, *kept), default=1) < 1:
        return None
    whole = math.prod(dim * (1 + between) for dim, between in zip(shape, interior, strict=True))
    return result if max(whole, math.prod(result)) <= MOST_ELEMENTS else None


def _add_padding(
    rewrite: SubGraphRewrite, inputs: Sequence[int], outputs: Sequence[int], edges: Sequence[Sequence[int]]
) -> None:
    """Adds what pads input 0 with input 1, which _padded_shape accepts."""
    low, high, interior = edges
    source, shape = inputs[0], rewrite.tensors[inputs[0]].shape
    spread = [dim + max(dim - 1, 0) * between for dim, between in zip(shape, interior, strict=True)]
    for axis, between in enumerate(interior):
        source = _between(rewrite, source, inputs[1], axis, between)
    begin = [max(-edge, 0) for edge in low]
    size = [dim - b - max(-edge, 0) for dim, b, edge in zip(spread, begin, high, strict=True)]
    if size != spread:
        source = _cut(rewrite, source, begin, size)
    around = [[max(a, 0), max(b, 0)] for a, b in zip(low, high, strict=True)]
    constant = rewrite.constant("edges", np.array(around).reshape(-1, 2))
    rewrite.add("PADV2", [source, constant, inputs[1]], outputs)


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


def _dilate(rewrite: SubGraphRewrite, op: FileOperator, _: int | None) -> bool:
    """DILATE: (input, dilations, number), with a PAD between elements alone."""
    constant = rewrite.tensors[op.inputs[1]] if len(op.inputs) == 3 else None
    if constant is None or constant.data is None or constant.dtype is not DType.INT32:
        return False
    interior = [int(n) - 1 for n in np.frombuffer(constant.data, "<i4")]
    none = [0] * len(interior)
    result = rewrite.tensors[op.outputs[0]].shape
    if _padded_shape(rewrite.tensors[op.inputs[0]].shape, none, none, interior) != result:
        return False
    _add_padding(rewrite, [op.inputs[0], op.inputs[2]], op.outputs, (none, none, interior))
    return True


def _reduce_window(rewrite: SubGraphRewrite, op: FileOperator, function: int | None) -> bool:
    options, source = op.options or {}, op.inputs[0]
    shape = rewrite.tensors[source].shape
    windows = [n or [1] * len(shape) for n in _numbers(options, *_WINDOWS)]
    (padding,) = _numbers(options, "padding")
    padding = padding or [0] * (2 * len(shape))
    edges = padding[::2], padding[1::2], [n - 1 for n in windows.pop()]
    padded = _padded_shape(shape, *edges)
    if len(op.inputs) != 2 or not function or padded is None or rewrite.tensors[source].dtype is None:
        return False
    if padded != shape or any(map(any, edges)):
        source = rewrite.like(source, "padded", padded)
        _add_padding(rewrite, op.inputs, [source], edges)
    numbers = [rewrite.constant(name, np.array(n), DType.INT64) for name, n in zip(_WINDOWS, windows, strict=False)]
    rewrite.add("REDUCE_WINDOW", [source, op.inputs[1], *numbers], op.outputs, {FUNCTION: function})
    return True


def _scatter(rewrite: SubGraphRewrite, op: FileOperator, function: int | None) -> bool:
    if function not in SCATTER_FUNCTIONS or op.options is None or FUNCTION in op.options:
        return False
    rewrite.operators.append(replace(op, options={**op.options, FUNCTION: function}))
    return True


class _Pieces:
    """Numbers of a GATHER: how its pieces lie in the input, and in the output."""

    def __init__(self, op: FileOperator, shape: tuple[int, ...], indices: tuple[int, ...]) -> None:
        options = op.options or {}
        names = "offset_dims", "collapsed_slice_dims", "start_index_map", "slice_sizes"
        self.offsets, self.collapsed, self.map, self.sizes = _numbers(options, *names)
        self.axis, self.shape = int(options.get("index_vector_dim", 0)), shape
        self.vectors = (*indices, 1) if self.axis == len(indices) else indices
        self.points = self.vectors[: self.axis] + self.vectors[self.axis + 1 :]
        """Extents of the dimensions that count points."""
        whole = [size == piece for size, piece in zip(shape, self.sizes, strict=False)]
        self.outer = next((len(whole) - k for k, full in enumerate(reversed(whole)) if not full), 0)
        """Dimensions before those that a piece has all of at the end."""
        self.kept = [size for d, size in enumerate(self.sizes) if d not in self.collapsed]

    @property
    def inner(self) -> int:
        """Elements that lie side by side in a piece."""
        return math.prod(self.shape[self.outer :])

    @property
    def strides(self) -> list[int]:
        """Strides of the dimensions before the inner ones, in runs of inner elements."""
        return [math.prod(self.shape[d + 1 : self.outer]) for d in range(self.outer)]

    def fit(self, result: tuple[int, ...]) -> bool:
        """Whether the numbers fit the operands and give this shape."""
        rank = len(self.shape)
        if len(self.sizes) != rank or not 0 <= self.axis < len(self.vectors) or min(self.shape, default=0) < 1:
            return False
        if any(not 0 < piece <= size for piece, size in zip(self.sizes, self.shape, strict=True)):
            return False
        if any(not 0 <= d < rank or self.sizes[d] != 1 for d in self.collapsed):
            return False
        if not 0 < len(self.map) == self.vectors[self.axis] or any(not 0 <= d < rank for d in self.map):
            return False
        if sorted(set(self.offsets)) != self.offsets or len(self.offsets) != len(self.kept):
            return False
        if self.offsets and not 0 <= self.offsets[-1] < len(self.points) + len(self.kept):
            return False
        gathered = (*self.points, *self.kept)
        return tuple(gathered[k] for k in self.order()) == result and math.prod(result) <= MOST_ELEMENTS

    def order(self) -> list[int]:
        """Dimensions of points, then of pieces, in the order that the output has them."""
        points, pieces = iter(range(len(self.points))), iter(range(len(self.points), len(self.points) + len(self.kept)))
        rank = len(self.points) + len(self.kept)
        return [next(pieces) if d in self.offsets else next(points) for d in range(rank)]

    def places(self) -> list[int]:
        """Runs of a piece, from its first one on."""
        spans = np.meshgrid(*(np.arange(n) * s for n, s in zip(self.sizes, self.strides, strict=False)), indexing="ij")
        return [int(n) for n in np.asarray(sum(spans, np.zeros((), np.int64))).reshape(-1)]


def _gather(rewrite: SubGraphRewrite, op: FileOperator, _: int | None) -> bool:
    if len(op.inputs) != 2 or len(set(map(int, (op.options or {}).get("offset_dims") or ()))) > 8:
        return False
    source, result = rewrite.tensors[op.inputs[0]], rewrite.tensors[op.outputs[0]]
    pieces = _Pieces(op, source.shape, rewrite.tensors[op.inputs[1]].shape)
    if source.dtype is None or not pieces.fit(result.shape):
        return False
    picked, runs = _picked_runs(rewrite, op.inputs[1], pieces), pieces.places()
    rows = rewrite.like(op.inputs[0], "rows", (math.prod(source.shape) // pieces.inner, pieces.inner))
    rewrite.reshape(op.inputs[0], rows)
    gathered = rewrite.like(op.inputs[0], "gathered", (math.prod(pieces.points) * len(runs), pieces.inner))
    rewrite.add("GATHER", [rows, picked], [gathered], {"axis": 0})
    order = pieces.order()
    if order == sorted(order):
        rewrite.reshape(gathered, op.outputs[0])
        return True
    shaped = rewrite.like(op.inputs[0], "pieces", (*pieces.points, *pieces.kept))
    rewrite.reshape(gathered, shaped)
    rewrite.add("TRANSPOSE", [shaped, rewrite.constant("order", np.array(order))], op.outputs)
    return True


def _picked_runs(rewrite: SubGraphRewrite, indices: int, pieces: _Pieces) -> int:
    """The runs of all pieces, one after the other: int32 [points * runs of a piece]."""
    dtype, count = rewrite.tensors[indices].dtype, math.prod(pieces.points)
    if dtype is None:
        return indices
    if pieces.axis != len(pieces.vectors) - 1:
        order = [d for d in range(len(pieces.vectors)) if d != pieces.axis]
        last = rewrite.like(indices, "vectors", (*pieces.points, len(pieces.map)))
        rewrite.add("TRANSPOSE", [indices, rewrite.constant("order", np.array([*order, pieces.axis]))], [last])
        indices = last
    start = rewrite.value("starts", (count, len(pieces.map)), dtype)
    rewrite.reshape(indices, start)
    limits = [pieces.shape[d] - pieces.sizes[d] for d in pieces.map]
    for name, bound in (("MAXIMUM", [0] * len(limits)), ("MINIMUM", limits)):
        bounded = rewrite.value("starts", (count, len(limits)), dtype)
        rewrite.add(name, [start, rewrite.constant("bounds", np.array(bound), dtype)], [bounded])
        start = bounded
    if dtype is not DType.INT32:
        narrow = rewrite.value("starts", (count, len(limits)), DType.INT32)
        rewrite.add("CAST", [start], [narrow])
        start = narrow
    factors = [pieces.strides[d] if d < pieces.outer else 0 for d in pieces.map]
    return _offset(rewrite, start, factors, pieces.places())


def _offset(rewrite: SubGraphRewrite, start: int, factors: Sequence[int], runs: Sequence[int]) -> int:
    """Sums of start indices times their strides, with each of the runs of a piece added."""

    def value(*shape: int) -> int:
        return rewrite.value("runs", shape, DType.INT32)

    count = rewrite.tensors[start].shape[0]
    scaled, first, whole = value(count, len(factors)), value(count, 1), value(count * len(runs))
    rewrite.add("MUL", [start, rewrite.constant("strides", np.array(factors))], [scaled])
    rewrite.add("SUM", [scaled, rewrite.constant("axis", np.array([1]))], [first], {"keep_dims": True})
    if len(runs) > 1:
        each = value(count, len(runs))
        rewrite.add("ADD", [first, rewrite.constant("piece", np.array([runs]))], [each])
        first = each
    rewrite.reshape(first, whole)
    return whole


_FORMS = {
    "STABLEHLO_AND": _and,
    "STABLEHLO_PAD": _pad,
    "DILATE": _dilate,
    "STABLEHLO_REDUCE_WINDOW": _reduce_window,
    "STABLEHLO_SCATTER": _scatter,
    "STABLEHLO_GATHER": _gather,
}
