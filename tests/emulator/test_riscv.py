"""RISC-V in QEMU: models by layers, control flow, state and windows, as the host computes them; faults and counts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tools import requires

EXAMPLES = ROOT / "examples"
OTHER_REGISTERS = r"\b(a[67]|s([2-9]|1[01])|t[3-6]|mul|mulh|mulhu|divu?|remu?)\b"

pytestmark = [
    pytest.mark.emulator,
    *(requires(program) for program in ("riscv64-unknown-elf-gcc", "qemu-system-riscv32")),
]


def test_an_example_with_control_flow() -> None:
    inputs = EXAMPLES / "gate.npz"
    done = tflmgen("test", EXAMPLES / "gate.tflite", "--board", "qemu_rv32", "--vectors", inputs, "--json")
    assert done.code == 0, done.err
    assert done.json["passed"]


def test_counts_by_operator() -> None:
    done = tflmgen("bench", EXAMPLES / "gate.tflite", "--board", "qemu_rv32", "--json")
    assert done.code == 0, done.err
    total, operators = done.json["total"], done.json["operators"]
    inside = sum(operator["instructions"] for operator in operators)
    assert 0 < inside <= total["instructions"]
    assert total["cycles_range"][0] < total["cycles_range"][1]


def test_a_core_of_sixteen_registers(tmp_path: Path) -> None:
    """QEMU 7.2 would run code that uses others: the compiler's word is checked."""
    done = tflmgen("build", EXAMPLES / "gate.tflite", "--board", "qemu_rv32e", "-o", tmp_path / "gate", "--json")
    assert done.code == 0, done.err
    assert done.json["firmware"]["stack_worst_case"] is not None
    elf = done.json["firmware"]["elf"]
    command = ["riscv64-unknown-elf-objdump", "-d", "--no-show-raw-insn", elf]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line for line in listing.splitlines() if line.startswith(("8", " 8"))]
    assert len(lines) > 1000
    assert not [line for line in lines if re.search(OTHER_REGISTERS, line.split("#")[0])]
