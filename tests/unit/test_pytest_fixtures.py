"""The plug-in for pytest: boards from the command line, goldens that are written and compared, budgets as asserts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.repository import ROOT
from support.tools import requires, requires_compiler, requires_qemu

TEST = f"""
import numpy as np
import tflmgen

def test_gate(tflmgen_board, tflmgen_golden):
    model = tflmgen.compile({str(ROOT / "examples" / "gate.tflite")!r}, board=tflmgen_board, validate="off")
    assert model.arena_bytes <= LIMIT
    assert model.board == tflmgen_board
    outputs = tflmgen.compile({str(ROOT / "examples" / "gate.tflite")!r}, validate="off").run(
        np.full((1, 16, 16, 1), LEVEL, np.int8)
    )
    tflmgen_golden("gate", outputs)
"""


def run(
    folder: Path, *words: str, text: str = TEST, limit: int = 16_000, level: int = 0
) -> subprocess.CompletedProcess[str]:
    text = text.replace("LIMIT", str(limit)).replace("LEVEL", str(level))
    (folder / "test_gate.py").write_text(text, encoding="utf-8")
    plugins = ["-p", "tflmgen.api.pytest_fixtures", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *words, "--rootdir", str(folder), str(folder)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    )


@requires("cc", "gcc", "clang")
def test_goldens_boards_and_budgets(tmp_path: Path) -> None:
    missing = run(tmp_path)
    assert missing.returncode == 1
    assert "pytest --tflmgen-update writes it" in missing.stdout
    assert run(tmp_path, "--tflmgen-update").returncode == 0
    assert (tmp_path / "goldens" / "gate.npz").is_file()
    assert run(tmp_path, "--tflmgen-board", "mps2_an386").returncode == 0
    report = tmp_path / "junit.xml"
    assert run(tmp_path, f"--junit-xml={report}", limit=100).returncode == 1
    assert 'failures="1"' in report.read_text(encoding="utf-8")


@requires("cc", "gcc", "clang")
def test_other_outputs_fail(tmp_path: Path) -> None:
    assert run(tmp_path, "--tflmgen-update").returncode == 0
    np.savez(tmp_path / "goldens" / "gate.npz", scores=np.zeros((1, 5), np.int8))
    wrong = run(tmp_path)
    assert wrong.returncode == 1
    assert "gate.npz: scores" in wrong.stdout


def test_goldens_in_folders_and_what_is_no_golden(tmp_path: Path) -> None:
    test = 'def test_sum(tflmgen_golden):\n    tflmgen_golden("nested/sum", {"y": [3]})\n'
    (tmp_path / "test_sum.py").write_text(test)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sum.py"]
    assert subprocess.run([*words, "--tflmgen-update"], cwd=tmp_path, check=False).returncode == 0
    (tmp_path / "goldens" / "nested" / "sum.npz").write_bytes(b"")
    broken = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "sum.npz: cannot be read" in broken.stdout
    assert "Traceback" not in broken.stdout


BENCH = f"""
def test_cost(tflmgen_compile, tflmgen_bench):
    model = tflmgen_compile({str(ROOT / "examples" / "gate.tflite")!r}, validate="off")
    bench = tflmgen_bench(model, emulator="qemu")
    assert 0 < bench.stack_bytes < 4096
    assert 0 < bench.instructions <= LIMIT
"""


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_a_budget_of_instructions(tmp_path: Path) -> None:
    board = ("--tflmgen-board", "mps2_an386")
    assert run(tmp_path, *board, text=BENCH, limit=10_000_000).returncode == 0
    exceeded = run(tmp_path, *board, text=BENCH, limit=100)
    assert exceeded.returncode == 1
    assert "<= 100" in exceeded.stdout
    host = run(tmp_path, "-rs", text=BENCH)
    assert "1 skipped" in host.stdout
    assert "instructions are counted on boards only" in host.stdout


def test_the_plug_in_is_registered() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\ntflmgen = "tflmgen.api.pytest_fixtures"' in text


@pytest.mark.parametrize("name", ["tflmgen_board", "tflmgen_compile", "tflmgen_bench", "tflmgen_golden"])
def test_the_page_names_the_fixtures(name: str) -> None:
    assert name in (ROOT / "docs" / "use" / "testing.md").read_text(encoding="utf-8")
