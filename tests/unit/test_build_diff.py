"""`tflmgen diff`: what grew fails, by thresholds; sizes, operators and outputs as a table, as Markdown and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from support.commands import tflmgen
from support.repository import ROOT

GATE = ROOT / "examples" / "gate.tflite"
SCHEMA = json.loads((ROOT / "schema" / "diff.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders ram and speed: two builds of one model, of which the second has the larger arena."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for goal in ("ram", "speed"):
        words = ("build", GATE, "--board", "mps2_an386", "--no-compile", "--optimize", goal, "-o", goal)
        assert tflmgen(*words).code == 0


def bench(instructions: int, conv: int, **memory: int) -> dict[str, Any]:
    """The parts of bench.json that are compared."""
    sizes = {"arena_bytes": 400, "weights_bytes": 2000, "code_bytes": 900, "flash_bytes": 9000, "ram_bytes": 1000}
    return {
        "model": {"path": "kws.tflite"},
        "board": "microbit",
        "memory": {**sizes, **memory},
        "stack_bytes": 300,
        "per_invoke": {"worst": {"set": 0, "instructions": instructions}},
        "sets": [{"operators": [{"step": 3, "instructions": conv}, {"step": 4, "instructions": 5}]}],
        "operators": [
            {"step": 3, "subgraph": 0, "operator": 0, "name": "CONV_2D"},
            {"step": 4, "subgraph": 0, "operator": 1, "name": "SOFTMAX"},
        ],
    }


def test_a_build_that_grew_fails() -> None:
    done = tflmgen("diff", "ram", "speed")
    assert done.code == 1
    assert "speed: FAILED: arena grew by" in done.err
    assert "GREW" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    smaller = tflmgen("diff", "speed", "ram")
    assert (smaller.code, smaller.err) == (0, "")
    assert smaller.out.endswith("passed: nothing grew more than is allowed\n")
    assert tflmgen("diff", "ram", "ram/plan.json").code == 0


def test_thresholds() -> None:
    Path("old.json").write_text(json.dumps(bench(1000, 900)))
    Path("new.json").write_text(json.dumps(bench(1100, 1000, flash_bytes=9090)))
    assert tflmgen("diff", "old.json", "new.json", "--allow", "all=10").code == 0
    assert tflmgen("diff", "old.json", "new.json", "--allow", "all=10%", "--allow", "flash=0.5%").code == 1
    done = tflmgen("diff", "old.json", "new.json", "--allow", "flash=1", "--json")
    assert done.code == 1
    jsonschema.Draft202012Validator(SCHEMA).validate(done.json)
    assert done.json["problems"] == ["instructions grew by 100 (+10.0 %, 0 % allowed)"]
    assert done.json["operators"] == [
        {"name": "0.0 CONV_2D", "old": 900, "new": 1000, "difference": 100, "percent": 11.111}
    ]


def test_markdown_for_a_comment() -> None:
    Path("old.json").write_text(json.dumps(bench(1000, 900)))
    Path("new.json").write_text(json.dumps(bench(1100, 1000)))
    assert tflmgen("diff", "old.json", "new.json", "--markdown", "diff.md").code == 1
    text = Path("diff.md").read_text()
    assert "### kws.tflite on microbit, before and after" in text
    assert "| instructions | 1,000 | 1,100 | +100 | +10.0 | GREW |" in text
    assert "| 0.0 CONV_2D | 900 | 1,000 | +100 | +11.1 |" in text
    assert "- **instructions grew by 100 (+10.0 %, 0 % allowed)**" in text


def test_outputs() -> None:
    nan, label = np.array([np.nan]), np.array("a tap")  # archives of vectors have labels of their sets
    np.savez("old.npz", scores=np.array([1, 2], np.int8), other=np.zeros(3), nan=nan, s0_label=label)
    np.savez("new.npz", scores=np.array([1, 4], np.int8), other=np.zeros(3), nan=nan, s0_label=label)
    words = ("diff", "ram", "ram", "--old-outputs", "old.npz", "--new-outputs", "new.npz")
    done = tflmgen(*words)
    assert done.code == 1
    assert "output scores differs by 2 (0 allowed)" in done.err
    assert tflmgen(*words, "--max-error", "2").code == 0
    np.savez("new.npz", scores=np.array([1, 2, 3], np.int8), other=np.zeros(3), nan=np.array([0.0]))
    done = tflmgen(*words, "--max-error", "9", "--json")
    assert {output["name"]: output["error"] for output in done.json["outputs"]} == {
        "nan": None,
        "other": 0.0,
        "scores": None,
    }


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("ram", "absent"), 1, "cannot be read"),
        (("ram", GATE), 2, "is a model: give --board"),
        (("ram", ROOT / "schema" / "diff.json"), 1, "is neither a plan.json nor"),
        (("ram", "ram", "--allow", "arena"), 2, "not of the form WHAT=PERCENT"),
        (("ram", "ram", "--allow", "rom=1"), 2, "one of all, arena"),
        (("ram", "ram", "--allow", "ram=-1"), 2, "not of the form"),
        (("ram", "ram", "--old-outputs", "x.npz"), 2, "give both, or none"),
        (("ram", "ram", "--markdown", "none/x.md"), 1, "there is no folder"),
    ],
)
def test_wrong_files_and_options(words: tuple[object, ...], code: int, text: str) -> None:
    done = tflmgen("diff", *words)
    assert (done.code, text in done.err) == (code, True), done.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[" * 100_000, "is not the JSON"), (json.dumps(bench(1, 1, arena_bytes="much")), "is neither a plan.json")],  # type: ignore[arg-type]
)
def test_damaged_files(text: str, problem: str) -> None:
    Path("damaged.json").write_text(text, encoding="utf-8")
    done = tflmgen("diff", "damaged.json", "ram")
    assert (done.code, problem in done.err) == (1, True), done.err


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400", "-5", "1.5", "1" + "0" * 400, "1" + "0" * 20, "true"])
def test_figures_that_no_build_has_are_errors_and_never_passed(number: str) -> None:
    text = json.dumps(bench(1, 1, arena_bytes=12345678))
    Path("odd.json").write_text(text.replace("12345678", number), encoding="utf-8")
    for words in (("odd.json", "ram"), ("ram", "odd.json")):
        done = tflmgen("diff", *words)
        assert done.code == 1
        assert "odd.json: is " in done.err
        assert "passed" not in done.out


def test_two_models_are_planned_for_a_board() -> None:
    other = GATE.with_name("loop_8k.tflite")
    refused = tflmgen("diff", GATE, other)
    assert (refused.code, "is a model: give --board" in refused.err) == (2, True), refused.err
    finished = tflmgen("diff", GATE, other, "--board", "mps2_an386", "--json")
    assert (finished.code, "arena grew by" in finished.err) == (1, True), finished.err
    assert {"arena", "weights"} <= {change["name"] for change in finished.json["sizes"]}
    assert tflmgen("diff", GATE, GATE, "-b", "mps2_an386").code == 0
