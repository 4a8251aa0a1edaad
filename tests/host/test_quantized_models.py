"""Quantised models of the corpus: TFLite Micro runs the files, and our host build equals it bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.corpus import CORPUS, corpus_manifest, requires_corpus
from support.silent_watcher import SilentWatcher
from tflmgen.compare.oracle import tflm_outputs
from tflmgen.frontend import find_bounds, import_model
from tflmgen.frontend.tflite import Model, read_model
from tflmgen.input_sets import Vectors, read_input_sets
from tflmgen.ir import DType
from tflmgen.kernels import OPERATORS
from tflmgen.quantize import observed_build
from tflmgen.quantize.calibration import calibrate
from tflmgen.quantize.model_quantization import QuantizationChoice, prepare_float, quantize_model

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")

CATEGORIES = ("keras", "while", "if", "stateful", "one", "torch")
ARENA = 1 << 22
SAMPLE = (
    "if/app_early_exit2_cnn_f32",
    "if/if_captured_weights_f32",
    "keras/k3_lstm_while_f32g",
    "while/app_crnn_gru_kws_f32",
    "while/app_newton_sqrt_f32",
    "while/while_q_early_exit_f32",
)


def float_models() -> list[str]:
    """Float models of the corpus with an If or While whose structure TFLite Micro runs."""
    return [
        entry["path"].removesuffix(".tflite")
        for entry in corpus_manifest()
        if entry["path"].split("/")[0] in CATEGORIES
        and (entry["has_if"] or entry["has_while"])
        and "float32" in entry["dtypes"]
        and not entry["quantized"]
        and entry["tflm_runs"]
    ]


def vectors_of(path: Path, model: Model) -> Vectors:
    module = import_model(model, find_bounds(model, (), None, None), OPERATORS)
    return read_input_sets(path.with_suffix(".npz"), module.signatures, None, expected=False)


def assert_equal_to_tflm(name: str, dtype: DType, tmp_path: Path) -> None:
    path = CORPUS / f"{name}.tflite"
    source = prepare_float(read_model(path))
    vectors = vectors_of(path, source)
    quantized = quantize_model(source, calibrate(source, vectors), QuantizationChoice(dtype))
    file = tmp_path / "quantized.tflite"
    file.write_bytes(quantized.data)
    with observed_build(quantized.model) as build:
        ours = build.run(vectors.sets, vectors.stateful, SilentWatcher())
    for own, expected in zip(ours, tflm_outputs(file, vectors.sets, ARENA, 120), strict=True):
        for output, other in zip(own, expected, strict=True):
            np.testing.assert_array_equal(output, other.reshape(output.shape))


@requires_corpus
@pytest.mark.parametrize("name", SAMPLE)
def test_sample_in_int8(name: str, tmp_path: Path) -> None:
    assert_equal_to_tflm(name, DType.INT8, tmp_path)


@requires_corpus
@pytest.mark.sweep
@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16], ids=lambda dtype: dtype.label)
@pytest.mark.parametrize("name", float_models())
def test_corpus(name: str, dtype: DType, tmp_path: Path) -> None:
    assert_equal_to_tflm(name, dtype, tmp_path)
