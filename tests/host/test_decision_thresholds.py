"""`test --expect --thresholds`: decisions at other thresholds, computed from one run, are those of a run with them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from support.commands import tflmgen as run_tflmgen
from support.repository import ROOT
from tflmgen.applications import SmoothingStage, read_application, smoothed_scores, smoothing_stages

OUTPUTS = ("decide.scores", "decide.detected", "decide.ran")
APP = """
outputs = ["decide.scores", "decide.detected", "decide.ran"]
[input.x]
period = "100 ms"
type = "float32"
shape = [1, 3]
[stage.gate]
builtin = "rms"
input = "x"
[stage.decide]
builtin = "smooth"
input = "x"
when = "gate.value > 0.25"
window = 3
threshold = 0.5
hold = "400 ms"
ignore = [0]
labels = ["other", "yes", "no"]
"""
OTHER = "0.3125"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The application, and two recordings of 20 s whose stage is skipped in some calls."""
    (tmp_path / "app.toml").write_text(APP)
    samples = tmp_path / "samples"
    samples.mkdir()
    random = np.random.default_rng(5)
    for name in ("a.csv", "b.csv"):
        scores = random.random((200, 3)) * np.repeat(random.random((40, 1)) < 0.7, 5, axis=0)
        np.savetxt(samples / name, scores, delimiter=",", fmt="%.6f")
    return tmp_path


def run_events(application: Path, folder: Path) -> list[tuple[str, int, int]]:
    words = ("run", application, "--board", "host", "--inputs", folder / "samples", "--outputs", folder / "out.npz")
    finished = run_tflmgen(*words, "--json")
    assert finished.code == 0, finished.err
    return [
        (file["file"], event["call"], event["value"])
        for file in finished.json["files"]
        for event in file["events"]
        if event["output"] == "detected"
    ]


def computed_events(stage: SmoothingStage, folder: Path, threshold: float) -> list[tuple[str, int, int]]:
    with np.load(folder / "out.npz") as arrays:
        steps = [{name: arrays[f"s{k}_out_{j}"] for j, name in enumerate(OUTPUTS)} for k in range(400)]
    events = []
    for place, file in enumerate(("a.csv", "b.csv")):
        smoothed = smoothed_scores(stage.stage, file, steps[200 * place : 200 * place + 200])
        assert 0 < smoothed.ran.sum() < 200
        events += [(file, event.call, event.value) for event in stage.events(smoothed, threshold)]
    return events


def test_computed_decisions_are_those_of_runs(folder: Path) -> None:
    """At the file's own threshold, and at another, with which the application is built and run again."""
    (stage,) = smoothing_stages(read_application(folder / "app.toml"), OUTPUTS)
    own = run_events(folder / "app.toml", folder)
    assert computed_events(stage, folder, 0.5) == own
    computed = computed_events(stage, folder, float(OTHER))
    (folder / "other.toml").write_text(APP.replace("threshold = 0.5", f"threshold = {OTHER}"))
    assert computed == run_events(folder / "other.toml", folder)
    assert len(computed) > len(own) > 4


def test_a_table_of_thresholds(folder: Path) -> None:
    """The own row has what the checks have; above the largest score all is missed, and nothing is unexpected."""
    events = run_events(folder / "app.toml", folder)
    rows = [f"{(call + 1) / 10},decide,{value},{file}" for file, call, value in events[1:]]
    (folder / "e.csv").write_text("\n".join(["time,stage,value,file", *rows, "19,decide,no,a.csv", ""]))
    files_read = ("--vectors", folder / "samples", "--expect", folder / "e.csv")
    words = ("test", folder / "app.toml", "--board", "host", *files_read, "--thresholds")
    finished = run_tflmgen(*words, "--json")
    assert finished.code == 1
    schema = json.loads(files("tflmgen.schema").joinpath("decisions.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(finished.json)
    table = finished.json["thresholds"]
    (own,) = (row for row in table if row["is_own"])
    results = [check["result"] for check in finished.json["checks"]]
    assert (own["missed"], own["unexpected"]) == (results.count("MISSING"), results.count("UNEXPECTED")) == (1, 1)
    assert own["threshold"] == 0.5
    assert own["expected"] == len(events)
    assert own["hours"] == pytest.approx(40 / 3600)
    values = [row["threshold"] for row in table]
    assert values == sorted(values)
    assert 8 <= len(values) <= 11
    unexpected = [row["unexpected"] for row in table]
    assert unexpected[0] > own["unexpected"]
    assert table[-1]["missed"] >= own["expected"] - 1
    text = " ".join(run_tflmgen(*words).out.split())
    assert f"0.5 in file 1 {100 / own['expected']:.1f} 1 90" in text
    assert f"Thresholds of decide, {own['expected']} expected decisions in 40 s of samples" in text


def test_what_thresholds_need_is_said(folder: Path) -> None:
    words = ("test", "--board", "host", "--vectors", folder / "samples", "--thresholds")
    assert "--thresholds needs --expect" in " ".join(run_tflmgen(*words, folder / "app.toml").err.split())
    (folder / "e.csv").write_text("time,stage,value\n1,decide,yes\n")
    (folder / "app.toml").write_text(APP.replace('"decide.scores", ', ""))
    finished = run_tflmgen(*words, folder / "app.toml", "--expect", folder / "e.csv")
    assert finished.code == 2
    message = " ".join(finished.err.split())
    assert 'lack what the stage decides from: outputs = ["decide.scores", "decide.detected", "decide.ran"]' in message
    (folder / "e.csv").write_text("time,stage,value\n,gate,\n")
    finished = run_tflmgen(*words, folder / "app.toml", "--expect", folder / "e.csv")
    assert 'expected decisions are of no stage with builtin = "smooth"' in " ".join(finished.err.split())


def test_a_page_shows_scores_over_time(folder: Path) -> None:
    """A picture of each file: a line for each class, the threshold, and a mark for each decision."""
    page = folder / "page.html"
    words = ("run", folder / "app.toml", "--board", "host", "--inputs", folder / "samples", "--report", page)
    finished = run_tflmgen(*words, "--json")
    assert finished.code == 0, finished.err
    text = page.read_text(encoding="utf-8")
    decisions = [e for file in finished.json["files"] for e in file["events"] if e["output"] == "detected"]
    assert text.count('<g class="decision') == len(decisions) > 4
    assert text.count("<polyline") == 2 * 3
    assert text.count("threshold 0.5") == 2
    assert "decide.scores, a.csv" in text
    assert "http" not in text.replace("http://www.w3.org/", "")
    wrong = run_tflmgen("run", ROOT / "examples" / "gate.tflite", "--board", "host", "--inputs", page, "--report", page)
    assert wrong.code == 2
    assert page.read_text(encoding="utf-8") == text
