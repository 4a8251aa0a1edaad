"""A packing problem as matrices, for the search over canonical packings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.memory.blocks import Block, Constraints

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FAR = 1 << 60
"""Beyond every offset."""


@dataclass(frozen=True, slots=True)
class Instance:
    """n blocks over s sections; the blocks are sorted, so that a problem and its permutations are one instance.

    A section stands for steps at which the same blocks live, and for others whose blocks live there, too.

    blocks: int64[n], the index of each in the order given.
    size, alignment: int64[n], bytes.
    live: bool[n, s]. weight: int64[n, s], the bytes that a live block takes for itself, as others may overlap it.
    above: int64[n, n], the bytes from the beginning of i to that of j if j lies above i; -FAR if they never meet.
    first, last: int64[n], a block's first and last section.
    """

    blocks: Ints
    size: Ints
    alignment: Ints
    live: Bools
    weight: Ints
    above: Ints
    first: Ints
    last: Ints

    @property
    def is_aligned(self) -> bool:
        """Whether offsets of sums of sizes are aligned by themselves."""
        largest = self.alignment.max()
        return not ((self.size % largest).any() or (np.where(self.above > -FAR, self.above, 0) % largest).any())


def instance_of(
    blocks: Sequence[Block], steps: int, constraints: Constraints, shared: Mapping[tuple[int, int], int]
) -> Instance:
    """blocks: at least one; steps: how many there are; shared: (step, block) -> bytes that are not for itself there."""
    order = sorted(range(len(blocks)), key=lambda i: _rank(blocks[i]))
    chosen = [blocks[i] for i in order]
    live = np.stack([_bits(block.steps, steps) for block in chosen])
    size = np.array([block.bytes for block in chosen], dtype=np.int64)
    weight: Ints = live * size[:, None]
    position = {block: i for i, block in enumerate(order)}
    for (step, block), common in shared.items():
        weight[position[block], step] -= common
    kept = _sections(live, weight)
    live, weight = live[:, kept], weight[:, kept]
    above = np.full((len(order), len(order)), -FAR, dtype=np.int64)
    for block, near in enumerate(constraints):
        for other, below, _ in near:
            above[position[block], position[other]] = below
    return Instance(
        blocks=np.array(order, dtype=np.int64),
        size=size,
        alignment=np.array([block.alignment for block in chosen], dtype=np.int64),
        live=live,
        weight=weight,
        above=above,
        first=live.argmax(1).astype(np.int64),
        last=live.shape[1] - 1 - live[:, ::-1].argmax(1).astype(np.int64),
    )


def _rank(block: Block) -> tuple[int, int, int, int, int]:
    return block.steps & -block.steps, block.steps.bit_length(), block.bytes, block.alignment, block.steps


def _bits(live: int, steps: int) -> Bools:
    packed = np.frombuffer(live.to_bytes(-(-steps // 8), "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=steps, bitorder="little").astype(np.bool_)


def _sections(live: Bools, weight: Ints) -> list[int]:
    """The steps at which not all is less than, or as, at a neighbour."""

    def within(one: int, other: int) -> bool:
        return bool((live[:, one] <= live[:, other]).all() and (weight[:, one] <= weight[:, other]).all())

    kept: list[int] = []
    for step in np.flatnonzero(live.any(0)).tolist():
        while kept and within(kept[-1], step):
            kept.pop()
        if not kept or not within(step, kept[-1]):
            kept.append(step)
    return kept
