"""What an invoke cost: instructions, estimated cycles, and both for each operator of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tflmgen.emulator.executions import Traces, executions


@dataclass(frozen=True, slots=True)
class Cycles:
    """Estimated cycles; docs/counting.md says for each core what the ends of the range mean."""

    low: int
    high: int

    def __add__(self, other: Cycles) -> Cycles:
        return Cycles(self.low + other.low, self.high + other.high)


NO_CYCLES = Cycles(0, 0)


@dataclass(frozen=True, slots=True)
class Tally:
    instructions: int
    cycles: Cycles

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.instructions + other.instructions, self.cycles + other.cycles)


NOTHING = Tally(0, NO_CYCLES)


@dataclass(frozen=True, slots=True)
class OperatorCount:
    """What one step of the plan cost in one invoke: `executions` times, `instructions` in all, callees included."""

    step: int
    executions: int
    instructions: int
    cycles: Cycles = NO_CYCLES


@dataclass(frozen=True, slots=True)
class Executed:
    """One invoke. `operators` are those that ran, in the plan's order; what they lack of `instructions` is control
    flow, copies at its boundaries, and entry and exit. It and `cycles` are None where they are not counted.
    """

    instructions: int
    cycles: Cycles | None = None
    operators: tuple[OperatorCount, ...] | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """One invoke as counted. `steps`: what each step of the plan cost, -1 all else; their sum is what was executed.

    `traces` tell how often steps ran.
    """

    steps: Mapping[int, Tally]
    traces: Traces


def executed(plan: Mapping[str, Any], signature: int, counts: Counts) -> Executed:
    """The counts of an invoke of signature number `signature`, laid beside the plan."""
    runs = executions(plan, plan["signatures"][signature]["function"], counts.traces)
    operators = []
    for step in plan["steps"]:
        index = step["index"]
        if step["kind"] == "operator" and runs.get(index):
            tally = counts.steps.get(index, NOTHING)
            operators.append(OperatorCount(index, runs[index], tally.instructions, tally.cycles))
    total = sum(counts.steps.values(), NOTHING)
    return Executed(total.instructions, total.cycles, tuple(operators))
