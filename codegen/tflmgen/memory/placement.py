"""Offsets of buffers in the smallest arena that is found: buffers with a common live step are disjoint.

A pair of buffers with an overlap distance may overlap by it instead.

First fit in several orders is followed by two deterministic searches until the lower bound is met or the effort is
spent: over canonical packings, and over orders of first fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.kernels import TUNING
from tflmgen.memory.first_fit import Packing, best_first_fit, improve
from tflmgen.memory.lower_bounds import peak
from tflmgen.memory.packing_problem import instance_of
from tflmgen.memory.placement_blocks import Block, Constraints, Overlaps, constraints_of, shared_bytes
from tflmgen.memory.portfolio import tighten


@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """Plan of an arena.

    offsets      of each block
    bytes        size of the arena
    lower_bound  maximum of the live bytes over all steps; no plan can be smaller
    fullest      steps at which that maximum is reached
    """

    offsets: tuple[int, ...]
    bytes: int
    lower_bound: int
    fullest: tuple[int, ...]

    @property
    def peak_step(self) -> int:
        """The step at which the bytes in use reach the top of the arena; 0 for an empty plan."""
        return self.fullest[0] if self.fullest else 0


def place(
    blocks: Sequence[Block], steps: int, overlaps: Overlaps | None = None, effort: int = TUNING.packing_effort
) -> ArenaPlan:
    """Places `blocks` of a program with `steps` steps.

    effort  limit of the search in pairs of blocks; more effort is never worse

    Deterministic.
    """
    shared = shared_bytes(blocks, overlaps or {})
    savings: dict[int, int] = {}
    for (step, _), common in shared.items():
        savings[step] = savings.get(step, 0) + common
    bound, peak_steps = peak(((b.bytes, b.steps) for b in blocks), steps, savings)
    constraints = constraints_of(blocks, overlaps or {})
    first, order = best_first_fit(blocks, constraints, bound)
    best = first
    if best[0] > bound:
        best = _canonical(blocks, steps, constraints, shared, first, bound, effort)
    if best[0] > bound:
        reordered = improve(blocks, constraints, order, first, bound, min(effort, TUNING.packing_effort))
        best = min(best, reordered, key=lambda p: p[0])
    return ArenaPlan(tuple(best[1]), best[0], bound, peak_steps)


def _canonical(
    blocks: Sequence[Block],
    steps: int,
    constraints: Constraints,
    shared: dict[tuple[int, int], int],
    first: Packing,
    bound: int,
    effort: int,
) -> Packing:
    """A better packing than `first` if the search finds one within `effort`; else `first`."""
    nodes = effort // (NODE + len(blocks) * steps // CELLS)
    if nodes < len(blocks):
        return first
    instance = instance_of(blocks, steps, constraints, shared)
    tightened = tighten(instance, first[0], bound, nodes)
    if tightened.offsets is None:
        return first
    offsets = [0] * len(blocks)
    for block, offset in zip(instance.blocks.tolist(), tightened.offsets.tolist(), strict=True):
        offsets[block] = offset
    return tightened.bytes, offsets


NODE, CELLS = 400, 100
"""Duration of a node of the search, as that of looking at pairs of blocks: NODE of them, and one more for every CELLS
of blocks times steps. A unit of effort then takes as long in either search."""
