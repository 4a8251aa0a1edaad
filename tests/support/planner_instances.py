"""Planning problems with a known answer: buffers of so many bytes, live in [lower, upper).

MiniMalloc's published ones are beside the repository; tilings are made here.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tflmgen.memory.placement_blocks import Block

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "benchmarks" / "minimalloc"

CAPACITY, STEPS, PIECES = 1 << 12, 64, 60
"""Of a tiling."""

THOROUGH = 50_000_000
"""Effort of a packing by itself, in pairs of blocks: ten seconds at most."""


@dataclass(frozen=True)
class Problem:
    """rows: (lower, upper, size) of each buffer; capacity: bytes into which they are known to fit."""

    name: str
    capacity: int
    rows: tuple[tuple[int, int, int], ...]

    def blocks(self) -> tuple[list[Block], int]:
        """The blocks and how many steps there are: the times at which anything begins or ends."""
        times = sorted({time for lower, upper, _ in self.rows for time in (lower, upper)})
        step = {time: i for i, time in enumerate(times)}
        return [Block(size, 1, (1 << step[upper]) - (1 << step[lower])) for lower, upper, size in self.rows], len(times)


def tiling(seed: int) -> Problem:
    """A rectangle of bytes and time, cut at random: its pieces fill the capacity without a gap, which is optimal."""
    chance = random.Random(seed)
    pieces = [(0, STEPS, CAPACITY)]
    while len(pieces) < PIECES:
        weights = [(upper - lower) * size * chance.random() for lower, upper, size in pieces]
        lower, upper, size = pieces.pop(weights.index(max(weights)))
        if chance.random() < 0.5 and upper - lower > 1:
            cut = chance.randrange(lower + 1, upper)
            pieces += [(lower, cut, size), (cut, upper, size)]
        elif size > 64:
            part = 16 * chance.randrange(1, size // 16)
            pieces += [(lower, upper, part), (lower, upper, size - part)]
        else:
            pieces.append((lower, upper, size))
    return Problem(f"tiling {seed}", CAPACITY, tuple(pieces))


def published(letters: str) -> list[Problem]:
    """MiniMalloc's problems, by their files' first letters, A to K; none where they are absent."""
    return [_read(path, letter) for letter in letters for path in FOLDER.glob(f"{letter}.*.csv")]


def _read(path: Path, name: str) -> Problem:
    with path.open(newline="") as file:
        rows = tuple((int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file))
    return Problem(name, int(path.suffixes[0][1:]), rows)


def is_legal(blocks: Sequence[Block], offsets: Sequence[int]) -> bool:
    """Whether no two blocks that live together have a byte in common."""
    placed = list(zip(blocks, offsets, strict=True))
    return all(
        not block.steps & other.steps or at + block.bytes <= other_at or other_at + other.bytes <= at
        for i, (block, at) in enumerate(placed)
        for other, other_at in placed[:i]
    )
