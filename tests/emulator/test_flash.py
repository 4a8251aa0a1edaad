"""`tflmgen flash` by the board's own command; by PlatformIO's platforms: test_upload_environment.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support.commands import tflmgen
from support.repository import ROOT
from support.tools import requires_compiler
from tflmgen.hardware.board import load_board

pytestmark = [
    pytest.mark.emulator,
    requires_compiler,
]

GATE = ROOT / "examples" / "gate.tflite"
FLASHER = """\
import pathlib, shutil, sys
elf, image, port, folder = sys.argv[1:]
if port == "nowhere":
    sys.exit("no board at nowhere")
shutil.copy(elf, folder)
shutil.copy(image, folder)
pathlib.Path(folder, "port").write_text(port)
"""


@pytest.fixture
def board(tmp_path: Path) -> Path:
    folder = load_board("nucleo_f446re").folder
    assert folder
    data = json.loads((folder / "board.json").read_text())
    (tmp_path / "flasher.py").write_text(FLASHER)
    (tmp_path / "flashed").mkdir()
    command = [sys.executable, str(tmp_path / "flasher.py"), "{elf}", "{bin}", "{port}", str(tmp_path / "flashed")]
    own = tmp_path / "own_board"
    own.mkdir()
    (own / "board.json").write_text(json.dumps({**data, "upload": command, "notes": ["a note"]}))
    return own


def test_the_boards_own_command_gets_the_firmware(board: Path, tmp_path: Path) -> None:
    finished = tflmgen("flash", GATE, "--board", board, "--port", "/dev/probe")
    assert finished.code == 0, finished.err
    flashed = tmp_path / "flashed"
    assert (flashed / "firmware.elf").read_bytes()[:4] == b"\x7fELF"
    assert (flashed / "firmware.bin").read_bytes()[3] == 0x20  # the stack's top, in RAM
    assert (flashed / "port").read_text() == "/dev/probe"
    assert "note: a note" in finished.out
    assert f"Running the board's upload command: {sys.executable}" in " ".join(finished.out.split())
    assert f"tflmgen test {GATE} --board {board} --port PORT" in finished.out


def test_a_command_that_fails(board: Path) -> None:
    finished = tflmgen("flash", GATE, "--board", board, "--port", "nowhere")
    assert finished.code == 1
    assert "exit code 1" in finished.err
    assert "no board at nowhere" in finished.err


def test_a_command_that_needs_a_port(board: Path) -> None:
    finished = tflmgen("flash", GATE, "--board", board)
    assert finished.code == 2
    assert "the board's upload command needs a --port" in finished.err


def test_a_platform_that_cannot_be_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setenv("PLATFORMIO_CORE_DIR", str(tmp_path / "core"))
    monkeypatch.setattr("socket.getaddrinfo", unreachable)
    finished = tflmgen("flash", GATE, "--board", "nucleo_f446re")
    assert finished.code == 1
    assert "cannot be reached, from where PlatformIO has to download platformio/ststm32 first" in finished.err
    assert "tflmgen boards new DIR --like nucleo_f446re" in finished.err


@pytest.mark.parametrize(("name", "kind"), [("host", "this computer"), ("mps2_an386", "an emulated board")])
def test_what_cannot_be_flashed(name: str, kind: str) -> None:
    finished = tflmgen("flash", GATE, "--board", name)
    assert finished.code == 2
    assert f"--board {name} is not flashed: it is {kind}" in finished.err
