"""Progress where no terminal is: lines on standard error, few, and only of long work."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

import pytest
from support.commands import write_adder
from tflmgen.actions.board_fit import fit_boards, named_boards
from tflmgen.options import BuildOptions, OutputOptions
from tflmgen.terminal import Console, console


@pytest.fixture(autouse=True)
def pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "BETWEEN", 0.3)
    monkeypatch.setattr(console, "_LONG", 0.05)


def test_long_work_has_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """The last text with its share; from the command's beginning, also over several pieces of work."""
    with Console(OutputOptions()).progress("Starting") as progress:
        for number in range(14):
            progress(f"Calibrating: set {number + 1} of 14", number, 14)
            time.sleep(0.05)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) in (1, 2)
    assert all(line.startswith("Calibrating: set ") and line.endswith(" %, 0 s") for line in lines[:1])


def test_short_work_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(OutputOptions())
    for number in range(3):
        with console.progress(f"Planning {number}"):
            time.sleep(0.01)
    assert capsys.readouterr().err == ""


def test_lines_of_one_command_keep_their_distance(capsys: pytest.CaptureFixture[str]) -> None:
    """Each piece of work is long enough for a line, and shorter than the time between lines."""
    console = Console(OutputOptions())
    for number in range(5):
        with console.progress(f"Work {number}"):
            time.sleep(0.14)
    assert 1 <= len(capsys.readouterr().err.splitlines()) <= 2


@pytest.mark.parametrize("options", [OutputOptions(quiet=True), OutputOptions(json=True)])
def test_nothing_is_said_with_quiet_or_json(options: OutputOptions, capsys: pytest.CaptureFixture[str]) -> None:
    with Console(options).progress("Starting"):
        time.sleep(0.4)
    assert capsys.readouterr() == ("", "")


def test_lines_end_with_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), Console(OutputOptions()).progress("Starting"):
        raise ZeroDivisionError
    time.sleep(0.4)
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_goes_on_where_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    with Console(OutputOptions()).progress("Starting"):
        time.sleep(0.4)


def test_no_control_characters_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    with Console(OutputOptions()).progress("a\x1b[31mb\nc"):
        time.sleep(0.4)
    assert "\x1b" not in (err := capsys.readouterr().err)
    assert len(err.splitlines()) == 1


def test_boards_are_counted_by_plan(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def note(text: str, done: int = 0, total: int = 0) -> None:
        assert text.startswith("Planning a.tflite for cortex-m")
        seen.append((done, total))

    boards = named_boards("microbit,mps2_an386,mps2_an386", BuildOptions())
    fit_boards(write_adder(tmp_path / "a.tflite"), boards, BuildOptions(), note)
    assert seen == [(0, 2), (1, 2)]
