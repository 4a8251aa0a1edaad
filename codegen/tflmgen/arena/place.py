"""Offsets for buffers: buffers whose live ranges meet get disjoint bytes, and the arena is to be small.

First fit in several orders (Sekiyama et al., "Profile-guided memory optimization for deep neural networks", 2018, uses
the same family), then a deterministic local search that moves what touches the peak to the front of the order, until
the lower bound is met or the effort is spent.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.arena.bounds import peak

EFFORT = 400_000


@dataclass(frozen=True, slots=True)
class Block:
    """A buffer as the placer sees it: size and alignment in bytes, live steps as a bit set."""

    bytes: int
    alignment: int
    steps: int


@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """offsets[i] of block i; the arena's size; the most bytes live at once (no plan can be smaller) and where."""

    offsets: tuple[int, ...]
    bytes: int
    lower_bound: int
    peak_step: int


def place(blocks: Sequence[Block], steps: int, effort: int = EFFORT) -> ArenaPlan:
    """Places `blocks`, whose live steps are below `steps`.

    Deterministic; `effort` limits the search (pairs looked at).
    """
    bound, where = peak(((b.bytes, b.steps) for b in blocks), steps)
    neighbours = [
        [j for j, other in enumerate(blocks) if j != i and b.steps & other.steps] for i, b in enumerate(blocks)
    ]
    best: tuple[int, list[int]] | None = None
    best_order: list[int] = []
    for order in _orders(blocks):
        found = _first_fit(blocks, neighbours, order)
        if best is None or found[0] < best[0]:
            best, best_order = found, order
        if best[0] == bound:
            break
    assert best is not None
    if best[0] > bound:
        best = _search(blocks, neighbours, best_order, best, bound, effort)
    return ArenaPlan(tuple(best[1]), best[0], bound, where)


def _orders(blocks: Sequence[Block]) -> list[list[int]]:
    indices = range(len(blocks))

    def length(i: int) -> int:
        return blocks[i].steps.bit_count()

    def first(i: int) -> int:
        return blocks[i].steps & -blocks[i].steps

    return [
        sorted(indices, key=lambda i: (-blocks[i].bytes, -length(i), i)),
        sorted(indices, key=lambda i: (-blocks[i].bytes * length(i), i)),
        sorted(indices, key=lambda i: (-length(i), -blocks[i].bytes, i)),
        sorted(indices, key=lambda i: (first(i), -blocks[i].bytes, i)),
    ]


def _first_fit(blocks: Sequence[Block], neighbours: list[list[int]], order: Sequence[int]) -> tuple[int, list[int]]:
    """Each block in turn goes to the lowest gap between its placed neighbours that takes it."""
    offsets = [-1] * len(blocks)
    top = 0
    for i in order:
        size, alignment = blocks[i].bytes, blocks[i].alignment
        taken = sorted((offsets[j], offsets[j] + blocks[j].bytes) for j in neighbours[i] if offsets[j] >= 0)
        at = 0
        for start, end in taken:
            if at + size <= start:
                break
            if end > at:
                at = -(-end // alignment) * alignment
        offsets[i] = at
        top = max(top, at + size)
    return top, offsets


def _search(
    blocks: Sequence[Block],
    neighbours: list[list[int]],
    order: list[int],
    best: tuple[int, list[int]],
    bound: int,
    effort: int,
) -> tuple[int, list[int]]:
    chance = random.Random(0)
    cost = len(blocks) + sum(map(len, neighbours))
    current, now = list(order), best[0]
    for _ in range(max(1, effort // max(1, cost))):
        trial = list(current)
        at_peak = [i for i in trial if best[1][i] + blocks[i].bytes == best[0]]
        moved = chance.choice(at_peak) if at_peak and chance.random() < 0.5 else chance.choice(trial)
        trial.remove(moved)
        trial.insert(chance.randrange(len(trial) // 2 + 1), moved)
        if chance.random() < 0.5:
            a, b = chance.randrange(len(trial)), chance.randrange(len(trial))
            trial[a], trial[b] = trial[b], trial[a]
        found = _first_fit(blocks, neighbours, trial)
        if found[0] <= now:
            current, now = trial, found[0]
        if found[0] < best[0]:
            best = found
        if best[0] == bound:
            break
    return best
