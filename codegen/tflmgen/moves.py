"""Moves that remain at a boundary, in an order that does what the parallel move means."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tflmgen.graph import Value
from tflmgen.homes import Buffer
from tflmgen.liveness import runs
from tflmgen.schedule import Boundary


@dataclass(frozen=True, slots=True)
class Copy:
    """`bytes` move from a buffer, or from flash where the source is constant, to a buffer."""

    destination: int
    source: int | Value
    bytes: int
    why: str


def sequence_copies(
    boundary: Boundary, home: Mapping[Value, int], buffers: list[Buffer], rotation: Collection[int]
) -> tuple[Copy, ...]:
    """The parallel move of a boundary as a sequence: a home is overwritten only after its last reader.

    Homes in `rotation` are left out: they get their contents by an exchange of pointers afterwards. A cycle needs a
    temporary, which is added to `buffers`.
    """
    pending: dict[int, Copy] = {}
    for value, source in zip(boundary.values, boundary.sources, strict=True):
        destination = home[value]
        if destination in rotation:
            continue
        if source.is_constant:
            pending[destination] = Copy(destination, source, value.type.bytes, "a constant is stored")
        elif home[source] != destination:
            why = _reason(value, source, buffers[destination], buffers[home[source]], boundary.index)
            pending[destination] = Copy(destination, home[source], value.type.bytes, why)
    ordered: list[Copy] = []
    while pending:
        read = {copy.source for copy in pending.values() if isinstance(copy.source, int)}
        free = [d for d in pending if d not in read]
        if free:
            ordered += [pending.pop(d) for d in free]
            continue
        # Only cycles are left: save the smallest member, then its home may be overwritten.
        saved = min(pending, key=lambda d: (pending[d].bytes, d))
        size = next(c.bytes for c in pending.values() if c.source == saved)
        temporary = len(buffers)
        name = f"temporary of {boundary.what} {boundary.index}"
        buffers.append(Buffer(name, -(-size // 4) * 4, buffers[saved].alignment, 1 << boundary.index))
        ordered.append(Copy(temporary, saved, size, "breaks a cycle of variables that change places"))
        for destination, copy in pending.items():
            if copy.source == saved:
                pending[destination] = Copy(destination, temporary, copy.bytes, copy.why)
    return tuple(ordered)


def _reason(value: Value, source: Value, here: Buffer, there: Buffer, boundary: int) -> str:
    """The two values and the step at which both are live and differ."""
    both = here.steps & there.steps & ~(1 << boundary)
    if not both:
        return f"'{value.name}' and '{source.name}' are kept apart by another value at step {boundary}"
    first = next(runs(both))[0]
    return f"'{value.name}' and '{source.name}' are both live at step {first}"
