"""A real Renode (TFLMGEN_RENODE, or renode of PATH) on all boards that have files for it. Some minutes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.commands import Finished, tflmgen
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu, requires_renode
from tflmgen.emulators.open_session import NO_MVE
from tflmgen.hardware.board import Board, list_boards, load_board
from tflmgen.project.platformio import environment_variables
from tflmgen.toolchain.programs import find_renode

pytestmark = [pytest.mark.emulator, requires_compiler, requires_renode]

GATE, VECTORS = ROOT / "examples" / "gate.tflite", ROOT / "examples" / "gate.npz"
BOARDS = [board for board in list_boards() if board.renode]
BY_RENODE_ONLY = [board for board in BOARDS if not board.qemu]


def name_of(board: Board) -> str:
    return board.id


def in_renode(command: str, board: Board, *words: object) -> Finished:
    """Skips where this Renode lacks instructions that the board's firmware has."""
    finished = tflmgen(command, GATE, "--board", board.id, "--emulator", "renode", *words)
    if finished.code != 0 and NO_MVE in finished.err:
        pytest.skip(finished.err)
    assert finished.code == 0, finished.err
    return finished


@pytest.mark.parametrize("board", BOARDS, ids=name_of)
def test_outputs(board: Board) -> None:
    assert f"on {board.id} in Renode" in in_renode("test", board, "--vectors", VECTORS).out


@pytest.mark.parametrize("board", BOARDS, ids=name_of)
def test_layers(board: Board) -> None:
    assert f"on {board.id} in Renode" in in_renode("test", board, "--layers").out


@requires_qemu
@pytest.mark.parametrize("board", [board for board in BOARDS if board.qemu], ids=name_of)
def test_instructions_are_as_many_as_in_qemu(board: Board) -> None:
    counted = in_renode("bench", board, "--inputs", VECTORS, "--json").json
    by_qemu = tflmgen("bench", GATE, "--board", board.id, "--inputs", VECTORS, "--emulator", "qemu", "--json").json
    assert counted["emulator"] == "Renode"
    assert [vector_set["instructions"] for vector_set in counted["sets"]] == [
        vector_set["instructions"] for vector_set in by_qemu["sets"]
    ]
    steps = [
        [(o["step"], o["executions"], o["instructions"]) for o in figures["operators"]]
        for figures in (counted, by_qemu)
    ]
    assert steps[0] == steps[1]


def test_a_short_timeout_is_not_for_the_start() -> None:
    in_renode("test", load_board("mps2_an386"), "--vectors", VECTORS, "--timeout", "2")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_survives_us(number: signal.Signals, tmp_path: Path) -> None:
    words = ["test", str(GATE), "--board", "mps2_an386", "--emulator", "renode"]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "tflmgen", *words]
    with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        until = time.monotonic() + 120
        while not list(tmp_path.rglob("renode-*")):
            assert running.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        running.send_signal(number)
        running.wait(timeout=60)
    until = time.monotonic() + 30
    while left := _processes_with(str(tmp_path)):
        assert time.monotonic() < until, left
        time.sleep(0.2)
    if number != signal.SIGKILL:
        assert list(tmp_path.iterdir()) == []


def _processes_with(text: str) -> list[str]:
    """The command lines of processes that have it in their environment."""
    commands = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "environ").read_bytes():
                commands.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return commands


@pytest.mark.parametrize("board", BY_RENODE_ONLY, ids=name_of)
def test_the_projects_own_test(board: Board, tmp_path: Path) -> None:
    project = tmp_path / "a project"
    assert tflmgen("build", GATE, "--board", board.id, "-o", project, "--no-compile").code == 0
    variables = environment_variables(project)
    renode = find_renode()
    assert renode
    if renode.name != "renode":
        pytest.skip(f"{renode} is not called renode")
    variables["PATH"] = f"{renode.parent}{os.pathsep}{variables['PATH']}"
    variables["TMPDIR"] = str(tmp_path)
    command = [sys.executable, "-m", "platformio", "test", "-d", str(project)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert _processes_with(str(tmp_path)) == []


@pytest.mark.skipif(shutil.which("renode-test") is None, reason="needs renode-test")
def test_all_suites_in_one_call(tmp_path: Path) -> None:
    suites: list[Path] = []
    for board in BOARDS:
        if "mve" not in board.features:
            project = tmp_path / f"a project {board.id}"
            assert tflmgen("build", GATE, "--board", board.id, "-o", project).code == 0
            suites += (project / "renode").glob("*.robot")
    words = ["-j", "2", "-r", str(tmp_path / "results"), "--variable", f"VECTORS:{VECTORS}", *map(str, suites)]
    done = subprocess.run(
        ["renode-test", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
