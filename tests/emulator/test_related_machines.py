"""Boards without a QEMU machine of their own, on QEMU's nearest one: start-up, register set-up, UART driver, model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import tiny
from support.tools import requires_compiler, requires_qemu
from tflmgen.emulators.open_session import open_session
from tflmgen.hardware.board import load_board
from tflmgen.project.platformio import build

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]

LUMINARY: dict[str, Any] = {
    "title": "Luminary LM3S6965 Evaluation Kit: a PL011 UART",
    "core": "cortex-m3",
    "memories": [
        {"name": "FLASH", "origin": "0x00000000", "size": "256K", "kind": "flash"},
        {"name": "SRAM", "origin": "0x20000000", "size": "64K", "kind": "ram"},
    ],
    "uart": {
        "driver": "pl011",
        "base": "0x4000C000",
        "clock": 12000000,
        "baud": 115200,
        "setup": [{"note": "RCGC1: UART0", "address": "0x400FE104", "set": "0x1", "wait": "0x1"}],
    },
    "qemu": {"machine": "lm3s6965evb"},
}


def with_less_memory(board: str, size: str, machine: str, folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((load_board(board).folder or folder).joinpath("board.json").read_text())
    data["memories"] = [{**m, "size": size} if m["kind"] == "ram" else m for m in data["memories"]]
    return {**data, "qemu": {"machine": machine}}


@pytest.mark.parametrize("device", ["bluepill_f103c8 on an STM32F100", "pl011"])
def test_model_runs_on_the_related_machine(device: str, tmp_path: Path) -> None:
    data = LUMINARY if device == "pl011" else with_less_memory("bluepill_f103c8", "8K", "stm32vldiscovery", tmp_path)
    folder = tmp_path / "related"
    folder.mkdir()
    (folder / "board.json").write_text(json.dumps(data))
    board = load_board(str(folder))
    project = tiny.write_project(board, tmp_path / "project")
    firmware = build(project, board)
    with open_session(board, project, firmware.elf, "qemu", timeout=20) as session:
        result = session.invoke(1, [tiny.VALUES, tiny.mode(0)])
        assert tiny.total(result.outputs[0]) == tiny.TOTAL
