"""docs/start/examples.md: its programs print what it shows, in QEMU, and its scripts make the committed models.

--update-golden puts in what they print now.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.repository import ROOT, page_named
from support.tools import requires_compiler, requires_qemu
from support.transcripts import PLAIN_80_COLUMNS
from tflmgen.hardware.board import load_board
from tflmgen.project.platformio import build

EXAMPLES = ROOT / "examples"
PAGE = page_named("examples")
BOARD = "mps2_an386"
PROGRAMS = {
    "whistle": ("whistle/whistle.tflite", "whistle/main.c"),
    "gate": ("gate.tflite", "gate_main.c"),
    "tracker": ("tracker/tracker.tflite", "tracker/main.c"),
}
CONSOLE = re.compile(r"(?<=```console\n)\$ tflmgen ([^\n]+)\n(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)

EMULATED = [
    pytest.mark.emulator,
    requires_compiler,
    requires_qemu,
]


def printed_by(name: str, folder: Path) -> str:
    """What an example's program prints on the emulated board."""
    model, program = PROGRAMS[name]
    finished = tflmgen("build", EXAMPLES / model, "--board", BOARD, "-o", folder)
    assert finished.code == 0, finished.err
    shutil.copy(EXAMPLES / program, folder / "src" / "main.c")
    firmware = build(folder, load_board(BOARD))
    command = [*load_board(BOARD).qemu_command, "-kernel", str(firmware.elf)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [pytest.param(name, marks=EMULATED) for name in PROGRAMS])
def test_what_the_program_prints(name: str, tmp_path: Path, update_golden: bool) -> None:
    printed, page = printed_by(name, tmp_path / name), PAGE.read_text(encoding="utf-8")
    marker = re.escape(f"<!-- examples/{PROGRAMS[name][1]} prints -->\n```text\n")
    block = re.compile(rf"(?<={marker})(.*?)(?=^```$)", re.DOTALL | re.MULTILINE)
    if update_golden:
        page = block.sub(lambda _: printed, page, count=1)
        PAGE.write_text(page, encoding="utf-8")
    shown = block.search(page)
    assert shown is not None
    assert shown[1] == printed


@pytest.mark.parametrize("_", [pytest.param("bench", marks=EMULATED)])
def test_what_the_command_prints(_: str, tmp_path: Path, update_golden: bool) -> None:
    (tmp_path / "examples").symlink_to(EXAMPLES)
    page = PAGE.read_text(encoding="utf-8")
    shown = CONSOLE.search(page)
    assert shown is not None
    environment = {**os.environ, **PLAIN_80_COLUMNS}
    command = [sys.executable, "-m", "tflmgen", *shown[1].split()]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    printed = f"$ tflmgen {shown[1]}\n" + "\n".join(lines).rstrip("\n") + "\n"
    if update_golden:
        PAGE.write_text(page.replace(shown[0], printed), encoding="utf-8")
    else:
        assert shown[0] == printed


@pytest.mark.parametrize("name", ["whistle", "tracker"])
def test_the_script_makes_the_committed_model(name: str) -> None:
    script = runpy.run_path(str(EXAMPLES / name / f"make_{name}.py"))
    assert script["make_model"]() == (EXAMPLES / name / f"{name}.tflite").read_bytes()


@pytest.mark.parametrize("name", ["whistle", "tracker"])
def test_the_model_does_what_tflite_micro_does(name: str) -> None:
    pytest.importorskip("tflite_micro", reason="needs tflite-micro")
    model = EXAMPLES / name / f"{name}.tflite"
    finished = tflmgen("test", model, "--board", "host")
    assert finished.code == 0, finished.out + finished.err


def test_the_tracker_finds_the_places(tmp_path: Path) -> None:
    script = runpy.run_path(str(EXAMPLES / "tracker" / "make_tracker.py"))
    with np.load(EXAMPLES / "tracker" / "tracker.npz") as committed:
        arrays = dict(committed)
    for key, value in script["make_inputs"]().items():
        np.testing.assert_array_equal(arrays[key], value)
    model, inputs, outputs = (
        EXAMPLES / "tracker" / "tracker.tflite",
        EXAMPLES / "tracker" / "tracker.npz",
        tmp_path / "out.npz",
    )
    finished = tflmgen("run", model, "--board", "host", "--inputs", inputs, "--outputs", outputs)
    assert finished.code == 0, finished.err
    with np.load(outputs) as results:
        for k, place in enumerate(script["PLACES"].values()):
            np.testing.assert_allclose(results[f"s{k}_out_0"], place, atol=1e-3)
            assert results[f"s{k}_out_1"] == (4 if k == 0 else 2)
