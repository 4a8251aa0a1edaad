"""Streams with the kernels of each core, on emulated boards, against the same model run whole on the host."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import tflmgen
from support.random_chain import random_chain

pytestmark = pytest.mark.emulator


@pytest.mark.parametrize(
    ("board", "seed"),
    [("mps2_an386", 11), ("mps3_an547", 3), pytest.param("mps2_an385_m0", 5, marks=pytest.mark.sweep)],
)
def test_streams_on_boards(board: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = tmp_path / "chain.tflite"
    model.write_bytes(random_chain(seed))
    options = ["--optimize", "ram", "--push-rows", "t0"]
    plan = tflmgen("build", model, "--board", board, "--no-compile", "--json", *options).json
    assert any(step.get("variant") == "stream" for step in plan["steps"])
    done = tflmgen("bench", model, "--board", board, "--json", *options)
    streams = [operator for operator in done.json["operators"] if operator["stages"]]
    assert streams
    for stream in streams:
        stages = stream["stages"]
        for name in ("instructions", "macs", "cycles_estimated"):
            assert sum(stage[name] for stage in stages) == stream[name]
        # No call takes less than its jump and its return.
        assert all(stage["instructions"] > 5 * stage["executions"] for stage in stages)
    finished = tflmgen("test", model, "--board", board, *options)
    assert finished.code == 0, finished
