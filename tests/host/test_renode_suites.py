"""The projects' Robot suites, run by Robot Framework with a stand-in for Renode's keywords, without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support import tiny
from support.renode_stand_in import FOLDER
from tflmgen.hardware.board import load_board

pytest.importorskip("robot", reason="Robot Framework is not installed")

BOARDS = ("disco_f407vg", "mps2_an386", "nucleo_f767zi")
"""A platform of Renode's own that wants a download, and two of ours."""


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One model for all boards, each in a folder of its own, with what stands for its firmware."""
    paths: list[Path] = []
    for board in BOARDS:
        project = tiny.write_project(load_board(board), tmp_path_factory.mktemp("suites") / f"a project {board}")
        elf = project / ".pio" / "build" / board / "firmware.elf"
        elf.parent.mkdir(parents=True)
        elf.touch()
        paths += (project / "renode").glob("*.robot")
    return paths


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vectors") / "a set.npz"
    x = np.arange(16, dtype=np.int8)
    np.savez(path, s0_sig="increment", s0_in_0=x, s0_out_0=x + np.int8(1))
    return path


def robot(results: Path, *words: object) -> subprocess.Popen[str]:
    listener = FOLDER / "keywords.py"
    command = [sys.executable, "-m", "robot", "--listener", listener, "--outputdir", results, *words]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_suites_of_several_boards_in_one_call(suites: list[Path], vectors: Path, tmp_path: Path) -> None:
    assert len({suite.name for suite in suites}) == len(BOARDS)
    with robot(tmp_path, "--variable", f"VECTORS:{vectors}", *suites) as run:
        printed, _ = run.communicate(timeout=120)
    assert run.returncode == 0, printed
    assert "9 tests, 9 passed, 0 failed" in printed
    log = ElementTree.parse(tmp_path / "output.xml")
    assert len({suite.get("name") for suite in log.findall("./suite/suite")}) == len(BOARDS)
    messages = [message.text or "" for message in log.iter("msg")]
    counts = [text for text in messages if text.startswith("Instructions since")]
    assert counts == [f"Instructions since reset: {number}" for number in (1250, 2500, 3750)]
    assert sum("lacks the names of this platform's registers" in text for text in messages) == 3


def test_suites_run_beside_each_other(suites: list[Path], tmp_path: Path) -> None:
    runs = [robot(tmp_path / suite.stem, suite) for suite in suites]
    for run in runs:
        with run:
            printed, _ = run.communicate(timeout=120)
        assert run.returncode == 0, printed
        assert "3 tests, 2 passed, 0 failed, 1 skipped" in printed


def test_another_failure_of_the_platform_fails_the_suite(suites: list[Path], tmp_path: Path) -> None:
    missing = tmp_path / "gone.repl"
    with robot(tmp_path, "--variable", f"PLATFORM:{missing}", suites[1]) as run:
        printed, _ = run.communicate(timeout=120)
    assert run.returncode == 2
    assert f"Could not find file '{missing}'" in printed
