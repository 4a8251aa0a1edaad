"""From a .keras file to an emulated Cortex-M4 in one command, in float32 and in int8. They need TensorFlow and QEMU."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.commands import tflmgen
from support.tensorflow_environment import VARIABLE, file_beside, interpreter, requires_tensorflow
from support.tools import requires_qemu

pytestmark = [requires_tensorflow, requires_qemu, pytest.mark.emulator, pytest.mark.xdist_group("tensorflow")]

MODELS = file_beside("tensorflow_models.py")
IN_SAMPLE = ("gru_reset_before", True)
NAMES = (
    *("lstm", "gru_rows", "gru_reset_before", "simple_rnn", "bidirectional", "conv_lstm", "masked", "stateful_lstm"),
    *("custom_cell", "transformer_block", "residual_net", "separable_net", "mobilenet"),
)
SAVE = """
import sys
sys.path.insert(0, sys.argv[1])
import keras, numpy, tensorflow_models
tensorflow_models.save("net.keras", sys.argv[2])
model = keras.models.load_model("net.keras", custom_objects=vars(tensorflow_models))
rng = numpy.random.default_rng(1)
numpy.savez("cal.npz", **{x.name: rng.normal(size=(8, 1, *x.shape[1:])).astype("float32") for x in model.inputs})
"""
"""Writes a model, and calibration data by the names that its inputs have in the file."""


def _cases() -> Iterator[Any]:
    """All models in both types; one is run always."""
    for name in NAMES:
        for quantized in (False, True):
            marks = [] if (name, quantized) == IN_SAMPLE else [pytest.mark.sweep]
            yield pytest.param(name, quantized, marks=marks)


@pytest.mark.parametrize(("name", "quantized"), [*_cases()])
def test_one_command_from_keras_to_an_emulated_m4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, quantized: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, interpreter() or "")
    subprocess.run([interpreter() or "", "-c", SAVE, str(MODELS.parent), name], check=True, capture_output=True)
    options = ["--quantize", "cal.npz"] if quantized else []
    options += ["--keras-objects", str(MODELS)] if name == "custom_cell" else []
    done = tflmgen("test", "net.keras", "--board", "mps2_an386", *options)
    assert done.code == 0, done.err
    assert "Compared with TensorFlow: 12 input sets equal" in done.out
    assert "outputs agree" in done.out
    assert bool([*Path().glob("net-int8*.tflite")]) == quantized
