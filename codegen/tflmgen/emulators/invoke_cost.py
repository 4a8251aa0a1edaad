"""Cost of an invoke: instructions and estimated cycles, in total and per operator of the plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tflmgen.errors import TflmgenError


class CountError(TflmgenError):
    """The instructions of an invoke cannot be counted."""


@dataclass(frozen=True, slots=True)
class Cycles:
    """Estimated cycles as a range; docs/understand/counting.md explains its ends per core."""

    low: int = 0
    high: int = 0

    def __add__(self, addend: Cycles) -> Cycles:
        return Cycles(self.low + addend.low, self.high + addend.high)


@dataclass(frozen=True, slots=True)
class Waits:
    """Estimated cycles in which the core waits for the flash: for code, and for constants and weights."""

    code: int = 0
    constants: int = 0

    @property
    def cycles(self) -> int:
        """Wait cycles of code and constants together."""
        return self.code + self.constants

    def __add__(self, addend: Waits) -> Waits:
        return Waits(self.code + addend.code, self.constants + addend.constants)


@dataclass(frozen=True, slots=True)
class Tally:
    """Instructions and estimated cycles of a part of an invoke, and waits in addition. Tallies add up."""

    instructions: int = 0
    cycles: Cycles = Cycles()
    waits: Waits = Waits()

    def __add__(self, addend: Tally) -> Tally:
        cycles = self.cycles + addend.cycles
        return Tally(self.instructions + addend.instructions, cycles, self.waits + addend.waits)


@dataclass(frozen=True, slots=True)
class OperatorCount:
    """Cost of one step of the plan in one invoke, over all its executions, callees included.

    stages  cost per stage of row streaming; their sum is the step's cost
    """

    step: int
    executions: int
    instructions: int
    cycles: Cycles = Cycles()
    stages: tuple[Tally, ...] = ()
    waits: Waits = Waits()


@dataclass(frozen=True, slots=True)
class Executed:
    """Cost of one invoke.

    cycles     None if not estimated; without waits
    operators  executed operators in the plan's order; None if not counted. The rest of `instructions` is control flow,
               copies at its boundaries, entry and exit
    waits      in addition to `cycles`; None if not estimated
    """

    instructions: int
    cycles: Cycles | None = None
    operators: tuple[OperatorCount, ...] | None = None
    waits: Waits | None = None


Counts = Mapping[int, Tally]
"""Step -> its cost in one invoke; -1: everything outside steps. The sum is the cost of the invoke."""


class Counting(Protocol):
    """Counts of a running emulator.

    estimates_cycles  the tallies have cycles and waits, too
    """

    estimates_cycles: bool

    def read(self) -> Counts:
        """Summed counts of the invokes since the last read (one, or one per row). All must have ended."""


Shares = Mapping[int, Sequence[Tally]]
"""Step with row streaming -> cost of each of its stages, measured in an equivalent firmware with marks."""


def join_counts(plan: Mapping[str, Any], counts: Counts, runs: Mapping[int, int], shares: Shares) -> Executed:
    """Joins the counts of an invoke with the plan; `runs`: step -> number of executions."""
    operators = []
    for step in plan["steps"]:
        index = step["index"]
        if step["kind"] == "operator" and runs.get(index):
            tally = counts.get(index, Tally())
            stages = _split_tally(tally, shares.get(index, ()))
            counted = tally.instructions, tally.cycles, stages, tally.waits
            operators.append(OperatorCount(index, runs[index], *counted))
    total = sum(counts.values(), Tally())
    return Executed(total.instructions, total.cycles, tuple(operators), total.waits)


def _split_tally(total: Tally, shares: Sequence[Tally]) -> tuple[Tally, ...]:
    """`total` split in proportion to the shares."""
    low, high = total.cycles.low, total.cycles.high
    return tuple(
        Tally(instructions, Cycles(*cycles))
        for instructions, *cycles in zip(
            _proportional_parts(total.instructions, [share.instructions for share in shares]),
            _proportional_parts(low, [share.cycles.low for share in shares]),
            _proportional_parts(high, [share.cycles.high for share in shares]),
            strict=True,
        )
    )


def _proportional_parts(total: int, shares: Sequence[int]) -> list[int]:
    """Integers in proportion to the shares whose sum is `total`: differences of rounded cumulative shares."""
    share_sum, running, parts = max(1, sum(shares)), 0, []
    for share in shares:
        before, running = running, running + share
        parts.append((total * running + share_sum // 2) // share_sum - (total * before + share_sum // 2) // share_sum)
    return parts
