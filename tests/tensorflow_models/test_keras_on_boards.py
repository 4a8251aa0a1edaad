"""From a .keras file to an emulated Cortex-M4 in one command; its outputs are Keras'. Needs TensorFlow and QEMU."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
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
SETS = 8
"""Inputs that neither calibration nor conversion saw."""
FLOAT_DB = 90.0
"""Least ratio of Keras' outputs to the difference in float32: rounding alone, through a hundred layers."""
INT8_DB = 28.0
"""The same in int8: measured, 30.6 dB (masked LSTM) to 50.7 dB (separable net)."""
NOISY_DB = {"mobilenet": 14.0}
"""Random weights in 52 layers amplify noise: measured, 15.9 dB; TensorFlow's own quantisation of it has 17.6 dB."""
SAVE = """
import sys
sys.path.insert(0, sys.argv[1])
import keras, numpy, tensorflow_models
tensorflow_models.save("net.keras", sys.argv[2])
model = keras.models.load_model("net.keras", custom_objects={"LeakyCell": tensorflow_models.LeakyCell})
shape, rng = model.inputs[0].shape[1:], numpy.random.default_rng(1)
draw = lambda n: rng.normal(size=(n, 1, *shape)).astype("float32")
def run(row):
    for layer in model.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()
    return numpy.asarray(model(row, training=False))
numpy.savez("cal.npz", **{model.inputs[0].name: draw(256 if numpy.prod(shape) < 1000 else 32)})
rows = draw(int(sys.argv[3]))
numpy.savez("inputs.npz", n_sets=len(rows), **{f"s{k}_in_0": row for k, row in enumerate(rows)})
numpy.savez("keras.npz", **{f"s{k}_out_0": run(row) for k, row in enumerate(rows)})
"""
"""Writes a model, calibration data by the name that its input has in the file, inputs, and Keras' outputs for these."""


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
    words = ["-c", SAVE, str(MODELS.parent), name, str(SETS)]
    subprocess.run([interpreter() or "", *words], check=True, capture_output=True)
    options = ["--quantize", "cal.npz"] if quantized else []
    options += ["--keras-objects", str(MODELS)] if name == "custom_cell" else []
    words = ["--board", "mps2_an386", "--inputs", "inputs.npz", "--outputs", "outputs.npz"]
    done = tflmgen("run", "net.keras", *words, *options)
    assert done.code == 0, done.err
    assert "Compared with TensorFlow: 12 input sets equal" in done.out
    assert bool([*Path().glob("net-int8*.tflite")]) == quantized
    ratio = _signal_to_noise("keras.npz", "outputs.npz")
    print(f"{name}, {'int8' if quantized else 'float32'}: {ratio:.1f} dB")
    assert ratio >= (NOISY_DB.get(name, INT8_DB) if quantized else FLOAT_DB)


def _signal_to_noise(wanted: str, got: str) -> float:
    """In dB, over the outputs of all sets together."""
    with np.load(wanted) as want, np.load(got) as result:
        signal = np.concatenate([want[f"s{k}_out_0"].ravel() for k in range(SETS)]).astype(np.float64)
        noise = signal - np.concatenate([result[f"s{k}_out_0"].ravel() for k in range(SETS)])
    return float(10 * np.log10(np.square(signal).sum() / max(np.square(noise).sum(), 1e-30)))
