"""What bench and report say of an application's stages."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from application_figures import flash_of, memory_table
from support.application_simulation import ROWS, SCALE, ZERO
from support.commands import tflmgen
from support.random_applications import filtered
from support.repository import ROOT
from support.tools import requires_compiler
from tflmgen.actions import Supply, energy_json
from tflmgen.frontend.tflite import write_model

CALLS = 4 * ROWS
FLASH_TOLERANCE = 0.01
"""Relative difference at which the page must be made anew: kernels that change move code by some dozen bytes."""
APP = f"""
[input.x]
period = "10 ms"
type = "int8"
shape = [1, 4]
scale = {SCALE}
zero_point = {ZERO}
[stage.loud]
input = "x"
builtin = "rms"
[stage.s]
input = "x"
model = "m.tflite"
slide = [1, 1]
reuse = %s
[stage.decide]
input = "s"
builtin = "argmax"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.tflite").write_bytes(write_model(filtered(np.random.default_rng(1))))
    rows = np.random.default_rng(2).integers(-40, 40, (CALLS, 4))
    (tmp_path / "x.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    return tmp_path


def bench_of(folder: Path, reuse: str, *words: object) -> dict[str, object]:
    (folder / "app.toml").write_text(APP % reuse)
    inputs = ("--inputs", folder / "x.csv", "--current", 12, "--idle-current", 0.5, "--volts", 3)
    finished = tflmgen("bench", folder / "app.toml", "--board", "mps2_an386", *inputs, *words, "--json")
    assert finished.code == 0, finished.err
    schema = json.loads(files("tflmgen.schema").joinpath("bench.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(finished.json)
    application = finished.json["application"]
    assert isinstance(application, dict)
    assert application["energy"] == energy_json(application, Supply(12, 0.5, 3))
    total, control = finished.json["total"]["instructions"], finished.json["control"]["instructions"]
    assert sum(stage["instructions"] for stage in application["stages"]) == total - control
    return application


@pytest.mark.emulator
def test_bench_counts_stages_and_a_sliding_one_takes_less(folder: Path) -> None:
    sliding = bench_of(folder, "true", "--report", folder / "report.html")
    whole = bench_of(folder, "false")
    of_stage = [{s["name"]: s for s in figures["stages"]} for figures in (sliding, whole)]  # type: ignore[attr-defined]
    for stages in of_stage:
        assert (stages["s"]["runs"], stages["loud"]["runs"]) == (CALLS - ROWS + 1, None)
    assert of_stage[0]["s"]["instructions"] < 0.7 * of_stage[1]["s"]["instructions"]
    assert sliding["instructions_per_second"] < whole["instructions_per_second"]  # type: ignore[operator]
    page = (folder / "report.html").read_text()
    assert "Stages of the application" in page
    assert "<td>s</td>" in page
    assert f"{CALLS - ROWS + 1} of {CALLS}" in page
    assert "Scores over time" in page


def test_energy_is_that_of_the_mean_duty_cycle() -> None:
    energy = energy_json({"duty": {"mean": 0.25}}, Supply(active=10, idle=2, volts=3))
    assert energy is not None
    assert (energy["mean_ma"], energy["millijoules_per_second"]) == (4, 12)
    assert energy_json({"duty": None}, Supply(10, 2, 3)) is None


def test_a_current_without_a_period_is_wrong_use(folder: Path) -> None:
    (folder / "app.toml").write_text((APP % "true").replace('period = "10 ms"', ""))
    words = ("--board", "mps2_an386", "--inputs", folder / "x.csv", "--current", 12)
    finished = tflmgen("bench", folder / "app.toml", *words)
    assert finished.code == 2
    assert "period" in finished.err


def test_the_page_has_the_memory_of_applications_beside_separate_builds(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "use" / "applications.md").read_text()
    for caption, sizes, _ in memory_table(tmp_path):
        assert f"| {caption} | {' | '.join(f'{size:,}' for size in sizes)} |" in page


@pytest.mark.sweep
@requires_compiler
def test_the_page_has_the_flash_of_applications_beside_separate_builds(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "use" / "applications.md").read_text()
    for caption, _, builds in memory_table(tmp_path):
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {caption} |")]
        assert flash_of(builds) == pytest.approx(int(line.split("|")[-2].replace(",", "")), rel=FLASH_TOLERANCE)
