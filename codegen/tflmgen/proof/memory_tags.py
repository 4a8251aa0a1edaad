"""Tags of segments of memory, and what becomes of them.

A tag is a value, or an array in flash that was copied there, with the place of its first byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.errors import InternalError
from tflmgen.ir.graph import Value
from tflmgen.ir.program import (
    Access,
    Assembly,
    Branch,
    Fixed,
    Flash,
    Instruction,
    Invoke,
    Loop,
    Prefetch,
    PrefetchWait,
    Slot,
)
from tflmgen.proof.byte_segments import Span


@dataclass(frozen=True, slots=True)
class Arriving:
    """A copy of an array in flash that nobody has waited for yet."""

    source: Flash


Tag = tuple[Value | Flash | Arriving, int]
State = tuple[frozenset[Tag], ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Effect of a call of a function: the segments that it may change, and the places of its results."""

    written: frozenset[int]
    results: tuple[Access, ...]


def forget(state: State, values: frozenset[Value]) -> State:
    """A value that is defined anew is no longer anywhere else."""
    return tuple(
        frozenset(t for t in tags if t[0] not in values) if any(t[0] in values for t in tags) else tags
        for tags in state
    )


def whole(state: State, span: Span) -> frozenset[Value]:
    """The values that lie whole and alone in a span."""
    common: frozenset[Tag] | None = None
    for segment in span.segments:
        common = state[segment] if common is None else common & state[segment]
    values = ((v, base) for v, base in common or () if isinstance(v, Value))
    return frozenset(v for v, base in values if base == span.start and v.type.bytes == span.bytes)


def arrived(state: State) -> State:
    """The state once all that was arriving is there."""
    return tuple(frozenset((v.source if isinstance(v, Arriving) else v, base) for v, base in tags) for tags in state)


def meet(state: State, other: State) -> State:
    """The tags that both states have."""
    return tuple(a & b for a, b in zip(state, other, strict=True))


def base_of(place: Fixed | Slot) -> tuple[str, int]:
    """The memory or the slot of a place, without the offset in it."""
    return (place.memory, 0) if isinstance(place, Fixed) else ("slot", place.index)


def check_cover(assembly: Assembly, covered: list[tuple[int, int, int]]) -> None:
    """Raises InternalError where parts, each (output, offset, bytes), do not make up all outputs."""
    ends = [0] * len(assembly.outputs)
    for output, offset, size in sorted(covered):
        if offset != ends[output]:
            break
        ends[output] += size
    if ends != [a.bytes for a in assembly.outputs]:
        raise InternalError(f"step {assembly.step}: pieces do not make up the whole")


def check_arrivals(body: Sequence[Instruction]) -> None:
    """Raises InternalError where control flow begins, or a body ends, while an array arrives in the arena."""
    fetching = None
    for instruction in body:
        if isinstance(instruction, Prefetch):
            fetching = instruction
        elif isinstance(instruction, PrefetchWait):
            fetching = None
        elif isinstance(instruction, Branch | Loop | Invoke):
            _check_arrived(fetching)
            for inner in _bodies(instruction):
                check_arrivals(inner)
    _check_arrived(fetching)


def _check_arrived(fetching: Prefetch | None) -> None:
    if fetching is not None:
        raise InternalError(f"step {fetching.step}: '{fetching.source.name}' may arrive in another part of the program")


def _bodies(instruction: Branch | Loop | Invoke) -> tuple[tuple[Instruction, ...], ...]:
    if isinstance(instruction, Branch):
        return instruction.then, instruction.orelse
    return (instruction.condition, instruction.body) if isinstance(instruction, Loop) else ()
