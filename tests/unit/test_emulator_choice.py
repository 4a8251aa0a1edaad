from __future__ import annotations

from pathlib import Path

import pytest
from tflmgen.emulators.open_session import _choose, _twin_advice, open_session
from tflmgen.emulators.session import EmulatorError
from tflmgen.hardware.board import load_board


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


@pytest.mark.parametrize(
    ("board", "counts", "qemu", "renode", "chosen"),
    [
        ("mps2_an386", False, True, True, ("Renode", "")),
        ("mps2_an386", False, True, False, ("QEMU", "Renode is not installed")),
        ("mps2_an386", False, False, True, ("Renode", "")),
        ("mps2_an386", True, True, True, ("QEMU", "")),
        ("mps2_an386", True, True, False, ("QEMU", "")),
        ("mps2_an386", True, False, True, ("Renode", "QEMU is not installed")),
        ("mps3_an547", False, True, True, ("QEMU", "do not run all of MVE")),
        ("mps3_an547", False, False, True, ("Renode", "QEMU is not installed")),
        ("mps3_an547", True, True, True, ("QEMU", "")),
        ("nucleo_f767zi", True, True, True, ("Renode", "")),
        ("mps2_an386", False, False, False, ("QEMU", "")),
    ],
)
def test_auto_is_what_is_installed(
    board: str, counts: bool, qemu: bool, renode: bool, chosen: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tflmgen.emulators.open_session.find_renode", lambda _: Path("renode") if renode else None)
    monkeypatch.setattr("tflmgen.emulators.open_session.has_program", lambda _: qemu)
    emulator, program, notes = _choose(load_board(board), "auto", None, counts)
    assert (emulator, program is not None) == (chosen[0], chosen[0] == "Renode")
    assert chosen[1] in " ".join(notes)
    assert bool(notes) == bool(chosen[1])


@pytest.mark.parametrize(
    ("board", "advice"),
    [
        ("nucleo_f767zi", "--board mps2_an500 --flash-of nucleo_f767zi"),
        ("nucleo_l4r5zi", "--board mps2_an386 --flash-of nucleo_l4r5zi"),
        ("pico", "--board mps2_an385_m0 --flash-of pico"),
        ("bluepill_f103c8", "--board mps2_an385 --flash-of bluepill_f103c8"),
    ],
)
def test_a_board_without_emulator_names_a_twin(board: str, advice: str) -> None:
    assert _twin_advice(load_board(board)).endswith(advice)
