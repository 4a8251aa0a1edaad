"""The initial contents of the state as C: zeros are set, and flash holds what else there is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tflmgen.ir import Fixed, Program

LEAST_GAP = 32
"""Bytes of zeros between two runs below which one copy is smaller than two."""
LEAST_SAVING = 64
"""Bytes of zeros below which the whole image is copied: calls take some 16 bytes of code each."""


@dataclass(frozen=True, slots=True)
class StateImage:
    """All bytes of the state at first, and the runs of these that flash holds: (offset, bytes)."""

    data: bytes
    runs: tuple[tuple[int, int], ...]

    @property
    def flash(self) -> bytes:
        """The runs, one after another."""
        return b"".join(self.data[start : start + count] for start, count in self.runs)

    def statements(self, state: str) -> list[str]:
        """C that brings an array back to the image; `state` is an expression of where it begins."""
        if self.runs == ((0, len(self.data)),):
            return [f"memcpy({state}, initial_state, sizeof initial_state);"]
        lines, position = [f"memset({state}, 0, {len(self.data)});"], 0
        for start, count in self.runs:
            target, origin = _plus(state, start), _plus("initial_state", position)
            lines.append(f"memcpy({target}, {origin}, {count});")
            position += count
        return lines


def state_image(program: Program) -> StateImage:
    """The contents of all variables at first."""
    image = bytearray(program.state_bytes)
    for variable in program.state:
        data, place = program.images[variable.initial].data, variable.access.place
        assert isinstance(place, Fixed)
        image[place.offset : place.offset + len(data)] = data
    return image_of(bytes(image))


def image_of(data: bytes) -> StateImage:
    """The runs of these bytes that are worth their copies."""
    runs = tuple((match.start(), len(match[0])) for match in _RUN.finditer(data))
    if any(data) and len(data) - sum(count for _, count in runs) < LEAST_SAVING:
        runs = ((0, len(data)),)
    return StateImage(data, runs)


def _plus(base: str, offset: int) -> str:
    return f"{base} + {offset}" if offset else base


_RUN = re.compile(rb"[^\0](?:\0{0,%d}[^\0])*" % (LEAST_GAP - 1), re.DOTALL)
"""From one byte that is not 0 to another, with few zeros between."""
