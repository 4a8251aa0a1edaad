"""Variables that hold the state of a layer from one invoke to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from tflmgen.frontend.model_graph.subgraphs import OperatorKey
from tflmgen.frontend.model_graph.tensor_values import constant_values
from tflmgen.frontend.shape_bounds import TensorKey
from tflmgen.frontend.tflite.model import FileOperator, Model, SubGraph
from tflmgen.frontend.variables import variable_name


@dataclass(frozen=True, slots=True)
class CarriedState:
    """A variable of zeros at first, which a subgraph reads once and assigns once.

    next       tensor that is assigned
    operators  all that access the variable, and its handles
    """

    next: int
    operators: frozenset[OperatorKey]


def carried_states(model: Model) -> dict[TensorKey, CarriedState]:
    """Variables that are read once and assigned once, and beside that only initialised, by the tensor that is read."""
    accesses = defaultdict[str, list[tuple[SubGraph, FileOperator]]](list)
    for graph in model.subgraphs:
        for name, op in _accesses(graph):
            accesses[name].append((graph, op))
    first = {int((op.options or {})["init_subgraph_index"]) for op in _initialisers(model)}
    states = {}
    for uses in accesses.values():
        operators = frozenset((graph.index, op.index) for graph, op in uses)
        own = [(graph, op) for graph, op in uses if op.name != "VAR_HANDLE"]
        inner = [(graph, op) for graph, op in own if graph.index not in first]
        if [op.name for _, op in inner] != ["READ_VARIABLE", "ASSIGN_VARIABLE"] or inner[0][0] is not inner[1][0]:
            continue
        if all(_assigns_zeros(graph, op) for graph, op in own if graph.index in first):
            (graph, read), (_, assign) = inner
            states[graph.index, read.outputs[0]] = CarriedState(assign.inputs[1], operators)
    return states


def without_operators(model: Model, operators: Collection[OperatorKey]) -> Model:
    """The Model without these operators, and without CALL_ONCE of subgraphs that have none left."""
    graphs = [
        replace(graph, operators=tuple(op for op in graph.operators if (graph.index, op.index) not in operators))
        for graph in model.subgraphs
    ]
    idle = {
        (graph.index, op.index)
        for graph in model.subgraphs
        for op in graph.operators
        if op.name == "CALL_ONCE" and not graphs[int((op.options or {})["init_subgraph_index"])].operators
    }
    kept = [
        replace(graph, operators=tuple(op for op in graph.operators if (graph.index, op.index) not in idle))
        for graph in graphs
    ]
    return replace(model, subgraphs=tuple(kept))


def _accesses(graph: SubGraph) -> Iterator[tuple[str, FileOperator]]:
    """Operators that make a handle or take one, by the variable's name.."""
    handles: dict[int, str] = {}
    for op in graph.operators:
        if op.name == "VAR_HANDLE":
            handles[op.outputs[0]] = variable_name(op)
            yield variable_name(op), op
        else:
            for tensor in op.inputs:
                if tensor in handles:
                    yield handles[tensor], op


def _initialisers(model: Model) -> Iterator[FileOperator]:
    return (op for graph in model.subgraphs for op in graph.operators if op.name == "CALL_ONCE")


def _assigns_zeros(graph: SubGraph, op: FileOperator) -> bool:
    value = graph.tensors[op.inputs[1]] if op.name == "ASSIGN_VARIABLE" else None
    return value is not None and value.data is not None and not constant_values(value).any()
