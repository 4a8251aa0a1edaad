"""Sequentialises the parallel move that remains at a boundary after coalescing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from tflmgen.ir.graph import Value
from tflmgen.memory.homes import HomeBuffer, Spot
from tflmgen.memory.liveness import runs
from tflmgen.memory.schedule_tree import Boundary


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy of `bytes` from a spot or a constant to a spot, perhaps of the same buffer.

    reason  why the copy remains, for plan.json
    """

    destination: Spot
    source: Spot | Value
    bytes: int
    reason: str

    def overwrites_source_of(self, later: Copy) -> bool:
        """Whether this copy overwrites bytes that `later` reads."""
        source = later.source
        if isinstance(source, Value) or source.buffer != self.destination.buffer or later is self:
            return False
        begin = self.destination.offset
        return begin < source.offset + later.bytes and source.offset < begin + self.bytes


def sequence_copies(
    boundary: Boundary, home: Mapping[Value, Spot], buffers: list[HomeBuffer], rotation: Collection[int]
) -> tuple[Copy, ...]:
    """The parallel move of a boundary as a sequence that overwrites bytes only after their last reader.

    Buffers in `rotation` are omitted, since pointers are exchanged for them afterwards. Each cycle needs a temporary,
    which is appended to `buffers`.
    """
    pending = [
        _copy(value, source, home, buffers, boundary)
        for value, source in zip(boundary.values, boundary.sources, strict=True)
        if home[value].buffer not in rotation and (source.is_constant or home[source] != home[value])
    ]
    ordered: list[Copy] = []
    while pending:
        free = [copy for copy in pending if not any(copy.overwrites_source_of(later) for later in pending)]
        if free:
            ordered += free
            pending = [copy for copy in pending if copy not in free]
            continue
        # Only cycles remain: one source is saved in a temporary, so that it may be overwritten.
        saved = min((c for c in pending if any(o.overwrites_source_of(c) for o in pending)), key=lambda c: c.bytes)
        assert isinstance(saved.source, Spot)
        temporary = Spot(len(buffers))
        name = f"temporary of {boundary.kind} {boundary.index}"
        alignment = buffers[saved.source.buffer].alignment
        buffers.append(HomeBuffer(name, -(-saved.bytes // 4) * 4, alignment, 1 << boundary.index))
        ordered.append(Copy(temporary, saved.source, saved.bytes, "breaks a cycle of variables that change places"))
        pending = [replace(c, source=temporary) if c is saved else c for c in pending]
    return tuple(ordered)


def _copy(
    value: Value, source: Value, home: Mapping[Value, Spot], buffers: list[HomeBuffer], boundary: Boundary
) -> Copy:
    if source.is_constant:
        return Copy(home[value], source, value.type.bytes, "a constant is stored")
    reason = _reason(value, source, buffers[home[value].buffer], buffers[home[source].buffer], boundary.index)
    return Copy(home[value], home[source], value.type.bytes, reason)


def _reason(value: Value, source: Value, buffer: HomeBuffer, source_buffer: HomeBuffer, boundary: int) -> str:
    """Reason for a copy: the two values, and the first step at which both are live."""
    if buffer is source_buffer:
        return f"'{source.name}' is a piece of what '{value.name}' was joined with"
    common_steps = buffer.steps & source_buffer.steps & ~(1 << boundary)
    if not common_steps:
        return f"'{value.name}' and '{source.name}' are kept apart by another value at step {boundary}"
    first = next(runs(common_steps))[0]
    return f"'{value.name}' and '{source.name}' are both live at step {first}"
