"""Worst-case path of an invoke: the more expensive branch of each If, each While at its iteration limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.emulators import Blocks, blocks_of

Plan = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PathCost:
    """Instructions and cycles of a path. `instructions` is None if a part was estimated, which gives cycles only."""

    instructions: int | None = 0
    cycles: int = 0

    def __add__(self, addend: PathCost) -> PathCost:
        return self._combined(addend, lambda a, b: a + b)

    def times(self, runs: int) -> PathCost:
        """Cost of as many runs of this path."""
        return self._combined(self, lambda a, _: a * runs)

    def maximum(self, alternative: PathCost) -> PathCost:
        """The greater instructions and the greater cycles of both paths, each for itself."""
        return self._combined(alternative, max)

    def _combined(self, operand: PathCost, joined: Callable[[int, int], int]) -> PathCost:
        is_counted = self.instructions is not None and operand.instructions is not None
        instructions = joined(self.instructions or 0, operand.instructions or 0) if is_counted else None
        return PathCost(instructions, joined(self.cycles, operand.cycles))


@dataclass(frozen=True, slots=True)
class WorstCase:
    """Cost of the worst-case path.

    cost       of its operators only; None if a step's cost or a loop's limit is unknown
    unbounded  step indices of loops without an iteration limit
    unknown    step indices of operators without a cost
    """

    cost: PathCost | None
    unbounded: tuple[int, ...]
    unknown: tuple[int, ...]


def worst_case_path(plan: Plan, function: str, costs: Mapping[int, PathCost]) -> WorstCase | None:
    """Worst case of one invoke of `function`; None if it has neither If nor While.

    costs  step index -> cost of one execution
    """
    search = _Search(plan, costs)
    cost = search.function(function)
    if not search.branches:
        return None
    unbounded, unknown = tuple(search.unbounded), tuple(search.unknown)
    return WorstCase(None if unbounded or unknown else cost, unbounded, unknown)


class _Search:
    def __init__(self, plan: Plan, costs: Mapping[int, PathCost]) -> None:
        self._costs = costs
        self._blocks: Blocks = blocks_of(plan["steps"])
        self._entries = {s["function"]: s["index"] for s in plan["steps"] if s["kind"] == "entry"}
        self._limits = {loop["step"]: loop["max_iterations"] for loop in plan.get("loops", ())}
        self._functions: dict[str, PathCost] = {}
        self.branches = False
        self.unbounded: dict[int, None] = {}
        self.unknown: dict[int, None] = {}

    def function(self, name: str) -> PathCost:
        if name not in self._functions:
            self._functions[name] = self._block(self._entries[name], 0)
        return self._functions[name]

    def _block(self, parent: int, number: int) -> PathCost:
        total = PathCost()
        for step in self._blocks.get((parent, number), ()):
            total += self._step(step)
        return total

    def _step(self, step: Mapping[str, Any]) -> PathCost:
        index, kind = step["index"], step["kind"]
        if kind == "operator":
            if step["kernel"] is not None and index not in self._costs:
                self.unknown[index] = None
            return self._costs.get(index, PathCost())
        if kind == "call":
            return self.function(step["callee"])
        if kind not in ("if", "while"):
            return PathCost()
        self.branches = True
        first, second = self._block(index, 0), self._block(index, 1)
        if kind == "if":
            return first.maximum(second)
        trips = self._limits.get(index) if step.get("trips") is None else step["trips"]
        if trips is None:
            self.unbounded[index] = None
            return PathCost()
        return first.times(trips + 1) + second.times(trips)
