"""What a terminal is shown and a pipe is not: colours and progress."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import write_adder
from support.repository import ROOT
from support.terminal import on_a_terminal
from tflmgen.terminal.console import bar

GATE = ROOT / "examples" / "gate.tflite"
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7][0-9;]*m")
ESCAPE = "\x1b"


@pytest.fixture
def adder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_adder(tmp_path / "adder.tflite")


def test_a_terminal_sees_progress_and_colours(adder: Path) -> None:
    shown = on_a_terminal(["test", adder, "--board", "host"], 200)
    assert "Planning adder.tflite" in shown
    assert "Compiling adder for host" in shown
    assert COLOUR.search(shown)


def test_a_bar_shows_how_much_is_done() -> None:
    assert [bar(done, 40) for done in (0, 10, 40)] == ["-" * 20, "#####" + "-" * 15, "#" * 20]


def test_no_color_is_kept_to(adder: Path) -> None:
    shown = on_a_terminal(["test", adder, "--board", "host"], 200, NO_COLOR="1")
    assert "passed: all" in shown
    assert not COLOUR.search(shown)


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_no_progress_where_none_is_wanted(adder: Path, option: str) -> None:
    shown = on_a_terminal(["inspect", adder, option], 200)
    assert "Planning" not in shown
    assert ESCAPE not in shown


def test_a_pipe_sees_text_alone(adder: Path) -> None:
    command = [sys.executable, "-m", "tflmgen", "test", str(adder), "--board", "host"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "passed: all" in done.stdout
    assert ESCAPE not in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", [["inspect", GATE], ["export", GATE, "--format", "plain"]], ids=lambda c: c[0])
def test_planning_is_shown(adder: Path, command: list[object]) -> None:
    del adder
    assert "Planning gate.tflite" in on_a_terminal(command, 200)
