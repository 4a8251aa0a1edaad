"""Exchanges pointers to homes at a loop's back edge instead of copying bytes.

If a variable's next value cannot share its home (the body reads the old value after the new one exists), or if
variables are permuted, the remaining moves of the back edge link homes into chains. A chain closed to a cycle is a
permutation of pointers that copies no byte. All homes of a group have the same size and the union of their live
ranges, since each may come to hold the contents of any other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.ir.graph import Value
from tflmgen.kernels.costs import TUNING
from tflmgen.memory.homes import HomeBuffer, Spot
from tflmgen.memory.liveness import Liveness
from tflmgen.memory.schedule_tree import Boundary, CallStep, Schedule, boundaries, walk_items


@dataclass(frozen=True, slots=True)
class Rotations:
    """Pointer exchanges of a program.

    cycles  step of a back edge -> (buffer -> the buffer whose place it takes)
    groups  buffers that exchange places with each other
    """

    cycles: Mapping[int, Mapping[int, int]]
    groups: tuple[tuple[int, ...], ...]


def plan_rotations(
    schedule: Schedule, buffers: list[HomeBuffer], home: Mapping[Value, Spot], liveness: Liveness
) -> Rotations:
    """Rotations at the back edges of all loops; widens the buffers of each group in `buffers`.

    Homes of persistent variables, and of inputs and results of called functions, have fixed places and are excluded.
    """
    fixed = {i for i, b in enumerate(buffers) if b.memory != "arena"}
    called = {
        item.node.function for f in schedule.functions for item, _ in walk_items(f.body) if isinstance(item, CallStep)
    }
    for function in schedule.functions:
        if function.function.name in called:
            fixed_values = (*function.function.inputs, *function.function.body.results)
            fixed.update(home[v].buffer for v in fixed_values if v in home)
    cycles = {}
    groups: list[set[int]] = []
    for boundary, _ in boundaries(schedule):
        chain = _chain(boundary, buffers, home, liveness, fixed) if boundary.kind == "next" else {}
        if not chain:
            continue
        cycles[boundary.index] = _closed_cycles(chain)
        members = set(cycles[boundary.index])
        joined = [g for g in groups if g & members]
        groups = [g for g in groups if not g & members] + [members.union(*joined)]
    for group in groups:
        _widen(group, buffers)
    return Rotations(cycles, tuple(tuple(sorted(g)) for g in groups))


def _widen(group: Collection[int], buffers: list[HomeBuffer]) -> None:
    """Gives all homes of a group the largest size and alignment and the union of their live ranges."""
    steps = 0
    for i in group:
        steps |= buffers[i].steps
    size = max(buffers[i].bytes for i in group)
    alignment = max(buffers[i].alignment for i in group)
    for i in group:
        buffers[i] = replace(buffers[i], steps=steps, bytes=size, alignment=alignment)


def _chain(
    boundary: Boundary,
    buffers: Sequence[HomeBuffer],
    home: Mapping[Value, Spot],
    liveness: Liveness,
    fixed: Collection[int],
) -> dict[int, int]:
    """destination -> source, for the moves of a back edge that pointers can replace."""
    destinations = {home[v].buffer for v in boundary.values}
    moved = [
        (value, source)
        for value, source in zip(boundary.values, boundary.sources, strict=True)
        if not source.is_constant and home[value] != home[source]
    ]
    if sum(value.type.bytes for value, _ in moved) <= TUNING.rotation_bytes:
        return {}
    chain: dict[int, int] = {}
    for value, source in moved:
        spot, source_spot = home[value], home[source]
        if (
            spot.offset != source_spot.offset
            or {spot.buffer, source_spot.buffer} & set(fixed)
            or source_spot.buffer in chain.values()
        ):
            continue
        if all(_is_free(buffers[b], boundary, liveness) for b in (spot.buffer, source_spot.buffer)):
            chain[spot.buffer] = source_spot.buffer
    while True:
        # A source that is a variable's home and does not move itself would be lost.
        broken = [d for d, s in chain.items() if s in destinations and s not in chain]
        if not broken:
            return chain
        for destination in broken:
            del chain[destination]


def _is_free(buffer: HomeBuffer, boundary: Boundary, liveness: Liveness) -> bool:
    """Whether a home may be exchanged: at most one of its variables is live after the boundary, and no other value."""
    bit = 1 << boundary.index
    live = {v for v in buffer.values if liveness.ranges[v] & bit}
    variables = live & set(boundary.values)
    return len(variables) <= 1 and live <= liveness.dying[boundary.index] | variables


def _closed_cycles(chain: Mapping[int, int]) -> dict[int, int]:
    """Closes paths to cycles: the end, whose contents are dead, takes the place of the start."""
    closed = dict(chain)
    for start in set(chain) - set(chain.values()):
        end = start
        while end in chain:
            end = chain[end]
        closed[end] = start
    return closed
