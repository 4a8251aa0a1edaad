"""The hand-written model of tiny_model/, and projects around it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tflmgen.hardware.board import Board
from tflmgen.project.assemble import Project, assemble, write

FOLDER = Path(__file__).parent / "tiny_model"
NAME = "tiny"
VALUES = struct.pack("<200i", *range(200))
TOTAL = 100 + sum(range(200))
WRITE_NOWHERE, EAT_STACK, SPIN, REFUSE, TRAP = 1, 2, 3, 4, 5


def _tensor(name: str, dtype: str, elements: int) -> dict[str, Any]:
    return {"name": name, "dtype": dtype, "shape": [elements]}


PLAN: dict[str, Any] = {
    "signatures": [
        {
            "key": "increment",
            "function": "tiny_increment",
            "inputs": [_tensor("x", "int8", 16)],
            "outputs": [_tensor("y", "int8", 16)],
        },
        {
            "key": "accumulate",
            "function": "tiny_accumulate",
            "inputs": [_tensor("values", "int32", 200), _tensor("mode", "float32", 1)],
            "outputs": [_tensor("total", "int32", 1)],
        },
    ]
}


def sources() -> dict[str, str]:
    paths = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    return {f"lib/{NAME}/{path.relative_to(FOLDER).as_posix()}": path.read_text() for path in paths}


def project(board: Board) -> Project:
    return assemble(sources(), (), board, NAME, PLAN)


def write_project(board: Board, folder: Path) -> Path:
    write(project(board), folder)
    return folder


def mode(number: int) -> bytes:
    return struct.pack("<i", number)


def total(output: bytes) -> int:
    return int(struct.unpack("<i", output)[0])
