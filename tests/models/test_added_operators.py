"""Operators that LiteRT runs and TFLite Micro lacks: small models beside the repository, with the outputs of LiteRT."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import tflmgen
from support.repository import ROOT

MODELS = sorted((ROOT.parent / "shared" / "operators").glob("*.tflite"))
OTHERWISE = {"lrn"}
"""LiteRT's reference kernel leaves out the last neighbour of each element; TensorFlow and LiteRT's default do not."""


@pytest.mark.parametrize("model", [m for m in MODELS if m.stem not in OTHERWISE], ids=lambda model: model.stem)
def test_outputs_are_those_of_litert(model: Path) -> None:
    done = tflmgen("test", model, "--board", "host", "--vectors", model.with_suffix(".npz"))
    assert done.code == 0, done.out + done.err
