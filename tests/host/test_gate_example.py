"""examples/gate decides what its expectations say."""

from __future__ import annotations

import runpy
from pathlib import Path

from support.commands import tflmgen
from support.repository import ROOT

EXAMPLE = ROOT / "examples" / "gate"


def test_the_tones_are_decided_and_the_click_is_not(tmp_path: Path) -> None:
    runpy.run_path(str(EXAMPLE / "make_wav.py"))["make"](tmp_path)
    words = ("--board", "host", "--vectors", tmp_path / "tones.wav", "--expect", EXAMPLE / "expected.csv")
    finished = tflmgen("test", EXAMPLE / "app.toml", *words, "--json")
    assert finished.code == 0, finished.err
    assert [check["result"] for check in finished.json["checks"]] == ["ok", "ok"]
    run = tflmgen("run", EXAMPLE / "app.toml", "--board", "host", "--inputs", tmp_path / "tones.wav", "--json")
    (file,) = run.json["files"]
    assert sum(event["stage"] == "spectrum" and event["value"] == 1 for event in file["events"]) == 3
