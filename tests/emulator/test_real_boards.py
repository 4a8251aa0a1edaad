"""Boards that no emulator here runs: their firmware links, for their processor, into their memories."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support import tiny
from support.repository import page_named
from support.tools import requires_compiler
from tflmgen.hardware.board import Board, list_boards
from tflmgen.project.platformio import build
from tflmgen.toolchain.elf import SHF_ALLOC, read_elf

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
]


@pytest.mark.parametrize("board", [b for b in list_boards() if not b.qemu], ids=lambda board: board.id)
def test_firmware_links_into_the_boards_memories(board: Board, tmp_path: Path) -> None:
    firmware = build(tiny.write_project(board, tmp_path / "project"), board)
    elf = read_elf(firmware.elf)
    sections = {s.name: s for s in elf.sections if s.size and s.flags & SHF_ALLOC}
    memories = {m.name: (m.origin, m.origin + m.size) for m in board.memories}
    for region, section in (("code", ".text"), ("data", ".bss"), ("arena", ".tflmgen_arena")):
        low, high = memories[dict(board.placement)[region]]
        assert low <= sections[section].address < sections[section].address + sections[section].size <= high
    flash, _ = memories[dict(board.placement)["code"]]
    boot = 256 if board.id == "pico" else 0
    assert elf.symbols["tflmgen_vectors"] == flash + boot
    assert elf.symbols["__stack_top"] == memories[dict(board.placement)["data"]][1]
    attributes = subprocess.run(
        ["arm-none-eabi-readelf", "-A", str(firmware.elf)], capture_output=True, text=True, check=True
    ).stdout
    assert ("Tag_ABI_VFP_args: VFP registers" in attributes) == (board.fpu is not None)


def test_the_page_tells_of_every_board() -> None:
    page = page_named("boards").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)$", page.split("## ")[1], re.MULTILINE))
    assert rows.keys() == {board.id for board in list_boards()}
    for board in list_boards():
        machine = board.qemu.machine if board.qemu else "no machine"
        assert (f"QEMU `{machine}`" in rows[board.id]) == (board.qemu is not None)
        assert ("PlatformIO" in rows[board.id]) == (board.platformio is not None)
