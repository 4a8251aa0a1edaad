"""Loops that compute an LSTM layer, recognised by their equations.

A body is an LSTM cell if two of its variables are updated as c' = s(f) c + s(i) tanh(g) and h' = s(o) tanh(c'), with i,
f, g and o each affine in one row of a loop-invariant tensor and in h (Hochreiter and Schmidhuber, 1997; Gers et al.,
2000). Which operators compute the affine functions does not matter: they are evaluated with the coefficients of each
element as the element, so that any order of gates, split or joined weights come to the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.frontend.affine_functions import AffineFunctions
from tflmgen.frontend.carried_states import CarriedState, carried_states
from tflmgen.frontend.model_graph.subgraphs import OperatorKey, bindings, fused_activation, is_loop
from tflmgen.frontend.model_graph.tensor_values import constant_values
from tflmgen.frontend.shape_bounds import TensorKey
from tflmgen.frontend.tensor_lists import RowStore, row_stores
from tflmgen.frontend.tflite.builder import options_with_defaults
from tflmgen.frontend.tflite.model import FileOperator, Model, SubGraph
from tflmgen.ir import DType
from tflmgen.kernels import Comparison, traits_of

Array = NDArray[Any]
States = Mapping[TensorKey, CarriedState]

_INSIDE = "it is inside a branch, loop or call, where a state would persist"

_MAX_TERMS = 4096
"""Coefficients of each element, beyond which a batch is not analysed: the matrices grow with the square."""


@dataclass(frozen=True, slots=True, eq=False)
class LstmLoop:
    """An LSTM layer that a loop computes.

    batch       sequences that are computed side by side
    rows        place of the sequence among the loop's operands: steps rows of batch times `features`
    hidden      place of h among the loop's variables, of batch times cells values
    cell        place of c
    last        places of variables that hold h after the last step, too, in another shape
    all_rows    places of variables that hold h of each step, row after row
    weights     by gate, i f g o: [cells, features]
    recurrent   the same of h: [cells, cells]
    biases      the same: [cells]
    replaced    operators on the variables that hold h and c from one invoke to the next; none: both begin with zeros
    """

    steps: int
    batch: int
    rows: int
    hidden: int
    cell: int
    last: tuple[int, ...]
    all_rows: tuple[int, ...]
    weights: tuple[Array, ...]
    recurrent: tuple[Array, ...]
    biases: tuple[Array, ...]
    replaced: frozenset[OperatorKey] = frozenset()

    @property
    def is_stateful(self) -> bool:
        """Whether the layer's states persist from one invoke to the next."""
        return bool(self.replaced)

    @property
    def takes_sums(self) -> bool:
        """Whether each gate takes one element of a row as it is: rows are products with weights already, as of ONNX."""
        return all(bool(((m == 0) | (m == 1)).all() and (m.sum(axis=1) == 1).all()) for m in self.weights)


def lstm_operator() -> FileOperator:
    """The layer without operands; its first is [steps, batch, features]."""
    name = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    tanh = 4
    options = options_with_defaults(name, {"fused_activation_function": tanh, "time_major": True})
    return FileOperator(0, name, 1, (), (), options, b"", ())


def find_lstm_loops(model: Model, keeps_state: bool = True) -> dict[int, LstmLoop | str]:
    """Loops with an LSTM cell by the subgraph of their body; a sentence says why one is no layer that can be fused.

    keeps_state  the fused operator's state persists from one run to the next
    """
    loops: dict[int, LstmLoop | str] = {}
    states = carried_states(model)
    sites = [(graph, op) for graph in model.subgraphs for op in graph.operators]
    runs = [binding.subgraph for _, op in sites for binding in bindings(op)]
    for graph, op in sites:
        if is_loop(op):
            condition, body = (model.subgraphs[binding.subgraph] for binding in bindings(op))
            matcher = _Matcher(graph, op, condition, body, states)
            cell = matcher.find_cell()
            if cell is not None and keeps_state and graph.index in runs:
                loops[body.index] = _INSIDE
            elif cell is not None and runs.count(body.index) + runs.count(condition.index) > 2:
                loops[body.index] = "its body is another loop's, too"
            elif cell is not None:
                layer = matcher.layer(cell)
                is_inner = isinstance(layer, LstmLoop) and layer.is_stateful and graph.index in runs
                loops[body.index] = _INSIDE if is_inner else layer
    return loops


def idle_views(graph: SubGraph) -> frozenset[int]:
    """Indices of views that nothing reads, or only such views."""
    read, idle = set(graph.outputs), set()
    for op in reversed(graph.operators):
        if traits_of(op.name).view and read.isdisjoint(op.outputs):
            idle.add(op.index)
        else:
            read.update(op.inputs)
    return frozenset(idle)


@dataclass(frozen=True, slots=True)
class _Cell:
    """Places of c and h among the variables, and the tensors of the sums of i, f, g and o."""

    cell: int
    hidden: int
    gates: tuple[int, ...]


class _Matcher:
    def __init__(
        self, graph: SubGraph, loop: FileOperator, condition: SubGraph, body: SubGraph, states: States
    ) -> None:
        self._states = states
        self._graph, self._loop, self._condition, self._body = graph, loop, condition, body
        self._producers = {tensor: op for op in body.operators for tensor in op.outputs}
        self._stores = row_stores(body)

    def find_cell(self) -> _Cell | None:
        for place, tensor in enumerate(self._body.outputs):
            total = self._producer(tensor, "ADD")
            for kept, new in _orders(total.inputs if total else ()):
                gates = self._gates(kept, new, place)
                if gates is not None:
                    return self._with_output(place, tensor, gates)
        return None

    def _gates(self, kept: int, new: int, place: int) -> tuple[int, int, int] | None:
        """Sums of i, f and g, if c' is kept + new."""
        first, second = self._producer(kept, "MUL"), self._producer(new, "MUL")
        for forget, cell in _orders(first.inputs if first else ()):
            for enter, candidate_g in _orders(second.inputs if second else ()):
                f, i = self._producer(forget, "LOGISTIC"), self._producer(enter, "LOGISTIC")
                g = self._producer(candidate_g, "TANH")
                if cell == self._body.inputs[place] and f and i and g:
                    return i.inputs[0], f.inputs[0], g.inputs[0]
        return None

    def _with_output(self, place: int, cell: int, gates: tuple[int, int, int]) -> _Cell | None:
        read = {operand for op in self._body.operators for operand in op.inputs}
        for hidden, tensor in enumerate(self._body.outputs):
            product = self._producer(tensor, "MUL") if self._body.inputs[hidden] in read else None
            for left, right in _orders(product.inputs if product else ()):
                o, squashed = self._producer(left, "LOGISTIC"), self._producer(right, "TANH")
                if o and squashed and squashed.inputs[0] == cell:
                    return _Cell(place, hidden, (*gates, o.inputs[0]))
        return None

    def _producer(self, tensor: int, name: str) -> FileOperator | None:
        """The operator that makes a tensor, seen through views, if it has this name and no activation."""
        op = self._producers.get(self._source(tensor))
        return op if op is not None and op.name == name and not fused_activation(op) else None

    def _source(self, tensor: int) -> int:
        while (op := self._producers.get(tensor)) is not None and traits_of(op.name).view:
            tensor = op.inputs[0]
        return tensor

    def layer(self, cell: _Cell) -> LstmLoop | str:
        """The layer, or why it is none."""
        shapes = {self._body.tensors[self._body.inputs[place]].shape for place in (cell.cell, cell.hidden)}
        shape = next(iter(shapes))
        if len(shapes) > 1 or not shape:
            return "its state and its cells have different shapes"
        cells, batch = shape[-1], math.prod(shape[:-1])
        carried = [self._carried(place) for place in (cell.cell, cell.hidden)]
        replaced = frozenset[OperatorKey]().union(*(state for state in carried if state))
        is_zero = all(self._is_zero(place) for place in (cell.cell, cell.hidden))
        if not is_zero and not all(carried):
            return "its first state is not zero"
        row = self._row(batch)
        if row is None:
            return "it does not read a sequence row by row, from the first to the last"
        place, pick = row
        features = self._body.tensors[self._body.inputs[place]].shape[-1]
        steps = math.prod(self._body.tensors[self._body.inputs[place]].shape) // (batch * features)
        if self._body.tensors[pick.outputs[0]].shape[-1] != features or not self._runs(steps):
            return "its trip count is not known to be the length of the sequence"
        if batch * (features + cells) > _MAX_TERMS:
            return f"its batch of {batch} is too large to be analysed"
        sums = self._sums(cell, pick, (batch, features, cells))
        if sums is None:
            return "its gates are not affine functions of a row and the state"
        results = self._results(cell, steps, replaced)
        if isinstance(results, str):
            return results
        parts = [(s[:, :features], s[:, features:-1], s[:, -1]) for s in sums]
        weights, recurrent, biases = zip(*parts, strict=True)
        return LstmLoop(steps, batch, place, cell.hidden, cell.cell, *results, weights, recurrent, biases, replaced)

    def _carried(self, place: int) -> frozenset[OperatorKey]:
        """Operators on the variable that a loop variable begins with and ends in; none if it is no such variable."""
        first, last = self._loop.inputs[place], self._loop.outputs[place]
        state = self._states.get((self._graph.index, first))
        takers = [op.index for op in self._graph.operators if first in op.inputs]
        is_alone = takers == [self._loop.index] and first not in self._graph.outputs
        return state.operators if state is not None and state.next == last and is_alone else frozenset()

    def _is_zero(self, place: int) -> bool:
        tensor = self._graph.tensors[self._loop.inputs[place]]
        return tensor.data is not None and not constant_values(tensor).any()

    def _row(self, batch: int) -> tuple[int, FileOperator] | None:
        """The place of the sequence, and what takes row t of it, t = 0, 1, 2 …

        A row is `batch` vectors that follow one another in memory: no dimension of more than 1 is before the steps'.
        """
        for op in self._body.operators:
            if op.name not in ("GATHER", "SLICE", "STRIDED_SLICE") or op.inputs[0] not in self._body.inputs:
                continue
            place = self._body.inputs.index(op.inputs[0])
            shape, picked = (self._body.tensors[tensor].shape for tensor in (op.inputs[0], op.outputs[0]))
            is_row = self._body.tensors[op.inputs[0]].dtype is DType.FLOAT32 and math.prod(picked) == batch * shape[-1]
            tensor, axis = self._index(op)
            is_first = math.prod(shape[:axis]) == 1
            if is_row and is_first and self._body.outputs[place] == op.inputs[0] and self._is_counter(tensor):
                return place, op
        return None

    def _index(self, pick: FileOperator) -> tuple[int, int]:
        """The tensor of the row's number, as far as it can be told, and the dimension that it counts along.

        Where it cannot be told, the tensor of all the pick's starts.
        """
        if pick.name == "GATHER":
            rank, axis = len(self._body.tensors[pick.inputs[0]].shape), int((pick.options or {}).get("axis", 0))
            return self._source(pick.inputs[1]), axis % rank
        return self._start(pick.inputs[1])

    def _start(self, starts: int) -> tuple[int, int]:
        """The only tensor of starts that are else zeros, and its dimension; the tensor of all of them otherwise."""
        tensor = self._source(starts)
        op = self._producers.get(tensor)
        if op is None or op.name not in ("PACK", "CONCATENATION"):
            return tensor, 0
        constants = [self._body.tensors[part].data for part in op.inputs]
        variable = [place for place, data in enumerate(constants) if data is None]
        if len(variable) != 1 or any(data is not None and any(data) for data in constants):
            return tensor, 0
        sizes = [math.prod(self._body.tensors[part].shape) for part in op.inputs[: variable[0]]]
        return self._source(op.inputs[variable[0]]), sum(sizes)

    def _is_counter(self, tensor: int) -> bool:
        """Whether a tensor is a loop variable that counts 0, 1, 2 …"""
        if tensor not in self._body.inputs:
            return False
        place = self._body.inputs.index(tensor)
        start, step = self._graph.tensors[self._loop.inputs[place]], self._producer(self._body.outputs[place], "ADD")
        if start.data is None or any(start.data) or step is None:
            return False
        others = [self._body.tensors[part] for part in step.inputs if part != tensor]
        return len(others) == 1 and others[0].data is not None and bool((constant_values(others[0]) == 1).all())

    def _runs(self, steps: int) -> bool:
        """Whether the loop runs `steps` times: the least of the limits of its counters."""
        limits = self._limits(self._condition.outputs[0])
        return limits is not None and min(limits) == steps

    def _limits(self, tensor: int) -> list[int] | None:
        op = next((op for op in self._condition.operators if tensor in op.outputs), None)
        if op is not None and op.name == "LOGICAL_AND":
            both = [self._limits(operand) for operand in op.inputs]
            return None if both[0] is None or both[1] is None else both[0] + both[1]
        if (
            op is None
            or traits_of(op.name).compares is not Comparison.LESS
            or op.inputs[0] not in self._condition.inputs
        ):
            return None
        place = self._condition.inputs.index(op.inputs[0])
        limit = self._condition.tensors[op.inputs[1]]
        is_known = limit.data is not None and limit.dtype in (DType.INT32, DType.INT64)
        return (
            [int(constant_values(limit).reshape(-1)[0])]
            if is_known and self._is_counter(self._body.inputs[place])
            else None
        )

    def _sums(self, cell: _Cell, pick: FileOperator, sizes: tuple[int, int, int]) -> list[Array] | None:
        """Coefficients of the sums of each gate: [cells, features + cells + 1], the same for all of a batch.

        sizes  batch, features and cells
        """
        batch, features, cells = sizes
        identity = np.eye(batch * (features + cells) + 1)
        row, hidden = pick.outputs[0], self._body.inputs[cell.hidden]
        leaves = {
            row: identity[: batch * features].reshape(*self._body.tensors[row].shape, -1),
            hidden: identity[batch * features : -1].reshape(*self._body.tensors[hidden].shape, -1),
        }
        affine = AffineFunctions(self._body, self._producers, len(identity), leaves)
        sums = []
        for gate in cell.gates:
            coefficients = affine.of(gate)
            if coefficients is None or coefficients.size != batch * cells * len(identity):
                return None
            sums.append(_sequence_coefficients(coefficients.reshape(batch, cells, -1), features))
        known = [s for s in sums if s is not None]
        return known if len(known) == len(sums) else None

    def _results(
        self, cell: _Cell, steps: int, replaced: frozenset[OperatorKey]
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | str:
        """Places of variables that are h' in another shape, and of those with all h'.

        A sentence if the layer lacks a result of the loop.
        """
        left_out = {*replaced, *((self._graph.index, index) for index in idle_views(self._graph))}
        others = [op for op in self._graph.operators if (self._graph.index, op.index) not in left_out]
        read = {tensor for op in others for tensor in op.inputs} | set(self._graph.outputs)
        hidden = self._source(self._body.outputs[cell.hidden])
        last = [
            place
            for place, tensor in enumerate(self._body.outputs)
            if place != cell.hidden and self._source(tensor) == hidden
        ]
        all_rows = [place for place in range(len(self._body.outputs)) if self._holds_all(place, hidden, steps)]
        for place, tensor in enumerate(self._loop.outputs):
            if tensor in read and place not in (cell.hidden, *last, *all_rows):
                return (
                    "the cell state after the last step is read"
                    if place == cell.cell
                    else f"variable {place}, which is read after the loop, is not h after the last step or each"
                )
        return tuple(last), tuple(all_rows)

    def _holds_all(self, place: int, hidden: int, steps: int) -> bool:
        """Whether a variable gets h' as row t in step t, and has no other rows."""
        op = self._producers.get(self._source(self._body.outputs[place]))
        store = self._store(op) if op is not None else None
        if store is None or self._source(store.row) != hidden or not self._is_counter(store.index):
            return False
        return store.list == self._body.inputs[place] and self._body.tensors[store.list].shape[0] == steps

    def _store(self, op: FileOperator) -> RowStore | None:
        """The store of one row along the first dimension that an operator is, or None."""
        if op.name != "DYNAMIC_UPDATE_SLICE":
            return self._stores.get(op.index)
        whole, row, starts = op.inputs
        index, axis = self._start(starts)
        shape, row_shape = (self._body.tensors[tensor].shape for tensor in (whole, row))
        is_row = axis == 0 and (1, *shape[1:]) == tuple(row_shape)
        return RowStore(whole, index, row) if is_row else None


def _sequence_coefficients(coefficients: Array, features: int) -> Array | None:
    """Coefficients of one sequence of a batch; None if sequences depend on each other, or are computed differently.

    coefficients  [batch, cells, terms]: all features, all states, and the constant term
    """
    batch, cells, _ = coefficients.shape
    own, rest = [], coefficients.copy()
    for number in range(batch):
        rows = slice(number * features, (number + 1) * features)
        first = batch * features + number * cells
        places = (rows, slice(first, first + cells), slice(-1, None))
        own.append(np.concatenate([coefficients[number, :, place] for place in places], axis=-1))
        for place in places:
            rest[number, :, place] = 0
    is_same = all(np.array_equal(own[0], other) for other in own)
    return own[0] if is_same and not rest.any() else None


def _orders(operands: Sequence[int]) -> list[tuple[int, int]]:
    return [(operands[0], operands[1]), (operands[1], operands[0])] if len(operands) == 2 else []
