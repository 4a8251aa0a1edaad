"""First fit in several orders (Sekiyama et al., "Profile-guided memory optimization for deep neural networks", 2018,
uses the same family), and a deterministic local search that moves what touches the peak to the front of the order."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tflmgen.memory.blocks import Block, Constraints

Packing = tuple[int, list[int]]
"""Bytes of the arena, and the offset of each block."""


def best_first_fit(blocks: Sequence[Block], constraints: Constraints, bound: int) -> tuple[Packing, list[int]]:
    """The best packing of all orders, and its order; none below `bound` is looked for."""
    best: Packing | None = None
    best_order: list[int] = []
    for order in _orders(blocks):
        found = _first_fit(blocks, constraints, order)
        if best is None or found[0] < best[0]:
            best, best_order = found, order
        if best[0] == bound:
            break
    assert best is not None
    return best, best_order


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


def _first_fit(blocks: Sequence[Block], constraints: Constraints, order: Sequence[int]) -> Packing:
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


def improve(
    blocks: Sequence[Block], constraints: Constraints, order: list[int], best: Packing, bound: int, effort: int
) -> Packing:
    """`best`, packed in `order`, or a better one: as many orders as `effort` pairs of blocks allow."""
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
