"""The header of a saved state, which NAME_state_load() compares before it accepts a blob."""

from __future__ import annotations

import hashlib
import struct

from tflmgen.ir import Fixed, Program

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
