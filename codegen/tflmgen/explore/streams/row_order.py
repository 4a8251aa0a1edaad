"""In which order the operators of a stream run tick by tick, and how many rows of each tensor exist at once.

Demand-driven: each tick of the last operator first asks for the rows that it reads, and so on up the graph, so that no
row is made before another needs it. Rows that nothing needs any more are given up. The number of rows that then exist
at most is the least for this order of ticks (the line buffers of streaming hardware; for networks on
microcontrollers: Lin et al., "MCUNetV2", 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tflmgen.explore.streams.push_rows import PUSH
from tflmgen.explore.streams.row_slices import RowOperator

INPUT = -1
"""The stream's input as a tensor; the others are numbered like the operators that make them."""


@dataclass(frozen=True, slots=True)
class RowTick:
    """Operator `stage` runs its tick `index`."""

    stage: int
    index: int


@dataclass(frozen=True, slots=True)
class Wiring:
    """The operators of a stream; sources[i]: the tensor of each data input of operator i, in `data`'s order.

    readers: by tensor; firsts[i]: the first row that each tick of operator i reads, and its input's height behind them.
    """

    operators: tuple[RowOperator, ...]
    sources: tuple[tuple[int, ...], ...]
    readers: Mapping[int, tuple[int, ...]] = field(init=False, compare=False)
    firsts: tuple[tuple[int, ...], ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        readers: dict[int, tuple[int, ...]] = dict.fromkeys(range(INPUT, len(self.operators)), ())
        for stage, sources in enumerate(self.sources):
            for tensor in dict.fromkeys(sources):
                readers[tensor] += (stage,)
        firsts = tuple((*(first for first, _ in operator.needs), operator.input_height) for operator in self.operators)
        object.__setattr__(self, "readers", readers)
        object.__setattr__(self, "firsts", firsts)


@dataclass(frozen=True, slots=True)
class RowOrder:
    """ticks in order; capacity: most rows of each inner tensor at once, by operator (0 for the last one's output)."""

    ticks: tuple[RowTick, ...]
    capacity: tuple[int, ...]


class RowProgress:
    """State of a row stream from tick to tick: for every tensor the rows that exist and those still needed."""

    def __init__(self, wiring: Wiring) -> None:
        self._operators, self._readers, self._firsts = wiring.operators, wiring.readers, wiring.firsts
        self.next = [0] * len(wiring.operators)
        self.written = [0] * len(wiring.operators)

    def first_needed(self, tensor: int) -> int:
        """The first row of a tensor that a tick still to come reads; its height where there is none."""
        needed = [self._firsts[stage][self.next[stage]] for stage in self._readers[tensor]]
        return min(needed) if needed else self._operators[tensor].height

    def first_needed_after(self, stage: int, tensor: int) -> int:
        """The first row of `tensor` that is needed once operator `stage` has run its next tick."""
        self.next[stage] += 1
        row = self.first_needed(tensor)
        self.next[stage] -= 1
        return row

    def advance(self, stage: int) -> int:
        """One tick of an operator; returns how many rows it made."""
        operator = self._operators[stage]
        self.next[stage] += 1
        rows = int(self.next[stage] == operator.ticks) if operator.reduces else 1
        self.written[stage] += rows
        return rows


def order_rows(wiring: Wiring) -> RowOrder:
    """The ticks of a stream and the rows that they need room for."""
    rows = RowProgress(wiring)
    ticks: list[RowTick] = []
    capacity = [0] * len(wiring.operators)
    last = len(wiring.operators) - 1

    def run(stage: int) -> None:
        _, end = wiring.operators[stage].needs[rows.next[stage]]
        for tensor in wiring.sources[stage]:
            while tensor != INPUT and rows.written[tensor] < end:
                run(tensor)
        # A row is made even where a stride passes over it.
        first = min(rows.first_needed(stage), rows.written[stage])
        ticks.append(RowTick(stage, rows.next[stage]))
        if rows.advance(stage) and stage != last:
            capacity[stage] = max(capacity[stage], rows.written[stage] - first)

    for _ in range(wiring.operators[last].ticks):
        run(last)
    while wiring.operators[0].op.operator == PUSH and rows.next[0] < wiring.operators[0].ticks:
        # Rows that nothing reads are taken all the same: the next frame begins after them.
        run(0)
    return RowOrder(tuple(ticks), tuple(capacity))
