"""A loaded source: its entry points as functions of TensorFlow, with names and types in the source's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

WRITES = frozenset({"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatterUpdate"})
"""Operations that change a variable."""


@dataclass(frozen=True)
class Port:
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
class Entry:
    """An entry point. `function` is a ConcreteFunction that takes and returns tensors in the order of the ports."""

    key: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    function: Any


@dataclass(frozen=True)
class Program:
    """All entry points of a source. `keep_alive` owns their variables."""

    entries: Sequence[Entry]
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
    return any(node.op in WRITES for nodes in bodies for node in nodes)


def port_of(name: str, tensor: Any) -> Port:
    """The port of a tensor or TensorSpec."""
    shape = tensor.shape
    dims = tuple(-1 if dim is None else int(dim) for dim in shape) if shape.rank is not None else None
    return Port(name, tensor.dtype.base_dtype.name, dims)
