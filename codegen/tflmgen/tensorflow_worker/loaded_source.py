"""A loaded source: its entry points as functions of TensorFlow, with names and types in the source's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any


class SourceError(Exception):
    """Something about the source that its owner can mend."""

    def __init__(self, rule: str, advice: str = "") -> None:
        super().__init__(rule)
        self.rule, self.advice = rule, advice


WRITES = frozenset({"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatterUpdate"})
"""Operations that change a variable."""
UPDATES = ("ResourceApply", "ResourceScatter", "ResourceSparseApply", "ResourceStridedSliceAssign")
"""Beginnings of the names of operations that change variables by arithmetic."""


@dataclass(frozen=True)
class LoadedPort:
    """An input or output.

    dtype  NumPy's name of the element type
    shape  -1 where it is known at run time only; None: not even its rank is known
    """

    name: str
    dtype: str
    shape: tuple[int, ...] | None

    @property
    def description(self) -> dict[str, Any]:
        """The port as JSON, for the process that asked."""
        return {"name": self.name, "dtype": self.dtype, "shape": None if self.shape is None else list(self.shape)}


@dataclass(frozen=True)
class LoadedEntry:
    """An entry point. `function` is a ConcreteFunction that takes and returns tensors in the order of the ports."""

    key: str
    inputs: tuple[LoadedPort, ...]
    outputs: tuple[LoadedPort, ...]
    function: Any


@dataclass(frozen=True)
class LoadedProgram:
    """All entry points of a source. `keep_alive` owns their variables."""

    entries: Sequence[LoadedEntry]
    keep_alive: Any = None

    @cached_property
    def variables(self) -> list[Any]:
        """Variables of all entries, each once."""
        variables = {id(v): v for entry in self.entries for v in entry.function.graph.variables}
        return list(variables.values())

    @cached_property
    def is_stateful(self) -> bool:
        """Whether an entry changes a variable, so that one invoke depends on those before it."""
        return any(writes_variables(entry.function.graph.as_graph_def()) for entry in self.entries)

    @property
    def description(self) -> dict[str, Any]:
        """All entry points as JSON, for the process that asked."""
        return {
            "entries": [
                {
                    "key": entry.key,
                    "inputs": [port.description for port in entry.inputs],
                    "outputs": [port.description for port in entry.outputs],
                }
                for entry in self.entries
            ],
            "stateful": self.is_stateful,
        }


def writes_variables(graph_def: Any) -> bool:
    """Whether a node of the graph, or of a function in its library, changes a variable."""
    bodies = [graph_def.node, *(function.node_def for function in graph_def.library.function)]
    return any(changes_variable(node) for nodes in bodies for node in nodes)


def changes_variable(node: Any) -> bool:
    """Whether a node itself changes a variable."""
    return bool(node.op in WRITES or node.op.startswith(UPDATES))


def port_of(name: str, tensor: Any) -> LoadedPort:
    """The port of a tensor or TensorSpec."""
    shape = tensor.shape
    dims = tuple(-1 if dim is None else int(dim) for dim in shape) if shape.rank is not None else None
    return LoadedPort(name, tensor.dtype.base_dtype.name, dims)
