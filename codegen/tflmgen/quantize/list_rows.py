"""Rows that a loop picks from a list and stores in one, with operators that TFLite Micro has kernels of.

It has no int16 kernel of GATHER: between conversions to float, each iteration would convert the whole list. Nor does it
run a STRIDED_SLICE of five dimensions, which a step of a sequence of images is, or one whose bounds a loop counts. Of a
store, the converter makes a CONCATENATION of two SLICEs whose lengths are known at run time only; TFLite Micro plans
its arena before it runs, and takes such a length for 1.

Lists that loops and branches keep get the shapes of the operands that they come from where the file leaves them open:
storing a row keeps the length, and so do handing the list on and computing with each element.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.frontend import RowStore, TensorKey, constant_cut, row_stores
from tflmgen.frontend.model_graph import (
    Binding,
    SubGraphRewrite,
    TensorUses,
    bindings,
    constant_values,
    is_loop,
    rewrite_subgraph,
    with_subgraphs,
)
from tflmgen.frontend.tflite import FileOperator, FileTensor, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import traits_of
from tflmgen.quantize.integer_forms import picks_a_row
from tflmgen.quantize.loop_counters import Bounds, counter_bounds, index_bounds, integer_step

Shape = tuple[int, ...]


def with_list_shapes(model: Model) -> Model:
    """The Model with the shapes of lists that come from outside of loops and branches; itself where none is open."""
    lists = _Lists(model)
    graphs = [list(graph.tensors) for graph in model.subgraphs]
    while True:
        known = {key: shape for key, shape in lists.shapes(graphs) if _is_open(graphs[key[0]][key[1]])}
        if not known:
            break
        for (graph, place), shape in known.items():
            graphs[graph][place] = replace(graphs[graph][place], shape=shape, shape_signature=None)
    subgraphs = tuple(replace(g, tensors=tuple(t)) for g, t in zip(model.subgraphs, graphs, strict=True))
    return model if subgraphs == model.subgraphs else replace(model, subgraphs=subgraphs)


def _is_open(tensor: FileTensor) -> bool:
    """Whether the file leaves a dimension open; not so of a tensor whose rank it leaves open, too."""
    return -1 in (tensor.shape_signature or ())


class _Lists:
    """Origins of lists, in a model whose operators stay as they are."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._users = Counter(b.subgraph for g in model.subgraphs for op in g.operators for b in bindings(op))
        self._stores = [row_stores(graph) for graph in model.subgraphs]
        self._producers = [TensorUses.of(graph).producers for graph in model.subgraphs]

    def shapes(self, graphs: list[list[FileTensor]]) -> Iterator[tuple[TensorKey, Shape]]:
        """Shapes that follow from those of the tensors of each subgraph."""
        for graph in self._model.subgraphs:
            tensors = graphs[graph.index]
            for tensor in tensors:
                source = tensors[self._source(graph.index, tensor.index)]
                if _is_open(tensor) and not _is_open(source):
                    yield (graph.index, tensor.index), source.shape
            for op in graph.operators:
                for key, operand in self._entered(op):
                    if not _is_open(tensors[operand]):
                        yield key, tensors[operand].shape

    def _entered(self, op: FileOperator) -> Iterator[tuple[TensorKey, int]]:
        """Inputs of the subgraphs that an operator alone runs, with the operands that they have in every iteration."""
        bound = bindings(op)
        for binding in bound:
            inputs = self._model.subgraphs[binding.subgraph].inputs
            if self._users[binding.subgraph] == 1:
                for place, (tensor, operand) in enumerate(zip(inputs, binding.operands, strict=True)):
                    if not is_loop(op) or self._kept(bound[-1], place) == place:
                        yield (binding.subgraph, tensor), operand

    def _source(self, graph: int, tensor: int) -> int:
        """The tensor of the same subgraph that has the shape of this one, as a list before rows were stored in it."""
        while (op := self._producers[graph].get(tensor)) is not None:
            store, bound = self._stores[graph].get(op.index), [b for b in bindings(op) if b.results]
            place = op.outputs.index(tensor)
            kept = {self._kept(binding, place) for binding in bound}
            operand = kept.pop() if len(kept) == 1 else None
            if store is not None:
                tensor = store.list
            elif traits_of(op.name).elementwise and len(op.inputs) == 1:
                tensor = op.inputs[0]
            elif operand is not None and (operand == place or not is_loop(op)):
                tensor = bound[0].operands[operand]
            else:
                break
        return tensor

    def _kept(self, binding: Binding, place: int) -> int | None:
        """The input of a subgraph, by its place, whose shape the output at `place` has; None if no input's."""
        graph = self._model.subgraphs[binding.subgraph]
        source = self._source(graph.index, graph.outputs[place])
        return graph.inputs.index(source) if source in graph.inputs else None


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
    unknown length stay as they are; not so those whose length the operand of a loop tells.
    """
    model = with_list_shapes(model)
    counters = counter_bounds(model)
    return with_subgraphs(model, [_with_rows(graph, counters.get(graph.index, {})) for graph in model.subgraphs])


def _with_rows(graph: SubGraph, counters: Mapping[int, Bounds]) -> SubGraph:
    stores = _stores(graph)

    def by_row_operators(rewrite: SubGraphRewrite, op: FileOperator) -> bool:
        pick, cut, store = _gathered(op, graph) or _moving(op, graph, counters), _cut(op, graph), stores.get(op.index)
        if pick is not None:
            _add_slice(rewrite, op, _begin(rewrite, pick.index, pick.axis, len(pick.sizes)), pick.sizes)
        elif cut is not None:
            begin = rewrite.constant("begin", [places.start for places in cut])
            _add_slice(rewrite, op, begin, tuple(len(places) for places in cut))
        elif store is not None:
            _add_store(rewrite, op, store)
        return (pick, cut, store) != (None, None, None)

    return rewrite_subgraph(graph, by_row_operators)


@dataclass(frozen=True, slots=True)
class _Pick:
    """A part of a list of the shape `sizes`, at a place along an axis that a tensor says, all along the others."""

    index: int
    axis: int
    sizes: tuple[int, ...]


def _gathered(op: FileOperator, graph: SubGraph) -> _Pick | None:
    if op.name != "GATHER" or graph.tensors[op.inputs[0]].dtype is not DType.INT16 or not picks_a_row(op, graph):
        return None
    shape = graph.tensors[op.inputs[0]].shape
    axis = int((op.options or {}).get("axis", 0)) % len(shape)
    return _Pick(op.inputs[1], axis, tuple(1 if place == axis else dim for place, dim in enumerate(shape)))


def _moving(op: FileOperator, graph: SubGraph, counters: Mapping[int, Bounds]) -> _Pick | None:
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
    moving = [(axis, element) for axis, element in picked if isinstance(element, FileTensor)]
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


def _length(graph: SubGraph, begin: FileTensor, ends: Sequence[int | FileTensor] | None, axis: int) -> int | None:
    """Number of places between a begin and an end, such as those of x[t:t+1]; None if the end adds no constant."""
    end = ends[axis] if ends is not None and axis < len(ends) else None
    if not isinstance(end, FileTensor):
        return None
    return integer_step(graph, TensorUses.of(graph).producers.get(end.index), begin.index)


def _elements(graph: SubGraph, vector: int) -> list[int | FileTensor] | None:
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


def _cut(op: FileOperator, graph: SubGraph) -> tuple[range, ...] | None:
    """Ranges along each dimension of a STRIDED_SLICE that becomes SLICE."""
    cut = constant_cut(op, graph) if op.name == "STRIDED_SLICE" else None
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


def _add_slice(rewrite: SubGraphRewrite, op: FileOperator, begin: int, shape: tuple[int, ...]) -> None:
    """SLICE, and RESHAPE to the shape that the result of `op` has."""
    result = replace(rewrite.tensors[op.outputs[0]], shape_signature=None)
    rewrite.tensors[result.index] = result
    row = result.index if shape == result.shape else rewrite.like(result.index, "row", shape)
    rewrite.cut(op.inputs[0], begin, rewrite.constant("size", shape), row)
    if row != result.index:
        rewrite.reshape(row, result.index)


def _add_store(rewrite: SubGraphRewrite, op: FileOperator, store: RowStore) -> None:
    """DYNAMIC_UPDATE_SLICE. An index outside of the list, which the SLICEs would refuse, it moves into the list."""
    result, shape = op.outputs[0], rewrite.tensors[store.list].shape
    rewrite.tensors[result] = replace(rewrite.tensors[result], shape=shape, shape_signature=None)
    begin = _begin(rewrite, store.index, 0, len(shape))
    rewrite.add("DYNAMIC_UPDATE_SLICE", [store.list, store.row, begin], [result])


def _begin(rewrite: SubGraphRewrite, index: int, axis: int, rank: int) -> int:
    """The vector [0.., index, 0..] with the index, a scalar or a vector of one, at an axis."""
    vector = index
    if rewrite.tensors[index].shape != (1,):
        vector = rewrite.like(index, "vector", (1,))
        rewrite.add("RESHAPE", [index, rewrite.constant("one", (1,))], [vector])
    if rank == 1:
        return vector
    begin = rewrite.like(vector, "begin", (rank,), DType.INT32)
    before, after = ([rewrite.constant("zeros", (0,) * count)] if count else [] for count in (axis, rank - axis - 1))
    rewrite.add("CONCATENATION", [*before, vector, *after], [begin])
    return begin
