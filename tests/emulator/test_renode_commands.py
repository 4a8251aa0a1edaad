"""What starts Renode beside a session: the commands, `pio test`, and the script by hand. With a stand-in for Renode."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from support import tiny
from support.commands import tflmgen, write_adder
from support.renode_stand_in import StandIn, outliving
from support.tools import requires_compiler
from tflmgen.emulators.link import Client
from tflmgen.hardware.board import list_boards, load_board
from tflmgen.project.platformio import environment_variables

pytestmark = [pytest.mark.emulator, requires_compiler]

BY_RENODE_ONLY = [board.id for board in list_boards() if board.renode and not board.qemu]
PORT = 3456


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "a folder"
    folder.mkdir()
    np.savez(folder / "in.npz", left=np.ones((1, 4), np.float32), right=np.ones((1, 4), np.float32))
    return write_adder(folder / "adder.tflite")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["test"], "in Renode"),
        (["test", "--layers"], "in Renode"),
        (["run", "--inputs", "in.npz", "--outputs", "out.npz"], "in Renode"),
        (["bench", "--inputs", "in.npz"], " 250 "),
    ],
    ids=["test", "layers", "run", "bench"],
)
def test_commands(words: list[str], shown: str, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    renode = StandIn().install(model.parent)
    command, *options = words
    options += ["--board", "nucleo_f767zi", "--emulator", "renode", "--renode", str(renode)]
    finished = tflmgen(command, model.name, *options)
    assert finished.code == 0, finished.err
    assert shown in finished.out
    assert outliving(renode) == []


@pytest.mark.parametrize("port", [PORT, 4003])
def test_script_by_hand_in_a_folder_with_spaces(port: int, tmp_path: Path) -> None:
    board = load_board("mps2_an386")
    project = tiny.write_project(board, tmp_path / "a project")
    elf = project / ".pio" / "build" / board.id / "firmware.elf"
    elf.parent.mkdir(parents=True)
    elf.touch()
    renode = StandIn().install(tmp_path)
    (line,) = [line for line in (project / "renode" / "board.resc").read_text().splitlines() if line.startswith("#   ")]
    assert line.startswith("#   renode ")
    command = f"exec '{renode}' {line.removeprefix('#   renode ')}"
    if port != PORT:
        command = command.replace('"include', f'"\\$port={port}; include')
    with subprocess.Popen(["sh", "-c", command], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        hello = _hello(port)
        process.stdin.close()
        assert process.wait(timeout=20) == 0
    assert hello == "tiny"
    assert outliving(renode) == []


def _hello(port: int) -> str:
    until = time.monotonic() + 20
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=5)
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.1)
            continue
        with connection:
            return Client(_Stream(connection), 10).hello().model


class _Stream:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def read(self, timeout: float) -> bytes:
        self._connection.settimeout(max(timeout, 0.001))
        try:
            return self._connection.recv(65536)
        except TimeoutError:
            return b""

    def write(self, data: bytes) -> None:
        self._connection.sendall(data)


@pytest.mark.parametrize("good", [True, False], ids=["passes", "fails"])
def test_the_projects_own_test(good: bool, tmp_path: Path) -> None:
    board = load_board("nucleo_f767zi")
    project = tiny.write_project(board, tmp_path / "a project")
    result = "PASS" if good else "FAIL"
    lines = ["test/test_model/test_main.c:90:signature_0_succeeds:PASS"]
    lines += [f"test/test_model/test_main.c:99:signature_1_repeats:{result}", "-----", "2 Tests 0 Failures 0 Ignored"]
    renode = StandIn(uart=lines).install(tmp_path)
    command = [sys.executable, "-m", "platformio", "test", "-d", str(project)]
    variables = environment_variables(project)
    variables["PATH"] = f"{renode.parent}{os.pathsep}{variables['PATH']}"
    done = subprocess.run(
        command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode == 0) is good, done.stdout + done.stderr
    assert f"signature_1_repeats\t[{result}ED]" in done.stdout
    assert outliving(renode) == []


@pytest.mark.parametrize("name", BY_RENODE_ONLY)
def test_boards_without_qemu_test_in_renode(name: str, tmp_path: Path) -> None:
    project = tiny.write_project(load_board(name), tmp_path / "project")
    settings = (project / "platformio.ini").read_text().split("[env:")[1]
    assert "\n    renode\n" in settings
    assert "\n    include @renode/test.resc\n" in settings
