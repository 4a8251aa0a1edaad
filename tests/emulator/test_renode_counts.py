"""Renode's counts by operator, with QEMU in its place: the hooks' Python runs at the addresses that QEMU's trace has.

Renode itself has been seen to run hooks before the instruction at their address, with an exact ExecutedInstructions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from tflmgen.compiler import Compilation
from tflmgen.emulators.invoke_cost import Counts
from tflmgen.emulators.open_session import _steps_of
from tflmgen.emulators.qemu import run_qemu
from tflmgen.emulators.qemu_plugin import plugin
from tflmgen.emulators.renode import renode_counting
from tflmgen.emulators.session import Session
from tflmgen.hardware.board import Board, load_board
from tflmgen.options import BuildOptions
from tflmgen.project import compile_for, project_of, write
from tflmgen.project.platformio import build

pytestmark = [pytest.mark.emulator, requires_compiler, requires_qemu]

HOOK = re.compile(r'sysbus\.cpu AddHook 0x([0-9a-f]+) "(.*)"')
TRACE = re.compile(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/", re.M)
GATE = ROOT / "examples" / "gate.tflite"
"""A model with branches."""


def _firmware(board: Board, folder: Path) -> tuple[Compilation, Path, Path]:
    options = BuildOptions()
    compilation = compile_for(GATE, board, options)
    project = folder / compilation.name
    write(project_of(compilation, board, options), project)
    return compilation, project, build(project, board).elf


def _inputs(compilation: Compilation) -> list[bytes]:
    rng = np.random.default_rng(4)
    ports = compilation.module.signatures[0].inputs
    return [rng.integers(0, 100, p.type.elements).astype(p.type.dtype.numpy).tobytes() for p in ports]


def _replayed(hooks: Sequence[str], addresses: Sequence[int]) -> None:
    """Runs the hooks' scripts as Renode does, before each instruction at their address."""
    scripts = {int(match[1], 16): compile(match[2], "hook", "exec") for match in map(HOOK.fullmatch, hooks) if match}
    assert len(scripts) == len(hooks)
    for number, address in enumerate(addresses):
        if address in scripts:
            exec(scripts[address], {"self": SimpleNamespace(ExecutedInstructions=number)})


def _by_qemu(board: Board, elf: Path, steps: Mapping[int, int], inputs: list[bytes]) -> Counts:
    with plugin(board, elf, steps) as counting, run_qemu(board, elf, counting.arguments) as stream:
        Session(stream, "counted", 120).invoke(0, inputs)
        return counting.read()


@pytest.mark.parametrize("name", ["mps2_an386", "mps2_an385_m0", "mps3_an547"])
def test_hooks_count_what_the_plugin_counts(name: str, tmp_path: Path) -> None:
    board = load_board(name)
    compilation, project, elf = _firmware(board, tmp_path)
    steps, inputs = _steps_of(elf, project, compilation.plan), _inputs(compilation)
    wanted = {step: tally.instructions for step, tally in _by_qemu(board, elf, steps, inputs).items()}
    log = tmp_path / "log"
    with run_qemu(board, elf, ("-singlestep", "-d", "exec,nochain", "-D", str(log))) as stream:
        Session(stream, "traced", 120).invoke(0, inputs)
    executed = [int(pc, 16) for pc in TRACE.findall(log.read_text())]
    with renode_counting(elf, board.architecture, steps) as counting:
        _replayed(counting.hooks, executed)
        counted = {step: tally.instructions for step, tally in counting.read().items()}
        assert len(counting.hooks) < len(steps) / 4
    assert counted == {step: count for step, count in wanted.items() if count}
    assert len(counted) > 3
