"""References between subgraphs: call order, recursion, and subgraphs with state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.kept_state import keeps_state
from tflmgen.frontend.tflite.model import Model, Operator
from tflmgen.kernels import Operators

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


def references(op: Operator) -> tuple[int, ...]:
    """Indices of the subgraphs that an operator refers to."""
    options = op.options or {}
    return tuple(int(options[name]) for name in CONTROL_FLOW.get(op.name, ()) if name in options)


def bindings(op: Operator) -> tuple[Binding, ...]:
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


def is_loop(op: Operator) -> bool:
    """Whether the operator is a WHILE."""
    return "cond_subgraph_index" in (op.options or {})


def fused_activation(op: Operator) -> int:
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


def stateful_subgraphs(model: Model, operators: Operators) -> frozenset[int]:
    """Subgraphs that access variables, directly or through others."""
    accesses = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"})
    also = {s.index for s in model.subgraphs if any(t.is_variable for t in s.tensors)} | _keeping(model, operators)
    return _reaching(model, accesses, also)


def assigning_subgraphs(model: Model, operators: Operators) -> frozenset[int]:
    """Subgraphs that assign variables or keep state, directly or through others."""
    return _reaching(model, frozenset({"ASSIGN_VARIABLE"}), _keeping(model, operators))


def _keeping(model: Model, operators: Operators) -> set[int]:
    """Subgraphs with operators that keep state of their own."""
    return {s.index for s in model.subgraphs if any(keeps_state(op, operators) for op in s.operators)}


def _reaching(model: Model, names: frozenset[str], also: Collection[int]) -> frozenset[int]:
    """Subgraphs that are in `also` or contain an operator of `names`, and all that refer to them, transitively."""
    reached = set(also) | {s.index for s in model.subgraphs if any(op.name in names for op in s.operators)}
    while True:
        added = {s.index for s in model.subgraphs if any(i in reached for op in s.operators for i in references(op))}
        if added <= reached:
            return frozenset(reached)
        reached |= added
