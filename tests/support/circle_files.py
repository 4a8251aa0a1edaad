"""Circle files, made of .tflite ones: another identifier and version, and operator codes of Circle's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tflmgen.frontend.tflite import Model, write_model, writer
from tflmgen.frontend.tflite.flatbuffer_encoder import Encoder

CODES = {"INSTANCE_NORM": -2, "BCQ_FULLY_CONNECTED": -3, "BCQ_GATHER": -4, "GRU": -5, "RMS_NORM": -6, "ROPE": -7}


def write_circle(path: Path, model: Model, old: bool = False) -> Path:
    """The model as Circle's converter writes it. old: its own codes in the 8-bit field alone, as before schema 0.3."""
    encoder = Encoder()
    finish = encoder.finish

    def code_of(name: str, version: int) -> dict[str, Any]:
        if name not in CODES:
            return known(name, version)
        code = CODES[name]
        return {"deprecated_builtin_code": code, "builtin_code": 0 if old else code, "version": 1}

    known, index_of = writer._operator_code, writer._builtin_code
    try:
        writer._operator_code = code_of
        writer._builtin_code = lambda name: CODES[name] if name in CODES else index_of(name)
        writer.Encoder = lambda: _Circle(finish)  # type: ignore[assignment, attr-defined, return-value]
        path.write_bytes(write_model(model))
    finally:
        writer._operator_code, writer._builtin_code = known, index_of
        writer.Encoder = Encoder  # type: ignore[attr-defined]
    return path


class _Circle:
    """An encoder that writes Circle's identifier and version."""

    def __init__(self, finish: Any) -> None:
        self._finish = finish

    def finish(self, table: str, values: dict[str, Any], _: bytes) -> bytes:
        return bytes(self._finish(table, {**values, "version": 0}, b"CIR0"))
