"""How Renode is started, talked to and ended, with a stand-in that behaves as Renode was seen to."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import tiny
from support.renode_stand_in import StandIn, outliving
from support.tools import requires_compiler
from tflmgen.emulators.host import compile_host, run_host
from tflmgen.emulators.open_session import open_session
from tflmgen.emulators.renode import COUNT_NOTE, START_LIMIT, RenodeError
from tflmgen.emulators.session import EmulatorError
from tflmgen.hardware.board import Board, list_boards, load_board
from tflmgen.project.platformio import build

BOARD = "mps2_an386"
INVOKE = (1, [tiny.VALUES, tiny.mode(0)])

HOLD = """
import sys, time
from pathlib import Path
from tflmgen.hardware.board import load_board
from tflmgen.emulators.open_session import open_session
from tflmgen.failure import leave_on_sigterm

leave_on_sigterm()
project, renode = Path(sys.argv[1]), sys.argv[2]
with open_session(load_board("mps2_an386"), project, project / "plan.json", "renode", renode=renode):
    print("connected", flush=True)
    time.sleep(60)
"""
"""A tflmgen that waits in the middle of a session."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("program")
    project = tiny.write_project(load_board("host"), folder / "project")
    compile_host(project, folder / "server")
    return str(folder / "server")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files; its path has a space."""
    folder = tmp_path / "temporary files"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def _project(board: Board, tmp_path: Path) -> Path:
    return tiny.write_project(board, tmp_path / "a project")


@pytest.mark.parametrize("board", [board for board in list_boards() if board.renode], ids=lambda board: board.id)
def test_every_board_that_has_files_for_it(board: Board, tmp_path: Path, temporary: Path, program: str) -> None:
    project = _project(board, tmp_path)
    renode = StandIn(program).install(tmp_path)
    with open_session(board, project, project / "plan.json", "renode", 20, renode=str(renode)) as session:
        assert (session.emulator, session.notes) == ("Renode", ())
        assert tiny.total(session.invoke(*INVOKE).outputs[0]) == tiny.TOTAL
    assert outliving(renode) == []
    assert list(temporary.iterdir()) == []


def test_a_slow_start_is_no_timeout(tmp_path: Path, program: str) -> None:
    board = load_board(BOARD)
    project = _project(board, tmp_path)
    renode = StandIn(program, seconds=5).install(tmp_path)
    with open_session(board, project, project / "plan.json", "auto", 3, renode=str(renode)) as session:
        assert tiny.total(session.invoke(*INVOKE).outputs[0]) == tiny.TOTAL


def test_renode_that_does_not_listen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tflmgen.emulators.renode.START_LIMIT", 5.0)
    says = [f"line {number}" for number in range(20)]
    message = _refused(StandIn(listens=False, says=says), tmp_path)
    assert message == "Renode does not listen after 5 s; its last lines:\n  " + "\n  ".join(says[-8:])


@pytest.mark.parametrize(
    ("says", "last"),
    [
        (["no such machine", "", "x" * 500], f"its last lines:\n  no such machine\n  {'x' * 200}"),
        ([], "it said nothing"),
    ],
)
def test_renode_that_ends_early(says: list[str], last: str, tmp_path: Path) -> None:
    message = _refused(StandIn(ends=3, says=says), tmp_path)
    assert message == f"Renode ended before it ran the firmware (exit code 3); {last}"


def test_a_script_that_fails_shows_why_at_once(tmp_path: Path) -> None:
    begun = time.monotonic()
    message = _refused(StandIn(), tmp_path, firmware="gone.elf")
    assert time.monotonic() - begun < START_LIMIT / 2
    start = (
        "a line of Renode's script failed; its last lines:\n  There was an error executing command 'sysbus LoadELF @"
    )
    assert message.startswith(start)
    assert "\n  Could not find file '" in message


def test_a_uart_that_the_board_lacks_is_told_at_once(tmp_path: Path, program: str) -> None:
    """Renode listens by then, and would never answer."""
    board = load_board(BOARD)
    assert board.renode is not None
    board = replace(board, renode=replace(board.renode, uart="uart9"))
    project = _project(board, tmp_path)
    renode = StandIn(program).install(tmp_path)
    with (
        pytest.raises(EmulatorError, match="a line of Renode's script failed") as refused,
        open_session(board, project, project / "plan.json", "renode", 50, renode=str(renode)) as session,
    ):
        session.invoke(*INVOKE)
    assert "connector Connect uart9 protocol" in str(refused.value)


def _refused(stand_in: StandIn, tmp_path: Path, firmware: str = "plan.json") -> str:
    board = load_board(BOARD)
    project = _project(board, tmp_path)
    renode = stand_in.install(tmp_path)
    with (
        pytest.raises(RenodeError) as refused,
        open_session(board, project, project / firmware, "renode", 20, renode=str(renode)),
    ):
        pass
    assert outliving(renode) == []
    return str(refused.value)


def test_renode_that_aborts_amid_an_invoke(tmp_path: Path, program: str) -> None:
    board = load_board("mps3_an547")
    project = _project(board, tmp_path)
    renode = StandIn(program, aborts=True).install(tmp_path)
    with (
        open_session(board, project, project / "plan.json", "renode", 20, renode=str(renode)) as session,
        pytest.raises(EmulatorError) as ended,
    ):
        session.invoke(*INVOKE)
    assert str(ended.value) == (
        "Renode ended: exit code 134; its last lines:\n  cpu: abort in translation of wlstp\n"
        "Renode's releases, up to 1.16.1, do not run all of MVE: try --emulator qemu"
    )


@pytest.mark.parametrize("seconds", [0, 30], ids=["amid a session", "while it starts"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_survives_us(
    number: signal.Signals, seconds: float, tmp_path: Path, temporary: Path, program: str
) -> None:
    project = _project(load_board(BOARD), tmp_path)
    renode = StandIn(program, seconds=seconds).install(tmp_path)
    command = [sys.executable, "-c", HOLD, str(project), str(renode)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tflmgen:
        if seconds:
            _await_folder(temporary, "renode-*-crash")
        else:
            assert tflmgen.stdout
            assert tflmgen.stdout.readline() == "connected\n"
        tflmgen.send_signal(number)
        assert tflmgen.wait(timeout=20) != 0
    assert outliving(renode) == []
    if number != signal.SIGKILL:
        assert list(temporary.iterdir()) == []
    else:
        assert list(temporary.rglob("renode-*")) == []  # at the end of its input Renode has left in good order


def _await_folder(folder: Path, pattern: str) -> None:
    until = time.monotonic() + 20
    while not list(folder.rglob(pattern)):
        assert time.monotonic() < until
        time.sleep(0.05)


@requires_compiler
def test_instructions_by_executed_instructions(tmp_path: Path, temporary: Path, program: str) -> None:
    board = load_board("mps2_an385_m0")
    project = _project(board, tmp_path)
    elf = build(project, board).elf
    renode = StandIn(program).install(tmp_path)
    plan: dict[str, Any] = {"steps": [], "signatures": [{"function": "main"}]}
    with open_session(board, project, elf, "renode", 20, renode=str(renode), count=plan) as session:
        assert session.notes == (COUNT_NOTE,)
        invocations = [session.invoke(0, [bytes(16)]) for _ in range(2)]
    assert [(invocation.instructions, invocation.operators) for invocation in invocations] == [(250, ()), (500, ())]
    assert list(temporary.iterdir()) == []


def test_auto_takes_qemu_for_boards_with_mve_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = load_board("mps3_an547")
    project = _project(board, tmp_path)
    monkeypatch.setattr("tflmgen.emulators.open_session.run_qemu", lambda *_: run_host(project))
    renode = str(StandIn(ends=1).install(tmp_path))
    with open_session(board, project, project / "plan.json", "auto", renode=renode) as session:
        reason = "Renode's releases, up to 1.16.1, do not run all of MVE: ran in QEMU"
        assert (session.emulator, session.notes) == ("QEMU", (reason,))
