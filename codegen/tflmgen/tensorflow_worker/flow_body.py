"""Bodies of a graph: its own or a function's nodes by the names of their tensors, in an order in which they can run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tensorflow.python.framework import op_def_registry

from tflmgen.tensorflow_worker.graph_functions import full_name, node_name

PASSED = frozenset({"Identity", "StopGradient"})
"""Operations whose result is their operand."""


class FlowBody:
    """The nodes of a graph or function; arguments and results by the names of their tensors, "name:0"."""

    def __init__(self, nodes: Any, arguments: Sequence[str], results: Sequence[str], name: str = "") -> None:
        self.name = name
        self.nodes: dict[str, Any] = {node.name: node for node in nodes}
        self.arguments = [full_name(argument) for argument in arguments]
        self.results = [full_name(result) for result in results]

    @staticmethod
    def of_function(function: Any) -> FlowBody:
        """A function of a graph's library."""
        arguments = [argument.name for argument in function.signature.input_arg]
        results = [function.ret[result.name] for result in function.signature.output_arg]
        return FlowBody(function.node_def, arguments, results, function.signature.name)

    def in_order(self) -> list[Any]:
        """The nodes that the results need and those with a state, each behind what it reads or waits for."""
        roots = [node.name for node in self.nodes.values() if is_stateful(node)]
        roots += [node_name(result) for result in self.results]
        done: dict[str, None] = {}
        # A node is entered twice: behind the second time is what it needs.
        pending = [(name, False) for name in reversed(roots)]
        entered: set[str] = set()
        while pending:
            name, is_second = pending.pop()
            if name not in self.nodes:
                continue
            if is_second:
                done.setdefault(name)
            elif name not in entered:
                entered.add(name)
                pending.append((name, True))
                pending += [(node_name(operand), False) for operand in reversed(self.nodes[name].input)]
        return [self.nodes[name] for name in done]

    def source_of(self, tensor: str) -> str:
        """The tensor, "name:0", that this one is another name of."""
        tensor = full_name(tensor)
        while (node := self.nodes.get(node_name(tensor))) is not None and node.op in PASSED:
            tensor = full_name(node.input[0])
        return tensor


def is_stateful(node: Any) -> bool:
    """Whether a node may do more than compute its results."""
    definition = op_def_registry.get(node.op)
    return definition is None or (bool(definition.is_stateful) and node.op != "ReadVariableOp")


def output_names(node: Any) -> Iterator[tuple[str, str]]:
    """The two names of each output of a node: a graph's, by its number, and a function's, by its argument."""
    definition = op_def_registry.get(node.op)
    number = 0
    for argument in () if definition is None else definition.output_arg:
        for place in range(_count(argument, node.attr)):
            yield f"{node.name}:{number}", f"{node.name}:{argument.name}:{place}"
            number += 1


def _count(argument: Any, attributes: Mapping[str, Any]) -> int:
    if argument.number_attr:
        return int(attributes[argument.number_attr].i)
    return len(attributes[argument.type_list_attr].list.type) if argument.type_list_attr else 1
