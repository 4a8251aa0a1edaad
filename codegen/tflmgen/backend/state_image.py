"""The state in C: its initial contents (zeros are set, flash holds the others), and the header of a saved one."""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass

from tflmgen.ir.program import Fixed, Program

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


MAGIC = b"TFLS"
VERSION = 1
"""Version of the format: header, then the bytes of the state."""

HEADER_BYTES = 28
"""Magic, version, bytes of the state, and 16 bytes of a digest of its layout."""


def blob_header(program: Program, model_sha256: str) -> bytes:
    """Magic, version, bytes of state, 16 bytes of SHA-256 over the model's hash and every variable's place and type.

    Numbers are 32-bit, little-endian. Equal headers mean that the bytes that follow mean the same.
    """
    layout = hashlib.sha256(model_sha256.encode())
    for variable in program.state:
        place, type_ = variable.access.place, variable.access.value.type
        assert isinstance(place, Fixed)
        layout.update(repr((variable.name, place.offset, type_.dtype.label, type_.max_shape)).encode())
    header = MAGIC + struct.pack("<II", VERSION, program.state_bytes) + layout.digest()[:16]
    assert len(header) == HEADER_BYTES
    return header
