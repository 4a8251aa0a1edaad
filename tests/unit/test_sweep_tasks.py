"""Tasks of a sweep: their rows, and that one which ends its process costs its row only."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.repository import ROOT
from tflmgen.api import build_options
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.hardware import board_for
from tflmgen.options import Measured
from tflmgen.project import estimated_plan, plan_for
from tflmgen.sweep import Row, Task, evaluate_task, objective, pareto_rows, read_space, row_for_json, tasks_of
from tflmgen.sweep.row_evaluation import largest_difference
from tflmgen.sweep.task_process import TaskProcess

GATE = ROOT / "examples" / "gate.tflite"
SPACE = ROOT / "examples" / "sweep" / "ds_cnn_space.py"

FATES = """
import os, sys, time
from pathlib import Path
GATE = Path(GATE_PATH)
def candidates():
    return [{"fate": fate} for fate in ("ends", "sleeps", "allocates", "raises", "prints", "signal")]
def build(fate):
    print("noise on standard output")
    (Path(os.environ["TMPDIR"]) / "left").write_text("by the user")
    if fate == "ends":
        os._exit(7)
    if fate == "sleeps":
        time.sleep(60)
    if fate == "allocates":
        bytearray(1 << 40)
    if fate == "raises":
        raise ValueError("no such network")
    if fate == "signal":
        os.kill(os.getpid(), 11)
    return GATE.read_bytes()
def reference(fate):
    return GATE
def score(parameters, row, path):
    return row["arena_bytes"] / 2
""".replace("GATE_PATH", repr(str(GATE)))


def _tasks(path: Path, board: str = "mps2_an386") -> list[Task]:
    return list(tasks_of(read_space([path]).candidates, [board], [{}], Measured.ESTIMATE))


@pytest.mark.parametrize("board", ["microbit", "mps2_an386", "mps3_an547"])
@pytest.mark.parametrize("model", ["gate", "loop_8k", "lstm_sequences"])
def test_an_estimate_is_the_plan_of_the_build(model: str, board: str) -> None:
    path, options = ROOT / "examples" / f"{model}.tflite", build_options({"validate": "off"})
    target = board_for(board, options)
    built, estimated = plan_for(path, target, options).plan, estimated_plan(path, target, options)
    without_lines: list[list[dict[str, Any]]] = [
        [{key: value for key, value in step.items() if key not in ("line", "stages")} for step in plan["steps"]]
        for plan in (built, estimated)
    ]
    assert without_lines[0] == without_lines[1]
    assert {k: v for k, v in built.items() if k not in ("steps", "proof")} == {
        k: v for k, v in estimated.items() if k != "steps"
    }


def test_each_fate_costs_its_row_only(tmp_path: Path) -> None:
    space, scratch = tmp_path / "fates.py", tmp_path / "scratch"
    space.write_text(FATES, encoding="utf-8")
    process = TaskProcess(str(scratch), 2 << 30, "")
    rows = {task.candidate.parameters["fate"]: process.evaluate(task, 8.0) for task in _tasks(space)}
    process.close()
    statuses = {fate: row["status"] for fate, row in rows.items()}
    assert statuses == {
        "ends": "crashed",
        "sleeps": "time",
        "allocates": "memory",
        "raises": "failed",
        "prints": "ok",
        "signal": "crashed",
    }
    assert rows["ends"]["problem"] == "its process ended with code 7"
    assert rows["signal"]["problem"] == "its process ended with SIGSEGV"
    assert rows["raises"]["problem"] == "ValueError: no such network"
    assert (rows["prints"]["score"], rows["prints"]["error"]) == (rows["prints"]["arena_bytes"] / 2, 0.0)
    assert not list(scratch.iterdir())


def test_a_process_ends_with_its_owner(tmp_path: Path) -> None:
    space, scratch = tmp_path / "fates.py", tmp_path / "scratch"
    space.write_text(FATES, encoding="utf-8")
    owner = os.fork()
    if owner == 0:
        TaskProcess(str(scratch), 0, "").evaluate(_tasks(space)[4], 60.0)
        os._exit(0)  # without a word to its process
    os.waitpid(owner, 0)
    until = time.monotonic() + 20
    while list(scratch.iterdir()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not list(scratch.iterdir())


def test_tasks_are_told_by_what_figures_depend_on() -> None:
    candidates = [*read_space([GATE]).candidates, *read_space([GATE]).candidates]
    tasks = list(tasks_of(candidates, ["host", "microbit"], [{}, {"optimize": "ram"}], Measured.ESTIMATE))
    assert len({task.id for task in tasks}) == len(tasks) == 4
    again = list(tasks_of(candidates, ["host", "microbit"], [{}, {"optimize": "ram"}], Measured.ESTIMATE))
    assert [task.id for task in again] == [task.id for task in tasks]


def test_bad_options_and_models_are_rows(tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"nothing")
    (bad,) = read_space([tmp_path / "bad.tflite"]).candidates
    (gate,) = read_space([GATE]).candidates
    for task in (Task(bad, "host", {}), Task(gate, "host", {"optimise": "ram"}), Task(gate, "nowhere", {})):
        row = evaluate_task(task)
        assert row["status"] == "failed"
        assert row["problem"]
        assert row["ram_bytes"] is None


BUILD = "def build(): pass\ndef candidates(): return [{}]\n"
BAD_SPACES = (
    "candidates = 3",
    "def candidates(): return [1]\ndef build(): pass",
    "1 / 0",
    "x =",
    "raise SystemExit(0)",
    BUILD + "def candidates(): return 5",
    BUILD + "def candidates(): yield {}; 1 / 0",
    BUILD + "def candidates(width): return []",
    BUILD + "BOARDS = 'host'",
    BUILD + "BOARDS = 3",
    BUILD + "OPTIONS = {'optimize': 'ram'}",
    BUILD + "OPTIONS = ['optimize']",
    BUILD + "OPTIONS = [{'optimize': object()}]",
)


@pytest.mark.parametrize("text", BAD_SPACES)
def test_a_bad_space_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "space.py").write_text(text, encoding="utf-8")
    with pytest.raises(TflmgenError, match=r"space\.py"):
        list(read_space([tmp_path / "space.py"]).candidates)


def _row(ram: int, time: float, score: float | None, fits: bool = True) -> Row:
    return {"status": "ok", "fits": fits, "ram_bytes": ram, "milliseconds_estimated": time, "score": score}


def test_the_front_has_what_nothing_betters() -> None:
    rows = [_row(2, 5.0, 1.0), _row(2, 5.0, 2.0), _row(1, 9.0, 0.5), _row(3, 6.0, 1.5), _row(0, 0.0, 9.0, fits=False)]
    assert pareto_rows(rows) == [rows[2], rows[1]]


class _Trial:
    def __init__(self, width: int) -> None:
        self.width = width
        self.user_attrs: dict[str, Any] = {}

    def set_user_attr(self, key: str, value: Any) -> None:
        self.user_attrs[key] = value


def test_an_objective_has_values_and_constraints() -> None:
    def suggest(trial: _Trial) -> dict[str, int]:
        return {"width": trial.width, "depth": 1, "kernel": 3}

    aim = objective(SPACE, suggest, "nucleo_f446re", budgets={"ram_bytes": 2000})
    assert aim.directions == ["minimize", "minimize", "maximize"]
    small, large = _Trial(8), _Trial(64)
    for trial in (small, large):
        ram, milliseconds, score = aim(trial)
        assert ram > 0
        assert milliseconds > 0
        assert score > 2
    assert aim.constraints(small)[0] <= 0 < aim.constraints(large)[0]
    with pytest.raises(UsageError, match="no column 'accuracy'"):
        objective(SPACE, suggest, "nucleo_f446re", values=("accuracy",))


def test_a_space_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "space.py").write_bytes(b"\xff\xfe")
    with pytest.raises(TflmgenError, match=r"space\.py"):
        read_space([tmp_path / "space.py"])


def test_json_has_no_infinite_numbers() -> None:
    row = row_for_json({"score": float("-inf"), "error": float("nan"), "ram_bytes": 3, "model": "a"})
    assert row == {"score": None, "error": None, "ram_bytes": 3, "model": "a"}


def test_undefined_outputs_are_no_agreement() -> None:
    nan, inf = float("nan"), float("inf")
    assert largest_difference(np.array([nan, inf, 1.0]), np.array([nan, inf, 1.5])) == 0.5
    assert largest_difference(np.array([0.0, 1.0]), np.array([nan, 1.0])) == inf
