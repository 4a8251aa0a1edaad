"""Every command that runs firmware takes the options of a build, --place among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import tflmgen
from support.repository import ROOT

GATE = ROOT / "examples" / "gate.tflite"


@pytest.mark.parametrize(
    "words",
    [
        ("test", GATE),
        ("test", GATE, "--layers"),
        ("run", GATE, "--inputs", "x.npz", "--outputs", "y.npz"),
        ("bench", GATE),
        ("flash", GATE),
        ("build", GATE),
        ("inspect", GATE),
    ],
)
def test_place_is_read(words: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = tflmgen(*words, "--board", "mps2_an386", "--place", "arena=nowhere")
    assert (done.code, "nowhere" in done.err.lower()) == (2, True), done.err
