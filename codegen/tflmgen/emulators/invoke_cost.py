"""What an invoke cost: instructions, estimated cycles, and both for each operator of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tflmgen.errors import TflmgenError


class CountError(TflmgenError):
    """What an invoke executes cannot be counted."""


@dataclass(frozen=True, slots=True)
class Cycles:
    """Estimated cycles; docs/understand/counting.md says for each core what the ends of the range mean."""

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
    """What one step of the plan cost in one invoke: `executions` times, `instructions` in all, callees included.

    stages: of a stream, what its operators cost; together, what the stream did.
    """

    step: int
    executions: int
    instructions: int
    cycles: Cycles = NO_CYCLES
    stages: tuple[Tally, ...] = ()


@dataclass(frozen=True, slots=True)
class Executed:
    """One invoke. `operators` are those that ran, in the plan's order; what they lack of `instructions` is control
    flow, copies at its boundaries, and entry and exit. It and `cycles` are None where they are not counted.
    """

    instructions: int
    cycles: Cycles | None = None
    operators: tuple[OperatorCount, ...] | None = None


Counts = Mapping[int, Tally]
"""What each step of the plan cost in one invoke, -1 all that is no step's. The sum is all that was executed."""


Shares = Mapping[int, Sequence[Tally]]
"""By the step of a stream what each of its stages cost, in a firmware like the one that is counted."""


def executed(plan: Mapping[str, Any], counts: Counts, runs: Mapping[int, int], shares: Shares) -> Executed:
    """The counts of an invoke laid beside the plan; `runs`: how often each step ran."""
    operators = []
    for step in plan["steps"]:
        index = step["index"]
        if step["kind"] == "operator" and runs.get(index):
            tally = counts.get(index, NOTHING)
            stages = _divided(tally, shares.get(index, ()))
            operators.append(OperatorCount(index, runs[index], tally.instructions, tally.cycles, stages))
    total = sum(counts.values(), NOTHING)
    return Executed(total.instructions, total.cycles, tuple(operators))


def _divided(whole: Tally, shares: Sequence[Tally]) -> tuple[Tally, ...]:
    """The whole in parts that are to each other as the shares are."""
    low, high = whole.cycles.low, whole.cycles.high
    return tuple(
        Tally(instructions, Cycles(*cycles))
        for instructions, *cycles in zip(
            _parts(whole.instructions, [share.instructions for share in shares]),
            _parts(low, [share.cycles.low for share in shares]),
            _parts(high, [share.cycles.high for share in shares]),
            strict=True,
        )
    )


def _parts(whole: int, shares: Sequence[int]) -> list[int]:
    """Integers whose sum is the whole: the differences of its rounded running shares."""
    total, running, parts = max(1, sum(shares)), 0, []
    for share in shares:
        before, running = running, running + share
        parts.append((whole * running + total // 2) // total - (whole * before + total // 2) // total)
    return parts
