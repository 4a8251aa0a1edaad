"""`run` and `test` of an application: a timeline of what it decides, and expectations of it."""

from __future__ import annotations

import json
import wave
from importlib.resources import files
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from support.commands import tflmgen as run_tflmgen
from support.repository import ROOT
from tflmgen.applications import compared, read_application, read_expectations
from tflmgen.applications.decision_timeline import Event
from tflmgen.errors import ModelError

APP = """
[input.audio]
period = "10 ms"
type = "int16"
shape = [160]
[stage.loud]
builtin = "rms"
input = "audio"
[stage.level]
builtin = "spectrogram"
input = "audio"
when = "loud.value > 1000"
[stage.decide]
builtin = "smooth"
input = "level"
window = 4
threshold = 1e9
hold = "300 ms"
"""
BIN = 16
"""Of 1 kHz in 256 samples at 16 kHz."""
RATE = 16000


def tone(path: Path, rate: int = RATE) -> None:
    """Two seconds with a tone from 0.5 to 0.9 s and from 1.4 to 1.7 s."""
    time = np.arange(2 * RATE) / RATE
    sounds = ((time > 0.5) & (time < 0.9)) | ((time > 1.4) & (time < 1.7))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.sin(2 * np.pi * 1000 * time) * 8000 * sounds).astype("<i2").tobytes())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.toml").write_text(APP)
    tone(tmp_path / "tone.wav")
    return tmp_path


def check_schema(name: str, document: object) -> None:
    schema = json.loads(files("tflmgen.schema").joinpath(f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


def test_run_prints_a_timeline(folder: Path) -> None:
    outputs = folder / "out.npz"
    words = ("run", folder / "app.toml", "--board", "host", "--inputs", folder / "tone.wav")
    finished = run_tflmgen(*words, "--outputs", outputs, "--json")
    assert finished.code == 0, finished.err
    check_schema("timeline", finished.json)
    (file,) = finished.json["files"]
    events = [(e["time_s"], e["stage"], e["output"], e["value"]) for e in file["events"]]
    assert events == [
        (0.51, "level", "ran", 1),
        (0.51, "decide", "detected", BIN),
        (0.81, "decide", "detected", BIN),
        (0.91, "level", "ran", 0),
        (1.41, "level", "ran", 1),
        (1.41, "decide", "detected", BIN),
        (1.71, "level", "ran", 0),
    ]
    runs = {stage["name"]: stage["runs"] for stage in file["stages"]}
    assert runs == {"loud": 200, "level": 70, "decide": 70}
    with np.load(outputs) as arrays:
        assert sum(bool(arrays[f"s{k}_out_3"].any()) for k in range(200)) == runs["level"]
    text = run_tflmgen(*words).out
    assert f"0.810 s    80  decide  detected {BIN}" in text
    assert "2 s of samples" in text


def test_each_file_of_a_folder_begins_anew(folder: Path) -> None:
    samples = folder / "samples"
    samples.mkdir()
    for name in ("a.wav", "b.wav"):
        tone(samples / name)
    files_run = run_tflmgen("run", folder / "app.toml", "--board", "host", "--inputs", samples, "--json").json["files"]
    assert [file["file"] for file in files_run] == ["a.wav", "b.wav"]
    assert files_run[0]["events"] == files_run[1]["events"] != []


CSV = f"time,stage,value\n0.5,decide,{BIN}\n0.85,decide,{BIN}\n1.4,decide.detected,{BIN}\n"
TOML = "".join(f'[[expect]]\ntime = {time}\nstage = "decide"\nvalue = {BIN}\n' for time in ('"510 ms"', "0.81", "1.41"))


@pytest.mark.parametrize(("name", "text"), [("e.csv", CSV), ("e.toml", TOML)])
def test_expected_decisions_pass(name: str, text: str, folder: Path) -> None:
    (folder / name).write_text(text)
    words = ("test", folder / "app.toml", "--board", "host", "--vectors", folder / "tone.wav")
    finished = run_tflmgen(*words, "--expect", folder / name, "--json", "--junit", folder / "junit.xml")
    assert finished.code == 0, finished.err
    check_schema("decisions", finished.json)
    assert [check["result"] for check in finished.json["checks"]] == ["ok"] * 3
    assert (folder / "junit.xml").read_text().count("<testcase") == 3


def test_other_decisions_fail(folder: Path) -> None:
    """One is late, one of another class, and one is not expected at all."""
    text = f"time,stage,value,tolerance\n0.6,decide,{BIN},50 ms\n0.8,decide,3,0.1\n1.41,decide,{BIN},10 ms\n"
    (folder / "e.csv").write_text(text)
    words = ("test", folder / "app.toml", "--board", "host", "--vectors", folder / "tone.wav")
    finished = run_tflmgen(*words, "--expect", folder / "e.csv", "--json")
    assert finished.code == 1
    check_schema("decisions", finished.json)
    results = [check["result"] for check in finished.json["checks"]]
    assert sorted(results) == ["MISSING", "MISSING", "UNEXPECTED", "UNEXPECTED", "ok"]
    assert "4 of 5 decisions are not as expected" in finished.err


WRONG_EXPECTATIONS = {
    "stage,value\ndecide,3\n": "e.csv:1: the first row names columns",
    "time,stage,value\n1,decode,3\n": "e.csv:2: there is no stage 'decode'",
    "time,stage,value\n1,decide,yes\n": "e.csv:2: 'yes' is not a label of 'decide'",
    "time,stage,value\nsoon,decide,3\n": "e.csv:2: time: 'soon' is not a time",
    "time,stage,value\n1,decide\n": "e.csv:2: a decision has a time and a value",
    "time,stage,value\n": "expects nothing",
}


@pytest.mark.parametrize("text", WRONG_EXPECTATIONS)
def test_wrong_expectations_are_located(text: str, folder: Path) -> None:
    (folder / "e.csv").write_text(text)
    with pytest.raises(ModelError, match=WRONG_EXPECTATIONS[text]):
        read_expectations(folder / "e.csv", read_application(folder / "app.toml"))


def test_a_stage_without_a_time_decides_nothing_more(folder: Path) -> None:
    (folder / "e.csv").write_text("time,stage,value\n,decide,\n")
    expectations = read_expectations(folder / "e.csv", read_application(folder / "app.toml"))
    assert compared(expectations, [], 0.01) == []
    (verdict,) = compared(expectations, [Event(3, "decide", "detected", 1, "")], 0.01)
    assert not verdict.is_met


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("run", "app.toml", "--inputs", "fast.wav"), "44100 Hz, and 160 samples in a period of 0.01 s make 16000 Hz"),
        (("test", "app.toml", "--expect", "e.csv"), "--expect needs --vectors"),
        (("test", "gate.tflite", "--vectors", "tone.wav", "--expect", "e.csv"), "--expect is for an application"),
        (("run", "gate.tflite", "--inputs", "tone.wav"), "run needs --outputs"),
    ],
)
def test_wrong_use_is_said(words: tuple[str, ...], reason: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    tone(folder / "fast.wav", 44100)
    (folder / "e.csv").write_text(CSV)
    (folder / "gate.tflite").write_bytes((ROOT / "examples" / "gate.tflite").read_bytes())
    finished = run_tflmgen(*words, "--board", "host")
    assert finished.code in (1, 2)
    assert reason in " ".join(finished.err.split())


def test_an_application_on_samples_equals_tflite_micro_call_by_call(folder: Path) -> None:
    """All calls in sequence on one interpreter: from the initial state each, no window would ever be complete."""
    finished = run_tflmgen("test", folder / "app.toml", "--board", "host", "--vectors", folder / "tone.wav", "--json")
    assert finished.code == 0, finished.err
    assert len(finished.json["checks"]) == 200 * 5
