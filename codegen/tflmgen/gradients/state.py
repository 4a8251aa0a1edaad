"""Variables of a training model: handles, reads and assignments, and the graph that gives their first contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.frontend.tflite import FileTensor
from tflmgen.gradients.flow_graph import INITIALISER, FlowGraph
from tflmgen.ir import DType

_SCALAR_HANDLE: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainingVariable:
    """A variable by its name, with its type and first contents."""

    name: str
    tensor: FileTensor

    @staticmethod
    def zeros(name: str, shape: tuple[int, ...], dtype: DType = DType.FLOAT32) -> TrainingVariable:
        """A variable that begins with zeros."""
        data = np.zeros(shape, dtype.numpy).tobytes()
        return TrainingVariable(name, FileTensor.added(0, name, dtype, shape, data))


class VariableAccess:
    """Access of a graph to variables: one handle for each."""

    def __init__(self, graph: FlowGraph) -> None:
        self.graph = graph
        self._handles: dict[str, int] = {}

    def handle(self, variable: TrainingVariable) -> int:
        """The variable's handle."""
        if variable.name not in self._handles:
            handle = FileTensor(0, variable.name, None, "resource", (), None, True, None, None, False, 0)
            self._handles[variable.name] = self.graph.copy_tensor(handle)
            options = {"container": "", "shared_name": variable.name}
            self.graph.add_node("VAR_HANDLE", [], [self._handles[variable.name]], options)
        return self._handles[variable.name]

    def read(self, variable: TrainingVariable) -> int:
        """The variable's contents."""
        value = self.graph.copy_tensor(replace(variable.tensor, data=None, buffer=0))
        self.graph.add_node("READ_VARIABLE", [self.handle(variable)], [value])
        return value

    def assign(self, variable: TrainingVariable, value: int) -> None:
        """Gives the variable new contents."""
        self.graph.add_node("ASSIGN_VARIABLE", [self.handle(variable), value], [])


def initialiser(variables: Sequence[TrainingVariable]) -> FlowGraph:
    """A graph that assigns first contents."""
    graph = FlowGraph("initial_weights")
    state = VariableAccess(graph)
    for variable in variables:
        state.assign(variable, graph.copy_tensor(variable.tensor))
    return graph


def initialise_once(graph: FlowGraph, first: FlowGraph) -> None:
    """Has a graph begin with the initialisation, which runs once."""
    node = graph.add_node("CALL_ONCE", [], [])
    node.graphs, node.graph_options = [first], (INITIALISER,)
