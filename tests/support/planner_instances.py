"""MiniMalloc's published planning problems, beside the repository: buffers of so many bytes, live in [lower, upper)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tflmgen.arena.blocks import Block

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "benchmarks" / "minimalloc"

requires_instances = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs ../shared/benchmarks/minimalloc")


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


def read_problem(name: str) -> Problem:
    """`name` is the file's first letter, A to K."""
    (path,) = FOLDER.glob(f"{name}.*.csv")
    with path.open(newline="") as file:
        rows = tuple((int(row["lower"]), int(row["upper"]), int(row["size"])) for row in csv.DictReader(file))
    return Problem(name, int(path.suffixes[0][1:]), rows)


def is_legal(blocks: Sequence[Block], offsets: Sequence[int]) -> bool:
    """Whether no two blocks that live together have a byte in common."""
    placed = list(zip(blocks, offsets, strict=True))
    return all(
        not one.steps & other.steps or at + one.bytes <= there or there + other.bytes <= at
        for i, (one, at) in enumerate(placed)
        for other, there in placed[:i]
    )
