"""The C functions of a signature, by what they are for."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.ir.graph import Port

BLOB_HEADER_BYTES = 28
"""First bytes of a saved state."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The C functions of a signature: of each input and output the one that returns where it lies, invoke, and what
    takes a row and invokes."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    invoke: str
    push: str = ""


def dimension_verb(port: Port, is_input: bool) -> str:
    """Suffix of the C function that sets an input's dynamic dimensions, or returns an output's."""
    if not is_input:
        return "shape"
    return "set_rows" if port.type.dynamic_axes == (0,) else "set_shape"
