"""Stages whose computation is a C function of a plug-in; and what an application cannot be asked for."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import tflmgen as tflmgen_api
from support.commands import tflmgen
from support.repository import ROOT

PLUGIN = ROOT / "examples" / "erfinv" / "erfinv.py"
APP = """
[input.x]
type = "float32"
shape = [1, 4]
[stage.noise]
builtin = "operator"
name = "Erfinv"
input = "x"
[stage.top]
builtin = "argmax"
input = "noise"
"""


def test_a_stage_calls_a_plugins_function(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text(APP)
    x = np.array([[0.1, -0.5, 0.9, 0.3]], np.float32)
    model = tflmgen_api.compile(tmp_path / "app.toml", "host", plugin=[PLUGIN])
    with model.session() as session:
        outputs = session.run({"x": x})
    assert outputs["top.index"][0] == 2
    assert math.isclose(math.erf(outputs["top.value"][0]), 0.9, rel_tol=1e-5)


def test_without_the_plugin_the_operator_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text(APP)
    finished = tflmgen("build", tmp_path / "app.toml", "--board", "host", "--no-compile", "-o", tmp_path / "out")
    assert finished.code == 1
    assert "custom operator 'Erfinv' is not supported" in finished.err


def test_an_application_is_not_quantised_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "app.toml").write_text(APP)
    finished = tflmgen("quantize", tmp_path / "app.toml", "--calibration", tmp_path / "x.npz")
    assert finished.code == 2
    assert "quantise the models of its stages" in finished.err
