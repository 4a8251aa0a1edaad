"""An arena in several memories: which buffers lie in the fast one, and the packing of each.

A knapsack whose items share room where they never live at once, filled greedily by accesses per byte (the ratio rule
of Dantzig, "Discrete-variable extremum problems", 1957): each buffer in turn goes to the first memory where the
packing of all that are there still fits. The parts follow one another on one line of offsets, so that distances
between overlapping buffers mean the same as in an arena of one memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from tflmgen.kernels.costs import TUNING
from tflmgen.memory import Layout, PlacedBlock, Storage, place

ALIGNMENT = 16
"""Bytes that the offset of a part is a multiple of, as each array of the arena is."""


def divide(
    storage: Storage,
    steps: int,
    layout: Layout,
    rooms: Sequence[int],
    accesses: Sequence[float],
    pins: Mapping[int, int],
) -> Layout:
    """The layout whose arena has one part for each of `rooms`, bytes each, and a last one for what does not fit there.

    layout    the same buffers in an arena of one memory, which stays as it is where it fits the first room
    accesses  by number of a buffer: how often its bytes are read or written in an invoke
    pins      number of a buffer -> the part that it has to lie in
    """
    if layout.arena.bytes <= rooms[0] and not any(pins.values()):
        return layout
    parts = _parts(storage, steps, rooms, accesses, pins)
    offsets, starts, end = list(layout.offsets), [], 0
    for members in parts:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        packed, size = _packed(storage, steps, members)
        for buffer, offset in zip(members, packed, strict=True):
            offsets[buffer] = start + offset
        starts.append(start)
        end = start + size
    return replace(layout, offsets=tuple(offsets), arena=replace(layout.arena, bytes=end, starts=tuple(starts)))


def _parts(
    storage: Storage, steps: int, rooms: Sequence[int], accesses: Sequence[float], pins: Mapping[int, int]
) -> list[list[int]]:
    """Numbers of the buffers in each part, ascending."""
    waiting = sorted(_units(storage), key=lambda unit: -_density(unit, storage, accesses))
    parts = []
    for part, room in enumerate(rooms):
        members = sorted(i for unit in waiting for i in unit if _pinned(unit, pins) == part)
        for unit in waiting:
            trial = sorted((*members, *unit))
            if _pinned(unit, pins) is None and _fits(storage, steps, trial, room):
                members = trial
        waiting = [unit for unit in waiting if not set(unit) & set(members)]
        parts.append(members)
    return [*parts, sorted(i for unit in waiting for i in unit)]


def _units(storage: Storage) -> Iterator[tuple[int, ...]]:
    """Buffers of the arena that stay together: those that exchange places, and all others alone."""
    yield from storage.groups
    grouped = {i for group in storage.groups for i in group}
    yield from ((i,) for i, buffer in enumerate(storage.buffers) if buffer.memory == "arena" and i not in grouped)


def _pinned(unit: Collection[int], pins: Mapping[int, int]) -> int | None:
    return next((pins[i] for i in unit if i in pins), None)


def _density(unit: Collection[int], storage: Storage, accesses: Sequence[float]) -> float:
    """Accesses per byte and step of its life."""
    room = sum(storage.buffers[i].bytes * storage.buffers[i].steps.bit_count() for i in unit)
    return sum(accesses[i] for i in unit) / max(1, room)


def _fits(storage: Storage, steps: int, members: Sequence[int], room: int) -> bool:
    if sum(-(-storage.buffers[i].bytes // ALIGNMENT) * ALIGNMENT for i in members) <= room:
        return True
    return _packed(storage, steps, members, effort=0)[1] <= room


def _packed(
    storage: Storage, steps: int, members: Sequence[int], effort: int = TUNING.packing_effort
) -> tuple[tuple[int, ...], int]:
    """Offset of each of `members`, and the bytes that they take together."""
    position = {buffer: i for i, buffer in enumerate(members)}
    overlaps = {
        (position[output], position[source]): distances
        for (output, source), distances in storage.overlaps.items()
        if output in position and source in position
    }
    buffers = [storage.buffers[i] for i in members]
    plan = place([PlacedBlock(b.bytes, b.alignment, b.steps) for b in buffers], steps, overlaps, effort)
    return plan.offsets, plan.bytes
