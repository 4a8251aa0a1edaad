"""References between subgraphs: bindings, call order, and recursion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.tflite.model import FileOperator, Model

CONTROL_FLOW = {
    "IF": ("then_subgraph_index", "else_subgraph_index"),
    "WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "STABLEHLO_WHILE": ("cond_subgraph_index", "body_subgraph_index"),
    "CALL": ("subgraph",),
    "STABLEHLO_COMPOSITE": ("decomposition_subgraph_index",),
}
"""Operators that become control flow, with the options that name their subgraphs, in order."""


CALLS = frozenset({"CALL", "STABLEHLO_COMPOSITE"})
"""Operators that run one subgraph once; that of a composite is its decomposition."""


OperatorKey = tuple[int, int]
"""Index of a subgraph and of an operator in it."""


@dataclass(frozen=True, slots=True)
class Binding:
    """One operator that runs a subgraph: its operands by input of the subgraph, and its results by output."""

    subgraph: int
    operands: tuple[int, ...]
    results: tuple[int, ...]


def references(op: FileOperator) -> tuple[int, ...]:
    """Indices of the subgraphs that an operator refers to."""
    options = op.options or {}
    return tuple(int(options[name]) for name in CONTROL_FLOW.get(op.name, ()) if name in options)


def bindings(op: FileOperator) -> tuple[Binding, ...]:
    """The subgraphs that an operator runs, in the order of its options; a loop's condition gives no results."""
    options = op.options or {}
    indices = [int(options[name]) for name in CONTROL_FLOW.get(op.name, ())]
    branches = options.get("branch_subgraph_indices")
    if branches is not None:
        indices = [int(index) for index in branches]
    if is_loop(op):
        return Binding(indices[0], op.inputs, ()), Binding(indices[1], op.inputs, op.outputs)
    chooses = op.name == "IF" or branches is not None
    return tuple(Binding(index, op.inputs[1:] if chooses else op.inputs, op.outputs) for index in indices)


def is_loop(op: FileOperator) -> bool:
    """Whether the operator is a WHILE."""
    return "cond_subgraph_index" in (op.options or {})


def fused_activation(op: FileOperator) -> int:
    """The schema's number of the activation that an operator applies to its result; 0: none."""
    return int((op.options or {}).get("fused_activation_function", 0))


def call_order(model: Model, entries: Sequence[int]) -> tuple[int, ...]:
    """Subgraphs reachable from `entries`, callees before callers. Raises ModelError on recursion."""
    order: dict[int, None] = {}
    stack: list[tuple[int, list[int]]] = []

    def push(index: int) -> None:
        callees = [i for op in model.subgraphs[index].operators for i in references(op)]
        stack.append((index, list(dict.fromkeys(callees))))

    for entry in entries:
        if entry in order:
            continue
        push(entry)
        while stack:
            index, pending = stack[-1]
            if not pending:
                order[index] = None
                stack.pop()
                continue
            callee = pending.pop(0)
            chain = [i for i, _ in stack]
            if callee in chain:
                names = [model.subgraphs[i].name or f"subgraph {i}" for i in [*chain[chain.index(callee) :], callee]]
                location = Location(model.name, callee, model.subgraphs[callee].name)
                text = "calls itself: " + " -> ".join(f"'{name}'" for name in names)
                raise ModelError([Problem(location, text, "Recursion cannot be compiled; write it as a While")])
            if callee not in order:
                push(callee)
    return tuple(order)
