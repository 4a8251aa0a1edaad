"""The smallest arena for a few blocks, by trying everything."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.memory.first_fit import PlacedBlock


def smallest_arena(blocks: Sequence[PlacedBlock]) -> int:
    """The least bytes that any placement takes.

    In a smallest placement every block can be pushed down until it rests on the bottom or on a block that it meets in
    time; so it is enough to try, for each block in each order, the tops of those already placed.
    """
    best = sum(b.bytes + b.alignment for b in blocks)

    def search(placed: list[tuple[int, int]], top: int) -> None:
        nonlocal best
        if top >= best:
            return
        if len(placed) == len(blocks):
            best = top
            return
        done = {i for i, _ in placed}
        for i, block in enumerate(blocks):
            if i in done:
                continue
            rivals = [(at, at + blocks[j].bytes) for j, at in placed if blocks[j].steps & block.steps]
            for floor in sorted({0, *(end for _, end in rivals)}):
                at = -(-floor // block.alignment) * block.alignment
                if all(at + block.bytes <= start or end <= at for start, end in rivals):
                    search([*placed, (i, at)], max(top, at + block.bytes))

    search([], 0)
    return best
