"""Blocks to place, with their live steps, and the distances that they must keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflmgen.memory.liveness import runs


@dataclass(frozen=True, slots=True)
class Block:
    """A buffer to place: size and alignment in bytes, live steps as a bit set."""

    bytes: int
    alignment: int
    steps: int


Overlaps = Mapping[tuple[int, int], tuple[int, int]]
"""(output, input) -> (before, after): block `output` may overlap `input` if it begins `before` or more bytes before it,
or `after` or more bytes after it."""

Constraints = Sequence[Sequence[tuple[int, int, int]]]
"""Per block i: (j, below, above): i must begin at least `below` bytes before j does, or `above` bytes after."""


def constraints_of(blocks: Sequence[Block], overlaps: Overlaps) -> Constraints:
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


def shared_bytes(blocks: Sequence[Block], overlaps: Overlaps) -> dict[tuple[int, int], int]:
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
