"""Offsets for buffers: buffers whose live ranges meet get disjoint bytes, and the arena is to be small.

Where one buffer may lie over another if it begins early or late enough (a kernel writes into what it has finished
with), the two need not be disjoint.

First fit in several orders, then two deterministic searches until the lower bound is met or the effort is spent: over
canonical packings, and over the orders of first fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.kernels import TUNING
from tflmgen.memory.blocks import Block, Constraints, Overlaps, constraints_of, shared_bytes
from tflmgen.memory.first_fit import Packing, best_first_fit, improve
from tflmgen.memory.instance import instance_of
from tflmgen.memory.lower_bounds import peak
from tflmgen.memory.portfolio import tighten

REORDERING = 400_000
"""The part of the effort that is left to first fit in other orders, which seldom gains by more."""


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


def place(
    blocks: Sequence[Block], steps: int, overlaps: Overlaps | None = None, effort: int = TUNING.thorough_packing_effort
) -> ArenaPlan:
    """Places `blocks`, whose live steps are below `steps`.

    Deterministic; `effort` limits the search (pairs looked at): more is never worse.
    """
    shared = shared_bytes(blocks, overlaps or {})
    savings: dict[int, int] = {}
    for (step, _), common in shared.items():
        savings[step] = savings.get(step, 0) + common
    bound, where = peak(((b.bytes, b.steps) for b in blocks), steps, savings)
    constraints = constraints_of(blocks, overlaps or {})
    first, order = best_first_fit(blocks, constraints, bound)
    best = first
    if best[0] > bound:
        best = _canonical(blocks, steps, constraints, shared, first, bound, effort)
    if best[0] > bound:
        best = min(best, improve(blocks, constraints, order, first, bound, min(effort, REORDERING)), key=lambda p: p[0])
    return ArenaPlan(tuple(best[1]), best[0], bound, where)


def _canonical(
    blocks: Sequence[Block],
    steps: int,
    constraints: Constraints,
    shared: dict[tuple[int, int], int],
    first: Packing,
    bound: int,
    effort: int,
) -> Packing:
    """A better packing, if one is found at as many nodes as `effort` allows."""
    nodes = effort // (NODE + len(blocks) * steps // CELLS)
    if nodes < len(blocks):
        return first
    instance = instance_of(blocks, steps, constraints, shared)
    found = tighten(instance, first[0], bound, nodes)
    if found.offsets is None:
        return first
    offsets = [0] * len(blocks)
    for block, offset in zip(instance.blocks.tolist(), found.offsets.tolist(), strict=True):
        offsets[block] = offset
    return found.bytes, offsets


NODE, CELLS = 400, 100
"""A node of the search takes about as long as so many pairs, and one more for so many blocks times steps."""
