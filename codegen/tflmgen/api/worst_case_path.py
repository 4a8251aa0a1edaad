"""Worst-case path of an invoke: the more expensive branch of each If, each While at its iteration limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.emulators import Blocks, blocks_of

Plan = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cost:
    """Instructions and cycles of a path. `instructions` is None if a part was estimated, which gives cycles only."""

    instructions: int | None = 0
    cycles: int = 0

    def __add__(self, addend: Cost) -> Cost:
        return self._combined(addend, lambda a, b: a + b)

    def times(self, runs: int) -> Cost:
        """Cost of as many runs of this path."""
        return self._combined(self, lambda a, _: a * runs)

    def maximum(self, alternative: Cost) -> Cost:
        """The greater instructions and the greater cycles of both paths, each for itself."""
        return self._combined(alternative, max)

    def _combined(self, operand: Cost, joined: Callable[[int, int], int]) -> Cost:
        is_counted = self.instructions is not None and operand.instructions is not None
        instructions = joined(self.instructions or 0, operand.instructions or 0) if is_counted else None
        return Cost(instructions, joined(self.cycles, operand.cycles))


@dataclass(frozen=True, slots=True)
class WorstCase:
    """Cost of the worst-case path.

    cost       of its operators only; None if a step's cost or a loop's limit is unknown
    unbounded  step indices of loops without an iteration limit
    unknown    step indices of operators without a cost
    """

    cost: Cost | None
    unbounded: tuple[int, ...]
    unknown: tuple[int, ...]


def worst_case_path(plan: Plan, function: str, costs: Mapping[int, Cost]) -> WorstCase | None:
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
    def __init__(self, plan: Plan, costs: Mapping[int, Cost]) -> None:
        self._costs = costs
        self._blocks: Blocks = blocks_of(plan["steps"])
        self._entries = {s["function"]: s["index"] for s in plan["steps"] if s["kind"] == "entry"}
        self._limits = {loop["step"]: loop["max_iterations"] for loop in plan.get("loops", ())}
        self._functions: dict[str, Cost] = {}
        self.branches = False
        self.unbounded: dict[int, None] = {}
        self.unknown: dict[int, None] = {}

    def function(self, name: str) -> Cost:
        if name not in self._functions:
            self._functions[name] = self._block(self._entries[name], 0)
        return self._functions[name]

    def _block(self, parent: int, number: int) -> Cost:
        total = Cost()
        for step in self._blocks.get((parent, number), ()):
            total += self._step(step)
        return total

    def _step(self, step: Mapping[str, Any]) -> Cost:
        index, kind = step["index"], step["kind"]
        if kind == "operator":
            if step["kernel"] is not None and index not in self._costs:
                self.unknown[index] = None
            return self._costs.get(index, Cost())
        if kind == "call":
            return self.function(step["callee"])
        if kind not in ("if", "while"):
            return Cost()
        self.branches = True
        first, second = self._block(index, 0), self._block(index, 1)
        if kind == "if":
            return first.maximum(second)
        trips = self._limits.get(index) if step.get("trips") is None else step["trips"]
        if trips is None:
            self.unbounded[index] = None
            return Cost()
        return first.times(trips + 1) + second.times(trips)
