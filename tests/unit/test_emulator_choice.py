from __future__ import annotations

from pathlib import Path

import pytest
from tflmgen.emulators.open_session import open_session
from tflmgen.emulators.session import EmulatorError
from tflmgen.project.board import load_board


@pytest.mark.parametrize(
    ("board", "reason"),
    [("nucleo_f767zi", "Renode is not installed"), ("pico", "none of Renode's either")],
)
def test_a_board_that_nothing_here_runs(board: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tflmgen.emulators.open_session.find_renode", lambda _: None)
    problem = (
        rf"board {board} has no QEMU machine, and {reason}\. Attached to this computer, it is tested by --port PORT"
    )
    with (
        pytest.raises(EmulatorError, match=problem),
        open_session(load_board(board), Path("project"), Path("firmware.elf")),
    ):
        pytest.fail("nothing runs it")
