"""Rows of one tensor while the window of an input slides: which of them are those of an earlier window."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

Span = tuple[int, int]
"""Rows [first, last + 1)."""


@dataclass(frozen=True, slots=True)
class Track:
    """A tensor with time along `axis`: `rows` rows, which move by `hop` of them in `period` windows.

    Rows in [first, end) depend on rows of the input only: row p of a window is row p + hop of the window `period`
    windows earlier, where both are in the span. Rows outside depend on where the window begins or ends, through
    padding. Behind a stride that the hop is no multiple of, the windows between have rows at other places of the
    input: their phases share no rows.
    """

    axis: int
    rows: int
    hop: int
    first: int
    end: int
    period: int = 1

    @property
    def kept(self) -> Span:
        """Rows that the window `period` windows earlier had `hop` rows later; empty if it has none of them."""
        return self.first, max(self.first, self.end - self.hop)

    @property
    def new(self) -> Span:
        """Rows that no window had, but later ones will have."""
        return self.kept[1], max(self.kept[1], self.end)

    @property
    def keeps(self) -> bool:
        """Whether any rows are those of an earlier window."""
        return self.kept[0] < self.kept[1]

    @property
    def cone(self) -> int:
        """Rows that a hop must compute: new ones, and those that an edge of the window touches."""
        return self.rows - (self.kept[1] - self.kept[0])

    def at_period(self, period: int) -> Track:
        """The track whose rows are compared with those of a multiple of `period` windows earlier."""
        return replace(self, hop=self.hop * period // self.period, period=period)

    def times_until_whole(self, step: int) -> int:
        """Least number of periods that move the rows by a multiple of `step`."""
        return step // math.gcd(step, self.hop)


def meet(spans: Iterable[Span], within: Span) -> list[Span]:
    """The parts of spans inside another one."""
    cut = [(max(a, within[0]), min(b, within[1])) for a, b in spans]
    return [(a, b) for a, b in cut if a < b]


def hull(spans: Sequence[Span]) -> list[Span]:
    """The smallest span around all of these, if there is any."""
    return [(min(a for a, _ in spans), max(b for _, b in spans))] if spans else []


def union(spans: Iterable[Span]) -> list[Span]:
    """The rows of spans that may overlap, in ascending spans with rows between them."""
    merged: list[Span] = []
    for first, end in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((first, end))
    return merged


def size(spans: Iterable[Span]) -> int:
    """Number of rows in spans that may overlap."""
    return sum(end - first for first, end in union(spans))
