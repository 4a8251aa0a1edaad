"""A firmware that finds its own memory spoiled says so: a guard byte and a byte of the weights, in QEMU."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from tflmgen.compiler import compile_model
from tflmgen.emulators.firmware_session import running
from tflmgen.hardware.board import load_board
from tflmgen.options import BuildOptions, CheckWeights, OutputOptions, SessionOptions
from tflmgen.terminal.console import Console

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

FAULTS = """static int invokes;
    ++invokes;
    if (invokes == 2) {
        arena[sizeof arena - 1] ^= 1;
    } else if (invokes == 5) {
        *(volatile uint8_t *)(uintptr_t)constants[0].data ^= 1;
    }
"""
"""C that spoils a guard, then a constant; these boards' flash is a RAM that can be written."""


@pytest.mark.parametrize("name", ["mps2_an385_m0", "mps3_an547"])
def test_faults_are_found_on_the_device(name: str) -> None:
    board = load_board(name)
    options = BuildOptions("gate", check_memory=True, check_weights=CheckWeights.INVOKE)
    compilation = compile_model(ROOT / "examples" / "gate.tflite", board.target, options)
    path, begin = "src/gate.c", "tflmgen_status gate_invoke(void)\n{\n"
    text = compilation.sources.files[path]
    assert begin in text
    files = {**compilation.sources.files, path: text.replace(begin, begin + FAULTS)}
    compilation = replace(compilation, sources=replace(compilation.sources, files=files))
    frame = bytes(256)
    with running(compilation, board, options, SessionOptions(), Console(OutputOptions(quiet=True))) as ran:
        assert [ran.session.invoke(0, [frame]).status for _ in range(3)] == [0, 6, 6]
        ran.session.reset()
        assert [ran.session.invoke(0, [frame]).status for _ in range(3)] == [0, 7, 7]
