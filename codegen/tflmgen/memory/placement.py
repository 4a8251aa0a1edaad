"""Offsets of buffers: in the arena, packed, and in the state, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.kernels.costs import TUNING
from tflmgen.memory.first_fit import Overlaps, PlacedBlock, best_first_fit, constraints_of, improve, shared_bytes
from tflmgen.memory.homes import HomeBuffer
from tflmgen.memory.lower_bounds import peak
from tflmgen.memory.storage import Storage


@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """Plan of an arena.

    offsets      of each block
    bytes        size of the arena
    lower_bound  maximum of the live bytes over all steps; no plan can be smaller
    fullest      steps at which that maximum is reached
    starts       offsets of the arrays that it consists of, one per memory; no block crosses one
    """

    offsets: tuple[int, ...]
    bytes: int
    lower_bound: int
    fullest: tuple[int, ...]
    starts: tuple[int, ...] = (0,)

    @property
    def peak_step(self) -> int:
        """The step at which the bytes in use reach the top of the arena; 0 for an empty plan."""
        return self.fullest[0] if self.fullest else 0


def place(
    blocks: Sequence[PlacedBlock], steps: int, overlaps: Overlaps | None = None, effort: int = TUNING.packing_effort
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
    best, order = best_first_fit(blocks, constraints, bound)
    if best[0] > bound:
        best = improve(blocks, constraints, order, best, bound, effort)
    return ArenaPlan(tuple(best[1]), best[0], bound, peak_steps)


@dataclass(frozen=True, slots=True)
class Layout:
    """offsets[i]: byte offset of buffer i in its memory; plan of the arena; bytes of the state."""

    offsets: tuple[int, ...]
    arena: ArenaPlan
    state_bytes: int


def lay_out(storage: Storage, steps: int, effort: int = TUNING.packing_effort) -> Layout:
    """Places all buffers of a program with `steps` steps; `effort` as for `place`."""
    members = [i for i, b in enumerate(storage.buffers) if b.memory == "arena"]
    position = {buffer: i for i, buffer in enumerate(members)}
    overlaps = {(position[o], position[i]): distances for (o, i), distances in storage.overlaps.items()}
    arena = place([_block(storage.buffers[i]) for i in members], steps, overlaps, effort)
    packed = iter(arena.offsets)
    offsets, end = [], 0
    for buffer in storage.buffers:
        if buffer.memory == "arena":
            offsets.append(next(packed))
        else:
            offset = -(-end // buffer.alignment) * buffer.alignment
            offsets.append(offset)
            end = offset + buffer.bytes
    return Layout(tuple(offsets), arena, end)


def _block(buffer: HomeBuffer) -> PlacedBlock:
    return PlacedBlock(buffer.bytes, buffer.alignment, buffer.steps)
