"""Rows that a loop picks from a list and stores in one, with operators that TFLite Micro has kernels of.

It has no int16 kernel of GATHER: between conversions to float, each iteration would convert the whole list. Nor does it
run a STRIDED_SLICE of five dimensions, which a step of a sequence of images is, or one whose bounds a loop counts. Of a
store, the converter makes a CONCATENATION of two SLICEs whose lengths are known at run time only; TFLite Micro plans
its arena before it runs, and takes such a length for 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend import (
    Model,
    Operator,
    RowStore,
    SubGraph,
    Tensor,
    constant_cut,
    constant_values,
    row_stores,
    unread_after,
    without_unused,
)
from tflmgen.ir import DType
from tflmgen.kernels import traits_of
from tflmgen.quantize.graph_writer import GraphWriter
from tflmgen.quantize.integer_forms import picks_a_row
from tflmgen.quantize.list_lengths import with_list_shapes
from tflmgen.quantize.loop_counters import Bounds, counter_bounds, index_bounds, integer_step

_STORED = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32)
"""Types that TFLite Micro has kernels of DYNAMIC_UPDATE_SLICE for."""

_SLICED = (*_STORED, DType.BOOL)
"""Types that it has kernels of SLICE for."""

_MAX_STRIDED, _MAX_SLICED = 4, 5
"""Dimensions that its kernels of STRIDED_SLICE and SLICE go through."""


def with_row_operators(model: Model) -> Model:
    """The Model with its rows picked by SLICE and stored by DYNAMIC_UPDATE_SLICE.

    SLICE stands for each GATHER in int16 that picks one row, each STRIDED_SLICE of five dimensions with constant bounds
    and steps of 1, and each whose place along one dimension a loop counts and never leaves the list. Stores in lists of
    unknown length stay as they are; not so those whose length the operand of a loop tells (`list_lengths`).
    """
    model = with_list_shapes(model)
    counters = counter_bounds(model)
    graphs = tuple(_RowWriter(graph, counters.get(graph.index, {})).run() for graph in model.subgraphs)
    return model if graphs == model.subgraphs else without_unused(replace(model, subgraphs=graphs))


@dataclass(frozen=True, slots=True)
class _Pick:
    """A part of a list of the shape `sizes`, at a place along an axis that a tensor says, all along the others."""

    index: int
    axis: int
    sizes: tuple[int, ...]


def _picks(graph: SubGraph, counters: Mapping[int, Bounds]) -> dict[int, _Pick]:
    """Picks, by operator index, that become SLICE with a begin computed at run time."""
    picks = {op.index: _gathered(op, graph) or _moving(op, graph, counters) for op in graph.operators}
    return {index: pick for index, pick in picks.items() if pick is not None}


def _gathered(op: Operator, graph: SubGraph) -> _Pick | None:
    if op.name != "GATHER" or graph.tensors[op.inputs[0]].dtype is not DType.INT16 or not picks_a_row(op, graph):
        return None
    shape = graph.tensors[op.inputs[0]].shape
    axis = int((op.options or {}).get("axis", 0)) % len(shape)
    return _Pick(op.inputs[1], axis, tuple(1 if place == axis else dim for place, dim in enumerate(shape)))


def _moving(op: Operator, graph: SubGraph, counters: Mapping[int, Bounds]) -> _Pick | None:
    """The pick of a STRIDED_SLICE at a place that a loop counts; None where the place may lie outside of the tensor.

    There STRIDED_SLICE counts from the end, and TFLite Micro's SLICE reads what is beside the tensor.
    """
    options = op.options or {}
    if op.name != "STRIDED_SLICE" or any(options.get(n) for n in ("ellipsis_mask", "new_axis_mask", "offset")):
        return None
    rows, begin, end, steps = (graph.tensors[i] for i in op.inputs)
    result, elements = graph.tensors[op.outputs[0]], _elements(graph, begin.index)
    if not all(dim > 0 for tensor in (rows, begin) for dim in tensor.shape_signature or tensor.shape):
        return None
    if elements is None or begin.shape != (len(elements),) or rows.dtype not in _SLICED:
        return None
    if steps.data is None or (constant_values(steps) != 1).any():
        return None
    begins, shrinks = (int(options.get(f"{name}_mask", 0)) for name in ("begin", "shrink_axis"))
    picked = [(axis, element) for axis, element in enumerate(elements) if not begins >> axis & 1]
    moving = [(axis, element) for axis, element in picked if isinstance(element, Tensor)]
    if begins & shrinks or len(moving) != 1 or any(element != 0 for _, element in picked if isinstance(element, int)):
        return None
    rank = len(rows.shape)
    kept = [axis for axis in range(rank) if not shrinks >> axis & 1]
    if not len(elements) <= rank <= _MAX_SLICED or len(result.shape) != len(kept):
        return None
    sizes = dict.fromkeys(range(rank), 1) | dict(zip(kept, result.shape, strict=True))
    ((axis, place),) = moving
    unknown = {kept[at] for at, dim in enumerate(result.shape_signature or result.shape) if dim <= 0}
    if unknown and (unknown != {axis} or _length(graph, place, _elements(graph, end.index), axis) != sizes[axis]):
        return None
    bounds = index_bounds(graph, counters, place.index)
    if bounds is None or bounds[0] < 0 or bounds[1] + sizes[axis] > rows.shape[axis]:
        return None
    return _Pick(place.index, axis, tuple(sizes.values())) if place.dtype is DType.INT32 else None


def _length(graph: SubGraph, begin: Tensor, ends: Sequence[int | Tensor] | None, axis: int) -> int | None:
    """How many places lie between a begin and an end, such as those of x[t:t+1]; None if the end adds no constant."""
    end = ends[axis] if ends is not None and axis < len(ends) else None
    producers = {tensor: op for op in graph.operators for tensor in op.outputs}
    return integer_step(graph, producers.get(end.index), begin.index) if isinstance(end, Tensor) else None


def _elements(graph: SubGraph, vector: int) -> list[int | Tensor] | None:
    """The elements of a vector of integers, each a constant or the tensor that has it at run time; None if unknown."""
    tensor = graph.tensors[vector]
    if tensor.data is not None:
        return [int(value) for value in constant_values(tensor).reshape(-1)]
    op = next((op for op in graph.operators if vector in op.outputs), None)
    if op is not None and op.name in ("PACK", "CONCATENATION"):
        parts = [_elements(graph, operand) for operand in op.inputs]
        return None if any(part is None for part in parts) else [e for part in parts if part for e in part]
    if tensor.shape not in ((), (1,)):
        return None
    return _elements(graph, op.inputs[0]) if op is not None and traits_of(op.name).view else [tensor]


def _cuts(graph: SubGraph) -> dict[int, tuple[range, ...]]:
    """Ranges along each dimension, by operator index, of the STRIDED_SLICEs that become SLICE."""
    cuts = {op.index: _cut(op, graph) for op in graph.operators if op.name == "STRIDED_SLICE"}
    return {index: cut for index, cut in cuts.items() if cut is not None}


def _cut(op: Operator, graph: SubGraph) -> tuple[range, ...] | None:
    cut = constant_cut(op, graph)
    if cut is None or not _MAX_STRIDED < len(cut) <= _MAX_SLICED or any(places.step != 1 for places in cut):
        return None
    return cut


def _stores(graph: SubGraph) -> dict[int, RowStore]:
    """Stores that become DYNAMIC_UPDATE_SLICE, by operator index."""

    def fits(store: RowStore) -> bool:
        rows, row = graph.tensors[store.list], graph.tensors[store.row]
        is_known = all(dim > 0 for dim in rows.shape_signature or rows.shape)
        is_row = row.shape == (1, *rows.shape[1:]) and row.dtype is rows.dtype
        return is_known and is_row and rows.dtype in _STORED and graph.tensors[store.index].dtype is DType.INT32

    return {index: store for index, store in row_stores(graph).items() if fits(store)}


@dataclass(slots=True)
class _RowWriter(GraphWriter):
    """A subgraph whose rows are picked and stored by other operators."""

    counters: Mapping[int, Bounds]

    def run(self) -> SubGraph:
        picks, cuts, stores = _picks(self.graph, self.counters), _cuts(self.graph), _stores(self.graph)
        if not picks and not cuts and not stores:
            return self.graph
        reads: dict[int, Sequence[int]] = {index: store.reads for index, store in stores.items()}
        reads |= {index: (self.graph.operators[index].inputs[0], pick.index) for index, pick in picks.items()}
        unused = unread_after(self.graph, reads)
        for op in self.graph.operators:
            if op.index in picks:
                pick = picks[op.index]
                self._slice(op, self._begin(pick.index, pick.axis, len(pick.sizes)), pick.sizes)
            elif op.index in cuts:
                begin = self.constant("begin", tuple(places.start for places in cuts[op.index]))
                self._slice(op, begin, tuple(len(places) for places in cuts[op.index]))
            elif op.index in stores:
                self._store(op, stores[op.index])
            elif op.index not in unused:
                self.operators.append(op)
        return self.finished()

    def _slice(self, op: Operator, begin: int, shape: tuple[int, ...]) -> None:
        """SLICE, and RESHAPE to the shape that the result of `op` has."""
        result = replace(self.tensors[op.outputs[0]], shape_signature=None)
        self.tensors[result.index] = result
        row = result.index if shape == result.shape else self.like(result, "row", shape)
        self.add("SLICE", [op.inputs[0], begin, self.constant("size", shape)], row)
        if row != result.index:
            self.add("RESHAPE", [row, self.constant("shape", result.shape)], result.index)

    def _store(self, op: Operator, store: RowStore) -> None:
        """DYNAMIC_UPDATE_SLICE. An index outside of the list, which the SLICEs would refuse, it moves into the list."""
        result, rows = op.outputs[0], self.tensors[store.list]
        self.tensors[result] = replace(self.tensors[result], shape=rows.shape, shape_signature=None)
        begin = self._begin(store.index, 0, len(rows.shape))
        self.add("DYNAMIC_UPDATE_SLICE", [store.list, store.row, begin], result)

    def _begin(self, index: int, axis: int, rank: int) -> int:
        """The vector [0.., index, 0..] with the index at an axis."""
        vector = self._vector(self.tensors[index])
        if rank == 1:
            return vector
        begin = self.like(self.tensors[vector], "begin", (rank,), DType.INT32)
        self.add("CONCATENATION", [*self._zeros(axis), vector, *self._zeros(rank - axis - 1)], begin)
        return begin

    def _vector(self, index: Tensor) -> int:
        """The tensor of a scalar index, or of a vector of one, as a vector."""
        if index.shape == (1,):
            return index.index
        vector = self.like(index, "vector", (1,))
        self.add("RESHAPE", [index.index, self.constant("one", (1,))], vector)
        return vector

    def _zeros(self, count: int) -> list[int]:
        return [self.constant("zeros", (0,) * count)] if count else []
