"""A packing problem as matrices, for the search over canonical packings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.memory.placement_blocks import Block, Constraints

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FAR = 1 << 60
"""Larger than every offset."""


@dataclass(frozen=True, slots=True)
class Instance:
    """n blocks over s sections, sorted so that permutations of a problem give the same instance.

    A section represents steps with the same live blocks, and steps whose live blocks are a subset of these.

    blocks           int64[n], index of each block in the given order
    size, alignment  int64[n], bytes
    live             bool[n, s]
    weight           int64[n, s], bytes of a live block that it does not share with others
    above            int64[n, n], distance from the start of i to that of j if j lies above i; -FAR if they never meet
    first, last      int64[n], first and last section of a block
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
        """Whether all sums of block sizes are aligned offsets."""
        largest = self.alignment.max()
        return not ((self.size % largest).any() or (np.where(self.above > -FAR, self.above, 0) % largest).any())


def instance_of(
    blocks: Sequence[Block], steps: int, constraints: Constraints, shared: Mapping[tuple[int, int], int]
) -> Instance:
    """Instance of a packing problem.

    blocks  at least one
    steps   number of steps
    shared  (step, block) -> bytes that the block shares with others at that step
    """
    order = sorted(range(len(blocks)), key=lambda i: _rank(blocks[i]))
    sorted_blocks = [blocks[i] for i in order]
    live = np.stack([_bits(block.steps, steps) for block in sorted_blocks])
    size = np.array([block.bytes for block in sorted_blocks], dtype=np.int64)
    weight: Ints = live * size[:, None]
    position = {block: i for i, block in enumerate(order)}
    for (step, block), common in shared.items():
        weight[position[block], step] -= common
    sections = _sections(live, weight)
    live, weight = live[:, sections], weight[:, sections]
    above = np.full((len(order), len(order)), -FAR, dtype=np.int64)
    for block, neighbours in enumerate(constraints):
        for neighbour, below, _ in neighbours:
            above[position[block], position[neighbour]] = below
    return Instance(
        blocks=np.array(order, dtype=np.int64),
        size=size,
        alignment=np.array([block.alignment for block in sorted_blocks], dtype=np.int64),
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
    """Steps whose live blocks and weights are not dominated by a neighbouring step."""

    def is_within(step: int, outer: int) -> bool:
        return bool((live[:, step] <= live[:, outer]).all() and (weight[:, step] <= weight[:, outer]).all())

    sections: list[int] = []
    for step in np.flatnonzero(live.any(0)).tolist():
        while sections and is_within(sections[-1], step):
            sections.pop()
        if not sections or not is_within(step, sections[-1]):
            sections.append(step)
    return sections
