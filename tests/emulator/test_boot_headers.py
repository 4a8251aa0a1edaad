"""What boot ROMs read of a firmware before it runs, byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tools import requires_compiler
from tflmgen.toolchain.elf import read_elf

pytestmark = [pytest.mark.emulator, requires_compiler]


def test_imxrt1060_finds_the_flash_and_the_program(tmp_path: Path) -> None:
    gate = ROOT / "examples" / "gate.tflite"
    finished = tflmgen("build", gate, "--board", "imxrt1060_evk", "-o", tmp_path / "p", "--json")
    assert finished.code == 0, finished.err
    path = Path(finished.json["firmware"]["elf"])
    elf = read_elf(path)
    (text,) = (section for section in elf.sections if section.name == ".text")
    flash, data = text.address, path.read_bytes()[text.offset : text.offset + text.size]
    assert flash == 0x60000000
    assert data[:4] == b"FCFB"
    opcode, operand = 10, 16
    read, wait = struct.unpack_from("<II", data, 0x80)
    assert (read & 0xFF, read >> opcode & 63, read >> operand & 0xFF) == (0xEB, 1, 24)
    assert (wait & 0xFF, wait >> opcode & 63) == (6, 12)
    header, entry, *_, boot_data, itself = struct.unpack_from("<6I", data, 0x1000)
    assert (header, itself) == (0x412000D1, flash + 0x1000)
    assert struct.unpack_from("<III", data, boot_data - flash) == (flash, 8 << 20, 0)
    assert entry == flash + 0x2000 == elf.symbols["tflmgen_vectors"]
    stack, reset = struct.unpack_from("<II", data, entry - flash)
    assert (stack, reset & ~1) == (0x20020000, elf.symbols["Reset_Handler"] & ~1)
