"""Moves that remain at a boundary, in an order that does what the parallel move means."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tflmgen.ir import Value
from tflmgen.memory.homes import Buffer, Spot
from tflmgen.schedule import Boundary, runs


@dataclass(frozen=True, slots=True)
class Copy:
    """`bytes` move from a spot, or from flash where the source is constant, to a spot of perhaps the same buffer."""

    destination: Spot
    source: Spot | Value
    bytes: int
    why: str

    def spoils(self, other: Copy) -> bool:
        """Whether this copy writes over what `other` has yet to read."""
        source = other.source
        if isinstance(source, Value) or source.buffer != self.destination.buffer or other is self:
            return False
        begin = self.destination.offset
        return begin < source.offset + other.bytes and source.offset < begin + self.bytes


def sequence_copies(
    boundary: Boundary, home: Mapping[Value, Spot], buffers: list[Buffer], rotation: Collection[int]
) -> tuple[Copy, ...]:
    """The parallel move of a boundary as a sequence: bytes are overwritten only after their last reader.

    Buffers in `rotation` are left out: they get their contents by an exchange of pointers afterwards. A cycle needs a
    temporary, which is added to `buffers`.
    """
    pending = [
        _copy(value, source, home, buffers, boundary)
        for value, source in zip(boundary.values, boundary.sources, strict=True)
        if home[value].buffer not in rotation and (source.is_constant or home[source] != home[value])
    ]
    ordered: list[Copy] = []
    while pending:
        free = [copy for copy in pending if not any(copy.spoils(other) for other in pending)]
        if free:
            ordered += free
            pending = [copy for copy in pending if copy not in free]
            continue
        # Only cycles are left: one source is saved elsewhere, so that it may be overwritten.
        saved = min((c for c in pending if any(o.spoils(c) for o in pending)), key=lambda c: c.bytes)
        assert isinstance(saved.source, Spot)
        temporary = Spot(len(buffers))
        name = f"temporary of {boundary.what} {boundary.index}"
        alignment = buffers[saved.source.buffer].alignment
        buffers.append(Buffer(name, -(-saved.bytes // 4) * 4, alignment, 1 << boundary.index))
        ordered.append(Copy(temporary, saved.source, saved.bytes, "breaks a cycle of variables that change places"))
        pending = [replace(c, source=temporary) if c is saved else c for c in pending]
    return tuple(ordered)


def _copy(value: Value, source: Value, home: Mapping[Value, Spot], buffers: list[Buffer], boundary: Boundary) -> Copy:
    if source.is_constant:
        return Copy(home[value], source, value.type.bytes, "a constant is stored")
    why = _reason(value, source, buffers[home[value].buffer], buffers[home[source].buffer], boundary.index)
    return Copy(home[value], home[source], value.type.bytes, why)


def _reason(value: Value, source: Value, here: Buffer, there: Buffer, boundary: int) -> str:
    """The two values and the step at which both are live and differ."""
    if here is there:
        return f"'{source.name}' is a piece of what '{value.name}' was joined with"
    both = here.steps & there.steps & ~(1 << boundary)
    if not both:
        return f"'{value.name}' and '{source.name}' are kept apart by another value at step {boundary}"
    first = next(runs(both))[0]
    return f"'{value.name}' and '{source.name}' are both live at step {first}"
