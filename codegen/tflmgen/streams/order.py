"""In which order the operators of a stream run tick by tick, and how many rows of each tensor exist at once.

Demand-driven: each tick of the last operator first asks for the rows that it reads, and so on up the graph, so that no
row is made before another needs it. Rows that nothing needs any more are given up. The number of rows that then exist
at most is the least for this order of ticks (the line buffers of streaming hardware; for networks on
microcontrollers: Lin et al., "MCUNetV2", 2021).
"""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.streams.push import PUSH
from tflmgen.streams.rows import RowOperator

INPUT = -1
"""The stream's input as a tensor; the others are numbered like the operators that make them."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Operator `stage` runs its tick `index`."""

    stage: int
    index: int


@dataclass(frozen=True, slots=True)
class Wiring:
    """The operators of a stream; sources[i]: the tensor of each data input of operator i, in `data`'s order."""

    operators: tuple[RowOperator, ...]
    sources: tuple[tuple[int, ...], ...]

    def height(self, tensor: int) -> int:
        """Rows of a tensor."""
        if tensor != INPUT:
            return self.operators[tensor].height
        reader = next(i for i, sources in enumerate(self.sources) if INPUT in sources)
        return self.operators[reader].input_height


@dataclass(frozen=True, slots=True)
class RowOrder:
    """ticks in order; capacity: most rows of each inner tensor at once, by operator (0 for the last one's output)."""

    ticks: tuple[Tick, ...]
    capacity: tuple[int, ...]


class Rows:
    """Which rows of every tensor exist and which are still needed, while ticks go by."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self.next = [0] * len(wiring.operators)
        self.made = [0] * len(wiring.operators)
        self._readers: dict[int, list[int]] = {}
        for stage, sources in enumerate(wiring.sources):
            for tensor in sources:
                self._readers.setdefault(tensor, []).append(stage)

    def first_needed(self, tensor: int) -> int:
        """The first row of a tensor that a tick still to come reads; its height where there is none."""
        readers = self._readers.get(tensor, ())
        needed = [self._wiring.height(tensor)]
        for stage in readers:
            operator = self._wiring.operators[stage]
            if self.next[stage] < operator.ticks:
                needed.append(operator.needs[self.next[stage]][0])
        return min(needed)

    def advance(self, stage: int) -> int:
        """One tick of an operator; returns how many rows it made."""
        operator = self._wiring.operators[stage]
        self.next[stage] += 1
        rows = int(self.next[stage] == operator.ticks) if operator.reduces else 1
        self.made[stage] += rows
        return rows


def order_rows(wiring: Wiring) -> RowOrder:
    """The ticks of a stream and the rows that they need room for."""
    rows = Rows(wiring)
    ticks: list[Tick] = []
    capacity = [0] * len(wiring.operators)
    last = len(wiring.operators) - 1

    def run(stage: int) -> None:
        _, end = wiring.operators[stage].needs[rows.next[stage]]
        for tensor in wiring.sources[stage]:
            while tensor != INPUT and rows.made[tensor] < end:
                run(tensor)
        # A row is made even where a stride passes over it.
        first = min(rows.first_needed(stage), rows.made[stage])
        ticks.append(Tick(stage, rows.next[stage]))
        if rows.advance(stage) and stage != last:
            capacity[stage] = max(capacity[stage], rows.made[stage] - first)

    for _ in range(wiring.operators[last].ticks):
        run(last)
    while wiring.operators[0].op.operator == PUSH and rows.next[0] < wiring.operators[0].ticks:
        # Rows that nothing reads are taken all the same: the next frame begins after them.
        run(0)
    return RowOrder(tuple(ticks), tuple(capacity))
