"""Loops that compute an LSTM layer are recognised, and become the fused operator if wanted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.lstm_models import FEATURES, STEPS, LstmStyle, lstm_loop
from support.quantized_run import quantized_run
from tflmgen.compare.oracle import OracleError, tflm_outputs
from tflmgen.frontend import find_lstm_loops
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.quantize.calibration import calibrate
from tflmgen.quantize.model_quantization import QuantizationChoice, prepare_float, quantize_model
from tflmgen.quantize.statistics import statistics_of

STYLES = {
    "gates in another order, rows by SLICE": LstmStyle(gates="gofi", pick="SLICE"),
    "a product for each gate": LstmStyle(split=True),
    "row and state joined": LstmStyle(gates="fiog", joined=True),
    "every state, in a list": LstmStyle(result="all"),
    "a batch, rows by SLICE": LstmStyle(batch=3, pick="SLICE", joined=True),
    "every state of a batch": LstmStyle(batch=2, result="all", split=True),
}


def inputs_of(style: LstmStyle, count: int = 16) -> list[tuple[NDArray[np.float32]]]:
    rng = np.random.default_rng(2)
    return [(rng.uniform(-1, 1, (STEPS, style.batch, FEATURES)).astype(np.float32),) for _ in range(count)]


@pytest.mark.parametrize("name", STYLES)
def test_the_fused_layer_computes_what_the_loop_does(name: str, tmp_path: Path) -> None:
    result = quantized_run(lstm_loop(STYLES[name]), inputs_of(STYLES[name]), fuses_lstm=True)
    assert result.quantized.fused == (2,)
    assert result.operators[0]["UNIDIRECTIONAL_SEQUENCE_LSTM"] == 1
    assert result.operators[0]["WHILE"] == 0
    for (ours,), (theirs,), (exact,) in zip(result.after, result.of_tflm(tmp_path), result.before, strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))
        np.testing.assert_allclose(ours, exact, atol=0.03)


@pytest.mark.parametrize("style", [LstmStyle(), LstmStyle(batch=2, result="all")], ids=["last", "all of a batch"])
def test_a_state_that_starts_with_zeros_needs_no_reset(style: LstmStyle, tmp_path: Path) -> None:
    """All sets run one after the other, and equal those of a new interpreter of TFLite Micro for each."""
    inputs = inputs_of(style)
    result = quantized_run(lstm_loop(style), [*inputs, inputs[0]], fuses_lstm=True, keeps_state=False)
    assert result.quantized.fused == (2,)
    np.testing.assert_array_equal(result.after[0][0], result.after[-1][0])
    for (ours,), (theirs,) in zip(result.after, result.of_tflm(tmp_path), strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))


@pytest.mark.parametrize("result", ["h", "all"])
def test_a_stateful_layer_is_fused_unasked_and_goes_on_where_it_was(result: str, tmp_path: Path) -> None:
    style = LstmStyle(stateful=True, result=result)
    inputs = inputs_of(style)
    run = quantized_run(lstm_loop(style), [*inputs, inputs[0]], in_order=True)
    assert run.quantized.stateful == run.quantized.fused == (2,)
    assert run.operators[0]["UNIDIRECTIONAL_SEQUENCE_LSTM"] == 1
    assert not any("VARIABLE" in name or name in ("CALL_ONCE", "WHILE") for names in run.operators for name in names)
    assert not np.array_equal(run.before[0][0], run.before[-1][0])
    for (ours,), (theirs,), (exact,) in zip(run.after, run.of_tflm(tmp_path), run.before, strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))
        np.testing.assert_allclose(ours, exact, atol=0.05)


def test_tflm_is_no_reference_for_such_a_state_in_order(tmp_path: Path) -> None:
    result = quantized_run(lstm_loop(LstmStyle()), inputs_of(LstmStyle()), fuses_lstm=True, keeps_state=False)
    path = tmp_path / "fused.tflite"
    path.write_bytes(result.quantized.data)
    with pytest.raises(OracleError, match="keep their state"):
        tflm_outputs(path, result.vectors.sets, 1 << 20, 60, stateful=True)


def test_why_a_layer_was_not_fused() -> None:
    """Cells that the kernel's tables do not reach stay in the loop."""
    model = lstm_loop(LstmStyle())
    inputs = inputs_of(LstmStyle())
    source = prepare_float(model, fuses_lstm=True)
    vectors = Vectors(tuple(VectorSet("", 0, arrays) for arrays in inputs))
    calibration = calibrate(source, vectors)
    wide = statistics_of(np.array([-20, 20], np.float32))
    assert wide is not None
    cells = (0, source.subgraphs[0].operators[0].outputs[2])
    tensors = {**calibration.tensors, cells: wide}
    quantized = quantize_model(source, replace(calibration, tensors=tensors), QuantizationChoice(fuses_lstm=True))
    assert quantized.unfused == {2: "its cells reach 20.0, and the kernel's tables end at 16"}


def test_without_the_option_the_loop_stays() -> None:
    inputs = inputs_of(LstmStyle())
    result = quantized_run(lstm_loop(LstmStyle()), [*inputs, inputs[0]])
    assert result.operators[0]["WHILE"] == 1
    np.testing.assert_array_equal(result.after[0][0], result.after[-1][0])


@pytest.mark.parametrize(
    ("style", "reason"),
    [
        (LstmStyle(result="c"), "the cell state after the last step is read"),
        (LstmStyle(start=0.5), "its first state is not zero"),
        (LstmStyle(start=0.5, stateful=True), "its first state is not zero"),
        (LstmStyle(stateful=True, result="c"), "the cell state after the last step is read"),
        (LstmStyle(steps=STEPS - 1), "its trip count is not known to be the length of the sequence"),
    ],
)
def test_why_a_loop_is_no_layer(style: LstmStyle, reason: str) -> None:
    assert find_lstm_loops(lstm_loop(style)) == {2: reason}


def test_other_cells_are_no_lstm() -> None:
    assert find_lstm_loops(lstm_loop(LstmStyle(cell="no tanh"))) == {}
