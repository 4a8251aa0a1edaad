"""Every float model with If or While of the corpus, quantised with its own input sets, on the host and on boards.

TFLite Micro runs the quantised file, on one interpreter in order where the model keeps state. Outputs that no operator
in float32 comes before equal its outputs bit for bit, others within the manifest's tolerance. Where TFLite Micro cannot
run the float model's structure, the build without any pass takes its place. `tests/quantized_corpus_sweep.py` does the
same in parallel, can be stopped and go on, and counts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.corpus import CORPUS, requires_corpus
from support.quantized_corpus import (
    ARENA,
    BOARDS,
    board_result,
    float_conversions_in_loops,
    float_models,
    quantized_entry,
    reasons_for_float,
)
from support.tools import requires_compiler, requires_qemu
from tflmgen.compare.oracle import tflm_outputs
from tflmgen.frontend.tflite import read_model
from tflmgen.input_sets import read_input_sets
from tflmgen.quantize import observed_build

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
pytestmark = requires_corpus

MODELS = float_models()
SAMPLE = ("stateful/state_running_mean_f32", "while/app_newton_sqrt_f32")
"""The first has variables, no branch or loop, and runs in order on one interpreter."""


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name: str, tmp_path: Path) -> None:
    entry = quantized_entry(name, tmp_path)
    assert entry.reference == "TFLite Micro"
    result = board_result(entry, "host")
    assert result.exact + result.near > 0


def test_a_model_with_state_runs_in_order_on_one_interpreter() -> None:
    """The state that a recurrent layer keeps changes what later sets give."""
    path = CORPUS / "keras" / "k2_lstm_fused_i8io.tflite"
    model = read_model(path)
    with observed_build(model) as build:
        vectors = read_input_sets(path.with_suffix(".npz"), build.signatures, None, expected=True)
    golden = [vector_set.expected[0] for vector_set in vectors.sets]
    in_order = tflm_outputs(path, vectors.sets, ARENA, 120, stateful=True)
    afresh = tflm_outputs(path, vectors.sets, ARENA, 120)
    assert all(np.array_equal(own[0], wanted) for own, wanted in zip(in_order, golden, strict=True))
    assert not all(np.array_equal(own[0], wanted) for own, wanted in zip(afresh, golden, strict=True))


@pytest.mark.sweep
@pytest.mark.parametrize("name", MODELS)
def test_host(name: str, tmp_path: Path) -> None:
    board_result(quantized_entry(name, tmp_path), "host")


@pytest.mark.sweep
@pytest.mark.emulator
@requires_compiler
@requires_qemu
@pytest.mark.parametrize("name", MODELS)
def test_boards(name: str, tmp_path: Path) -> None:
    entry = quantized_entry(name, tmp_path)
    for board in BOARDS[1:]:
        board_result(entry, board)


@pytest.mark.sweep
def test_conversions_run_in_few_loops(tmp_path: Path) -> None:
    """No float round trip per iteration in nine of ten models, and in the others only for operators kept in float."""
    entries = [quantized_entry(name, tmp_path) for name in MODELS]
    converting = [entry for entry in entries if float_conversions_in_loops(entry.model)]
    for entry in converting:
        assert reasons_for_float(entry.result), entry.name
    assert len(converting) <= 0.1 * len(MODELS), [entry.name for entry in converting]
