"""Which homes change places at a loop's back edge by exchanging pointers, instead of moving bytes.

Where a variable's next value must not share its home (the body reads the old one after the new one exists), or
variables change places, the leftover moves of the back edge link homes into chains. A chain closed to a cycle is a
permutation of pointers: every value arrives where it is expected, and no byte moves. All homes of a group have one
size, and each may come to hold what any other holds, so they take the union of their live ranges.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tflmgen.ir import Value
from tflmgen.kernels import TUNING
from tflmgen.memory.homes import Buffer, Spot
from tflmgen.schedule import Boundary, CallStep, Liveness, Schedule, boundaries, walk_items


@dataclass(frozen=True, slots=True)
class Rotations:
    """cycles[step]: buffer -> the buffer whose place it takes. groups: buffers that change places with one another."""

    cycles: Mapping[int, Mapping[int, int]]
    groups: tuple[tuple[int, ...], ...]


def plan_rotations(
    schedule: Schedule, buffers: list[Buffer], home: Mapping[Value, Spot], liveness: Liveness
) -> Rotations:
    """The rotations at the back edges of all loops; the buffers of each group are widened in `buffers`.

    Homes of variables stay where they are, and so do those of called functions' inputs and results, which callers know.
    """
    fixed = {i for i, b in enumerate(buffers) if b.memory != "arena"}
    called = {
        item.node.function for f in schedule.functions for item, _ in walk_items(f.body) if isinstance(item, CallStep)
    }
    for function in schedule.functions:
        if function.function.name in called:
            known = (*function.function.inputs, *function.function.body.results)
            fixed.update(home[v].buffer for v in known if v in home)
    cycles = {}
    groups: list[set[int]] = []
    for boundary, _ in boundaries(schedule):
        chain = _chain(boundary, buffers, home, liveness, fixed) if boundary.what == "next" else {}
        if not chain:
            continue
        cycles[boundary.index] = _close(chain)
        members = set(cycles[boundary.index])
        joined = [g for g in groups if g & members]
        groups = [g for g in groups if not g & members] + [members.union(*joined)]
    for group in groups:
        _widen(group, buffers)
    return Rotations(cycles, tuple(tuple(sorted(g)) for g in groups))


def _widen(group: Collection[int], buffers: list[Buffer]) -> None:
    """Each home of a group may come to hold what any other holds."""
    steps = 0
    for i in group:
        steps |= buffers[i].steps
    size = max(buffers[i].bytes for i in group)
    alignment = max(buffers[i].alignment for i in group)
    for i in group:
        buffers[i] = replace(buffers[i], steps=steps, bytes=size, alignment=alignment)


def _chain(
    boundary: Boundary,
    buffers: Sequence[Buffer],
    home: Mapping[Value, Spot],
    liveness: Liveness,
    fixed: Collection[int],
) -> dict[int, int]:
    """destination -> source for those moves of a back edge that pointers can do."""
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
        here, there = home[value], home[source]
        if here.offset != there.offset or {here.buffer, there.buffer} & set(fixed) or there.buffer in chain.values():
            continue
        if all(_is_free(buffers[b], boundary, liveness) for b in (here.buffer, there.buffer)):
            chain[here.buffer] = there.buffer
    while True:
        # A source that is a variable's home and keeps its place would be lost.
        broken = [d for d, s in chain.items() if s in destinations and s not in chain]
        if not broken:
            return chain
        for destination in broken:
            del chain[destination]


def _is_free(buffer: Buffer, boundary: Boundary, liveness: Liveness) -> bool:
    """Whether a home may be exchanged: after the boundary at most one of its variables is needed there."""
    bit = 1 << boundary.index
    here = {v for v in buffer.values if liveness.ranges[v] & bit}
    variables = here & set(boundary.values)
    return len(variables) <= 1 and here <= liveness.dying[boundary.index] | variables


def _close(chain: Mapping[int, int]) -> dict[int, int]:
    """Paths become cycles: the end, whose contents are dead, takes the place that the start gives up."""
    closed = dict(chain)
    for start in set(chain) - set(chain.values()):
        end = start
        while end in chain:
            end = chain[end]
        closed[end] = start
    return closed
