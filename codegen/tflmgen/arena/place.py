"""Offsets for buffers: buffers whose live ranges meet get disjoint bytes, and the arena is to be small.

Where one buffer may lie over another if it begins early or late enough (a kernel writes into what it has finished
with), the two need not be disjoint.

First fit in several orders (Sekiyama et al., "Profile-guided memory optimization for deep neural networks", 2018, uses
the same family), then a deterministic local search that moves what touches the peak to the front of the order, until
the lower bound is met or the effort is spent.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflmgen.arena.bounds import peak
from tflmgen.liveness import runs

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
    fullest: tuple[int, ...]

    @property
    def peak_step(self) -> int:
        return self.fullest[0] if self.fullest else 0


Overlaps = Mapping[tuple[int, int], tuple[int, int]]
"""(output, input) -> (before, after): block `output` may overlap `input` if it begins `before` or more bytes before it,
or `after` or more bytes after it."""


def place(blocks: Sequence[Block], steps: int, overlaps: Overlaps | None = None, effort: int = EFFORT) -> ArenaPlan:
    """Places `blocks`, whose live steps are below `steps`.

    Deterministic; `effort` limits the search (pairs looked at).
    """
    overlaps = overlaps or {}
    bound, where = peak(((b.bytes, b.steps) for b in blocks), steps, _savings(blocks, overlaps))
    constraints = _constraints(blocks, overlaps)
    best: tuple[int, list[int]] | None = None
    best_order: list[int] = []
    for order in _orders(blocks):
        found = _first_fit(blocks, constraints, order)
        if best is None or found[0] < best[0]:
            best, best_order = found, order
        if best[0] == bound:
            break
    assert best is not None
    if best[0] > bound:
        best = _search(blocks, constraints, best_order, best, bound, effort)
    return ArenaPlan(tuple(best[1]), best[0], bound, where)


def _savings(blocks: Sequence[Block], overlaps: Overlaps) -> dict[int, int]:
    """The most bytes that an output can share with its inputs, by step."""
    shared: dict[tuple[int, int], int] = {}
    for (output, source), (before, after) in overlaps.items():
        out, into = blocks[output].bytes, blocks[source].bytes
        # Between these two shifts of the output against the input, one of the two covers the other.
        shifts = min(-before, max(0, into - out)), max(after, min(0, into - out))
        common = max(0, *(out + into - (max(out + shift, into) - min(shift, 0)) for shift in shifts))
        for first, last in runs(blocks[output].steps & blocks[source].steps):
            for step in range(first, last + 1):
                shared[step, output] = min(out, shared.get((step, output), 0) + common)
    savings: dict[int, int] = {}
    for (step, _), common in shared.items():
        savings[step] = savings.get(step, 0) + common
    return savings


def _constraints(blocks: Sequence[Block], overlaps: Overlaps) -> list[list[tuple[int, int, int]]]:
    """Per block i: (j, below, above): i must begin at least `below` bytes before j does, or `above` bytes after."""
    found: list[list[tuple[int, int, int]]] = [[] for _ in blocks]
    for i, one in enumerate(blocks):
        for j in range(i):
            other = blocks[j]
            if not one.steps & other.steps:
                continue
            i_below, j_below = one.bytes, other.bytes
            if (i, j) in overlaps:
                i_below, j_below = (min(pair) for pair in zip((i_below, j_below), overlaps[i, j], strict=True))
            elif (j, i) in overlaps:
                j_below, i_below = (min(pair) for pair in zip((j_below, i_below), overlaps[j, i], strict=True))
            found[i].append((j, i_below, j_below))
            found[j].append((i, j_below, i_below))
    return found


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
        sorted(indices, key=lambda i: (-first(i), -blocks[i].bytes, i)),
    ]


def _first_fit(
    blocks: Sequence[Block], constraints: list[list[tuple[int, int, int]]], order: Sequence[int]
) -> tuple[int, list[int]]:
    """Each block in turn begins at the lowest offset that its placed neighbours allow."""
    offsets = [-1] * len(blocks)
    top = 0
    for i in order:
        alignment = blocks[i].alignment
        forbidden = sorted(
            (offsets[j] - below, offsets[j] + above) for j, below, above in constraints[i] if offsets[j] >= 0
        )
        at = 0
        for least, greatest in forbidden:
            if at <= least:
                break
            if greatest > at:
                at = -(-greatest // alignment) * alignment
        offsets[i] = at
        top = max(top, at + blocks[i].bytes)
    return top, offsets


def _search(
    blocks: Sequence[Block],
    constraints: list[list[tuple[int, int, int]]],
    order: list[int],
    best: tuple[int, list[int]],
    bound: int,
    effort: int,
) -> tuple[int, list[int]]:
    chance = random.Random(0)
    cost = len(blocks) + sum(map(len, constraints))
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
        found = _first_fit(blocks, constraints, trial)
        if found[0] <= now:
            current, now = trial, found[0]
        if found[0] < best[0]:
            best = found
        if best[0] == bound:
            break
    return best
