"""ONNX models quantised: the int8 file is a model that TFLite Micro runs, and the host build equals it bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from support.onnx_models import separable_net
from tflmgen.frontend.tflite import read_model

SHAPE = ("--shape", "x=1,3,32,32")


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A net whose pool pads with -inf, and 16 calibration samples."""
    monkeypatch.chdir(tmp_path)
    separable_net(Path("model.onnx"))
    rng = np.random.default_rng(5)
    np.savez("samples.npz", x=rng.standard_normal((16, 1, 3, 32, 32)).astype(np.float32))
    np.savez("in.npz", x=rng.standard_normal((1, 3, 32, 32)).astype(np.float32))


def test_the_quantised_file_equals_tflite_micro() -> None:
    pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    done = tflmgen("quantize", "model.onnx", "--calibration", "samples.npz", "--io", "int8", *SHAPE)
    assert done.code == 0, done.err
    graph = read_model(Path("model-int8.tflite")).subgraphs[0]
    assert {graph.tensors[op.outputs[0]].type_name for op in graph.operators} == {"int8"}
    compared = tflmgen("test", "model-int8.tflite", "--board", "host", "--atol", "0", "--rtol", "0")
    assert compared.code == 0, compared.err
    assert "Compared with: TFLite Micro" in compared.out


def test_errors_are_small() -> None:
    done = tflmgen("quantize", "model.onnx", "--calibration", "samples.npz", "--json", *SHAPE)
    (output,) = done.json["evaluation"]["outputs"]
    assert output["sqnr_db"] > 20


def test_other_commands_quantise_first() -> None:
    words = ("run", "model.onnx", "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
    assert tflmgen(*words, *SHAPE).code == 0
    with np.load("out.npz") as arrays:
        exact = arrays["y"]
    done = tflmgen(*words, *SHAPE, "--quantize", "samples.npz")
    assert done.code == 0, done.err
    assert "Wrote model-int8.tflite." in done.out
    with np.load("out.npz") as arrays:
        difference = np.abs(arrays["y"] - exact).max()
    assert 0 < difference < 0.1 * np.abs(exact).max()


def test_options_of_onnx_models_are_refused_for_tflite_files() -> None:
    Path("model.tflite").write_bytes(b"")
    assert tflmgen("quantize", "model.tflite", "--calibration", "samples.npz", *SHAPE).code == 2
