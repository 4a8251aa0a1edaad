"""WHILE and IF with their subgraphs: loop variables, rows that iterations store, and values from outside.

A loop's operands are a counter, perhaps its condition, its variables, one buffer for each stack of rows, and all that
the body or the condition takes from outside, which passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.frontend.onnx.element_graph import BOOL, I32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import LayoutGraph, OnnxValue, Shape, constant, stored_shape
from tflmgen.frontend.onnx.node import GraphLowering
from tflmgen.frontend.onnx.node_error import NodeError
from tflmgen.frontend.onnx.open_size import OpenSize, has_open
from tflmgen.ir import DType


@dataclass(frozen=True, slots=True)
class Iteration:
    """Results of one iteration: whether another follows (None: yes), its variables, and its rows."""

    follows: OnnxValue | None
    variables: Sequence[OnnxValue]
    rows: Sequence[OnnxValue] = ()


Body = Callable[[Graph, OnnxValue, OnnxValue | None, Sequence[OnnxValue]], Iteration]
"""(subgraph, number of the iteration as int32, condition, variables) -> what the iteration gives."""


@dataclass(slots=True)
class LoopBuilder:
    """A loop to be built.

    trips      number of iterations, None: no limit; a constant where there are rows
    condition  whether the first iteration runs; None: it does
    backward   stacks of rows that are stored from the last place on
    """

    walker: GraphLowering
    graph: Graph
    name: str
    trips: OnnxValue | None
    condition: OnnxValue | None
    inits: Sequence[OnnxValue]
    body: Body
    backward: Sequence[bool] = ()

    def build(self) -> tuple[list[OnnxValue], list[OnnxValue]]:
        """The variables' last values, and the rows on top of each other."""
        if self.condition is not None and self.condition.constant is not None:
            if not self.condition.constant.all():
                self.trips = constant(0, I32)
            self.condition = None
        count = None if self.trips is None or self.trips.constant is None else int(self.trips.constant.reshape(-1)[0])
        if count is not None and count <= 1 and self.condition is None:
            return self._without_loop(max(count, 0))
        orders = [value.order for value in self.inits]
        has_condition = self.condition is not None
        for attempt in range(4):
            kept = len(self.walker.builder.subgraphs)
            body = self.walker.new_graph(f"{self.name}_body", self.graph)
            entries = self._entries(body, orders, has_condition)
            iteration = self.body(body, entries[0], entries[1], entries[2])
            self._check(iteration)
            ends = iteration.follows is not None and not _is_true(iteration.follows)
            wanted = [value.order for value in iteration.variables]
            new_orders = [w if v.constant is None and not v.is_plain else o
                     for w, o, v in zip(wanted, orders, iteration.variables, strict=True)]  # fmt: skip
            if ends and not has_condition:
                has_condition, new_orders = True, orders
            elif attempt >= 2 or new_orders == orders:
                return self._finish(body, entries, iteration, orders, has_condition, count)
            orders = new_orders
            self.walker.drop_graphs(kept)
        raise AssertionError("a loop's layouts are settled")

    def _without_loop(self, count: int) -> tuple[list[OnnxValue], list[OnnxValue]]:
        """No iteration, or one, which needs no loop."""
        if not count:
            kept = len(self.walker.builder.subgraphs)
            trial = self.walker.new_graph(f"{self.name}_trial", self.graph)
            rows = self.body(trial, constant(0, I32), constant(True, BOOL), self.inits).rows
            self.walker.drop_graphs(kept)
            empty = [constant(np.zeros((0, *row.shape), row.dtype.numpy)) for row in rows]
            return list(self.inits), empty
        iteration = self.body(self.graph, constant(0, I32), constant(True, BOOL), self.inits)
        return list(iteration.variables), [self.graph.unsqueeze(row, 0) for row in iteration.rows]

    def _entries(
        self, body: Graph, orders: Sequence[tuple[int, ...]], has_condition: bool
    ) -> tuple[OnnxValue, OnnxValue | None, list[OnnxValue], list[int]]:
        inputs = [body.new_tensor(I32, (), f"{self.name}_iteration")]
        condition: OnnxValue | None = constant(True, BOOL)
        if has_condition:
            inputs.append(body.new_tensor(BOOL, (), f"{self.name}_condition"))
            condition = body.value(inputs[-1])
        variables = []
        for place, (value, order) in enumerate(zip(self.inits, orders, strict=True)):
            inputs.append(body.new_tensor(value.dtype, stored_shape(value.shape, order), f"{self.name}_{place}"))
            variables.append(body.value(inputs[-1], value.shape, order))
        return body.value(inputs[0]), condition, variables, inputs

    def _check(self, iteration: Iteration) -> None:
        for place, (before, after) in enumerate(zip(self.inits, iteration.variables, strict=True)):
            if (before.dtype, before.shape) != (after.dtype, after.shape):
                a, b = (f"{v.dtype.label}[{','.join(map(str, v.shape))}]" for v in (before, after))
                raise NodeError(f"has a loop variable {place} that is {a} at first and {b} after an iteration")

    def _finish(
        self,
        body: Graph,
        entries: tuple[OnnxValue, OnnxValue | None, list[OnnxValue], list[int]],
        iteration: Iteration,
        orders: Sequence[tuple[int, ...]],
        has_condition: bool,
        count: int | None,
    ) -> tuple[list[OnnxValue], list[OnnxValue]]:
        g, (number, _, _, inputs) = self.graph, entries
        outputs = [body.laid(body.add(number, 1))]
        operands = [g.laid(constant(0, I32))]
        if has_condition:
            outputs.append(body.laid(iteration.follows if iteration.follows is not None else constant(True, BOOL), ()))
            operands.append(g.laid(self.condition if self.condition is not None else constant(True, BOOL), ()))
        outputs += [body.laid(value, order) for value, order in zip(iteration.variables, orders, strict=True)]
        operands += [g.laid(value, order) for value, order in zip(self.inits, orders, strict=True)]
        for place, row in enumerate(iteration.rows):
            buffer, stored = self._store(body, row, number, count, place, has_condition)
            inputs.append(buffer)
            outputs.append(stored)
            operands.append(g.constant(np.zeros(body.tensors[buffer].shape, row.dtype.numpy)))
        loop_tensors = self._while(body, inputs, outputs, operands, has_condition)
        first = 1 + has_condition
        finals = [
            g.value(tensor, value.shape, order)
            for tensor, value, order in zip(loop_tensors[first:], self.inits, orders, strict=False)
        ]
        stacks = []
        for row, tensor in zip(iteration.rows, loop_tensors[first + len(finals) :], strict=False):
            order = (0, *(axis + 1 for axis in row.order))
            stacks.append(g.value(tensor, (count or 0, *row.shape), order))
        return finals, stacks

    def _while(
        self, body: Graph, inputs: Sequence[int], outputs: Sequence[int], operands: Sequence[int], has_condition: bool
    ) -> list[int]:
        """The operator, with what its subgraphs take from outside as further operands."""
        g, condition = self.graph, self._condition(body, inputs, has_condition)
        keys = passed_keys(body, condition)
        passed = {graph: [graph.own(outside(key)).tensor for key in keys] for graph in (body, condition)}
        condition.builder.inputs = [*condition.builder.inputs, *passed[condition]]
        body.builder.inputs = [*inputs, *passed[body]]
        body.builder.outputs = [*outputs, *passed[body]]
        operands = [*operands, *(g.own(outside(key)).tensor for key in keys)]
        results = [(self._dtype_of(g, t), g.shape_of(t), g.tensors[t].quantization) for t in operands]
        options = {"cond_subgraph_index": condition.index, "body_subgraph_index": body.index}
        return g.operator("WHILE", operands, results, options)

    def _dtype_of(self, g: Graph, tensor: int) -> DType:
        dtype = g.tensors[tensor].dtype
        assert dtype is not None
        return dtype

    def _store(
        self, body: Graph, row: OnnxValue, number: OnnxValue, count: int | None, place: int, ends: bool
    ) -> tuple[int, int]:
        """The buffer of a stack of rows, and the buffer with this iteration's row."""
        if count is None or ends:
            raise NodeError(
                "stacks a row of each iteration, but their number is known at run time only",
                "Give it a constant trip count and no condition that ends it",
            )
        order = (0, *(axis + 1 for axis in row.order))
        stacked = (count, *row.shape)
        buffer = body.new_tensor(row.dtype, stored_shape(stacked, order), f"{self.name}_rows{place}")
        update = body.laid(body.unsqueeze(row, 0), order)
        at = body.sub(constant(count - 1, I32), number) if self.backward and self.backward[place] else number
        return buffer, body.with_row(buffer, update, at)

    def _condition(self, body: Graph, inputs: Sequence[int], has_condition: bool) -> Graph:
        """The subgraph that says whether another iteration runs."""
        graph = self.walker.new_graph(f"{self.name}_condition", self.graph)
        tensors = [body.tensors[tensor] for tensor in inputs]
        operands = [graph.new_tensor(self._dtype_of(body, t.index), body.shape_of(t.index), t.name) for t in tensors]
        graph.builder.inputs = operands
        follows: OnnxValue | None = None
        if self.trips is not None:
            limit = graph.reshape(graph.cast(self.trips, I32), ())
            follows = graph.less(graph.value(operands[0]), limit)
        if has_condition:
            condition = graph.value(operands[1])
            follows = condition if follows is None else graph.logical_and(follows, condition)
        graph.builder.outputs = [graph.laid(follows if follows is not None else constant(True, BOOL))]
        return graph


def passed_keys(*graphs: Graph) -> list[tuple[LayoutGraph | None, int]]:
    """Tensors of outer graphs that any of these subgraphs takes."""
    return list(dict.fromkeys(key for graph in graphs for key in graph.captured))


def outside(key: tuple[LayoutGraph | None, int]) -> OnnxValue:
    """The value of a tensor of an outer graph, as it lies there."""
    graph, tensor = key
    assert graph is not None
    return graph.value(tensor)


def _is_true(value: OnnxValue) -> bool:
    return value.constant is not None and bool(value.constant.all())


def branch(
    walker: GraphLowering, g: Graph, condition: OnnxValue, branches: Sequence[Callable[[Graph], list[OnnxValue]]]
) -> list[OnnxValue]:
    """IF: the results of the first or the second branch."""
    graphs = [walker.new_graph(f"{g.node or g.name}_{name}", g) for name in ("then", "else")]
    results = [make(graph) for make, graph in zip(branches, graphs, strict=True)]
    if len(results[0]) != len(results[1]):
        raise NodeError("has branches with different numbers of results")
    orders, shapes = [], []
    for place, (a, b) in enumerate(zip(*results, strict=True)):
        shapes.append(_either_shape(a.shape, b.shape))
        if a.dtype is not b.dtype or shapes[-1] is None:
            texts = [f"{v.dtype.label}[{','.join(map(str, v.shape))}]" for v in (a, b)]
            raise NodeError(f"has a result {place} that is {texts[0]} in one branch and {texts[1]} in the other")
        orders.append(a.order if not a.is_plain else b.order)
    for graph, values in zip(graphs, results, strict=True):
        graph.builder.outputs = [graph.laid(value, order) for value, order in zip(values, orders, strict=True)]
    # After laid() of all results, since it adds the outside values that are results to those that are passed in.
    keys = passed_keys(*graphs)
    for graph in graphs:
        graph.builder.inputs = [graph.own(outside(key)).tensor for key in keys]
    operands = [g.laid(g.reshape(condition, ())), *(g.own(outside(key)).tensor for key in keys)]
    joined = [shape for shape in shapes if shape is not None]
    kinds = zip(results[0], joined, orders, strict=True)
    outputs = [(v.dtype, stored_shape(shape, order), None) for v, shape, order in kinds]
    options = {"then_subgraph_index": graphs[0].index, "else_subgraph_index": graphs[1].index}
    tensors = g.operator("IF", operands, outputs, options)
    return [g.value(t, shape, order) for t, shape, order in zip(tensors, joined, orders, strict=True)]


def _either_shape(a: Shape, b: Shape) -> Shape | None:
    """The shape of a result that two branches compute, with sizes that differ where the data decide one of them."""
    if len(a) != len(b) or any(m != n and not has_open((m, n)) for m, n in zip(a, b, strict=True)):
        return None
    return tuple(m if m == n else OpenSize() for m, n in zip(a, b, strict=True))
