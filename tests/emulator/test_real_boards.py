"""Boards that no emulator here runs: their firmware links, for their processor, into their memories."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support import tiny
from support.repository import page_named
from support.tools import binutils, requires_compiler_for
from tflmgen.hardware.board import Board, list_boards
from tflmgen.project.platformio import build
from tflmgen.toolchain.elf import SHF_ALLOC, read_elf

pytestmark = pytest.mark.emulator

BOARDS = [pytest.param(b, id=b.id, marks=requires_compiler_for(b)) for b in list_boards() if not b.qemu]

START = {"pico": 256, "imxrt1060_evk": 0x2000, "esp32c3": 32, "esp32c6": 32}
"""Bytes of the flash before vectors or first instruction: the second-stage boot loader, what a boot ROM reads, or what
aligns the handler of traps to 64 bytes behind the header of an image; elsewhere none."""

INSTRUCTIONS = {
    "esp32c3": "imc",
    "esp32c6": "imac",
    "hazard3": "imac",
    "gd32vf103": "imac",
    "qingke-v4f": "imafc",
}
"""RISC-V core -> its extensions by its manual, those that GCC 12 knows and firmware is compiled for."""


def _readelf(board: Board, elf: Path, option: str) -> str:
    command = [binutils(board, "readelf"), option, str(elf)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _check_arm(board: Board, elf: Path, symbols: dict[str, int], start: int) -> None:
    assert symbols["tflmgen_vectors"] == start
    attributes = _readelf(board, elf, "-A")
    assert ("Tag_ABI_VFP_args: VFP registers" in attributes) == (board.fpu is not None)


def _check_riscv(board: Board, elf: Path, symbols: dict[str, int], start: int) -> None:
    """Cores begin at the first instruction, or where the file's header says."""
    assert "tflmgen_vectors" not in symbols
    assert symbols["Reset_Handler"] == start
    header = _readelf(board, elf, "-h")
    assert re.search(rf"Entry point address: +0x{start:x}$", header, re.MULTILINE)
    assert f", {board.fpu or 'soft'}-float ABI" in header
    compiled = re.search(r'Tag_RISCV_arch: "rv32(.*)"', _readelf(board, elf, "-A"))
    assert compiled
    letters = re.findall(r"(?:^|_)([a-z])\d", compiled[1])
    assert letters == list(INSTRUCTIONS.get(board.core, board.core.removeprefix("rv32")))


@pytest.mark.parametrize("board", BOARDS)
def test_firmware_links_into_the_boards_memories(board: Board, tmp_path: Path) -> None:
    firmware = build(tiny.write_project(board, tmp_path / "project"), board)
    elf = read_elf(firmware.elf)
    sections = {s.name: s for s in elf.sections if s.size and s.flags & SHF_ALLOC}
    memories = {m.name: (m.origin, m.origin + m.size) for m in board.memories}
    for region, section in (("code", ".text"), ("data", ".bss"), ("arena", ".tflmgen_arena")):
        low, high = memories[dict(board.placement)[region]]
        assert low <= sections[section].address < sections[section].address + sections[section].size <= high
    flash, _ = memories[dict(board.placement)["code"]]
    assert elf.symbols["__stack_top"] == memories[dict(board.placement)["data"]][1]
    check = _check_arm if board.architecture.name == "arm" else _check_riscv
    check(board, firmware.elf, elf.symbols, flash + START.get(board.id, 0))


def test_the_page_tells_of_every_board() -> None:
    page = page_named("boards").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)$", page.split("## ")[1], re.MULTILINE))
    assert rows.keys() == {board.id for board in list_boards()}
    for board in list_boards():
        machine = board.qemu.machine if board.qemu else "no machine"
        assert (f"QEMU `{machine}`" in rows[board.id]) == (board.qemu is not None)
        assert ("PlatformIO" in rows[board.id]) == (board.platformio is not None)
