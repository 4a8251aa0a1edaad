"""First fit in several orders (Sekiyama et al., "Profile-guided memory optimization for deep neural networks", 2018,
uses the same family), and a deterministic local search that moves what touches the peak to the front of the order."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflmgen.memory.liveness import runs


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A buffer to place: size and alignment in bytes, live steps as a bit set."""

    bytes: int
    alignment: int
    steps: int


Overlaps = Mapping[tuple[int, int], tuple[int, int]]
"""(output, input) -> (before, after): block `output` may overlap `input` if it begins `before` or more bytes before it,
or `after` or more bytes after it."""

Constraints = Sequence[Sequence[tuple[int, int, int]]]
"""Per block i: (j, below, above): i must begin at least `below` bytes before j does, or `above` bytes after."""


def constraints_of(blocks: Sequence[PlacedBlock], overlaps: Overlaps) -> Constraints:
    """Distances between blocks that are live at a common step."""
    constraints: list[list[tuple[int, int, int]]] = [[] for _ in blocks]
    for i, first in enumerate(blocks):
        for j in range(i):
            second = blocks[j]
            if not first.steps & second.steps:
                continue
            i_below, j_below = first.bytes, second.bytes
            if (i, j) in overlaps:
                i_below, j_below = (min(pair) for pair in zip((i_below, j_below), overlaps[i, j], strict=True))
            elif (j, i) in overlaps:
                j_below, i_below = (min(pair) for pair in zip((j_below, i_below), overlaps[j, i], strict=True))
            constraints[i].append((j, i_below, j_below))
            constraints[j].append((i, j_below, i_below))
    return constraints


def shared_bytes(blocks: Sequence[PlacedBlock], overlaps: Overlaps) -> dict[tuple[int, int], int]:
    """(step, output) -> upper bound of the bytes that the output can share with its inputs live at that step."""
    shared: dict[tuple[int, int], int] = {}
    for (output, source), (before, after) in overlaps.items():
        out, into = blocks[output].bytes, blocks[source].bytes
        # At shifts of the output between these two, one of output and input covers the other.
        shifts = min(-before, max(0, into - out)), max(after, min(0, into - out))
        common = max(0, *(out + into - (max(out + shift, into) - min(shift, 0)) for shift in shifts))
        for first, last in runs(blocks[output].steps & blocks[source].steps):
            for step in range(first, last + 1):
                shared[step, output] = min(out, shared.get((step, output), 0) + common)
    return shared


Packing = tuple[int, list[int]]
"""(bytes of the arena, offset of each block)."""


def best_first_fit(blocks: Sequence[PlacedBlock], constraints: Constraints, bound: int) -> tuple[Packing, list[int]]:
    """The best packing over several orders, and its order; stops at `bound` bytes."""
    best: Packing | None = None
    best_order: list[int] = []
    for order in _orders(blocks):
        packing = _first_fit(blocks, constraints, order)
        if best is None or packing[0] < best[0]:
            best, best_order = packing, order
        if best[0] == bound:
            break
    assert best is not None
    return best, best_order


def _orders(blocks: Sequence[PlacedBlock]) -> list[list[int]]:
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


def _first_fit(blocks: Sequence[PlacedBlock], constraints: Constraints, order: Sequence[int]) -> Packing:
    """Places each block, in order, at the lowest offset that its placed neighbours allow."""
    offsets = [-1] * len(blocks)
    top = 0
    for i in order:
        alignment = blocks[i].alignment
        forbidden = sorted(
            (offsets[j] - below, offsets[j] + above) for j, below, above in constraints[i] if offsets[j] >= 0
        )
        offset = 0
        for low, high in forbidden:
            if offset <= low:
                break
            if high > offset:
                offset = -(-high // alignment) * alignment
        offsets[i] = offset
        top = max(top, offset + blocks[i].bytes)
    return top, offsets


def improve(
    blocks: Sequence[PlacedBlock], constraints: Constraints, order: list[int], best: Packing, bound: int, effort: int
) -> Packing:
    """Local search from `best`, packed in `order`; `effort`: pairs of blocks to look at. Never worse than `best`."""
    generator = random.Random(0)
    cost = len(blocks) + sum(map(len, constraints))
    current, current_bytes = list(order), best[0]
    for _ in range(max(1, effort // max(1, cost))):
        trial = list(current)
        at_peak = [i for i in trial if best[1][i] + blocks[i].bytes == best[0]]
        moved = generator.choice(at_peak) if at_peak and generator.random() < 0.5 else generator.choice(trial)
        trial.remove(moved)
        trial.insert(generator.randrange(len(trial) // 2 + 1), moved)
        if generator.random() < 0.5:
            a, b = generator.randrange(len(trial)), generator.randrange(len(trial))
            trial[a], trial[b] = trial[b], trial[a]
        packing = _first_fit(blocks, constraints, trial)
        if packing[0] <= current_bytes:
            current, current_bytes = trial, packing[0]
        if packing[0] < best[0]:
            best = packing
        if best[0] == bound:
            break
    return best
