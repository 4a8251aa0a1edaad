"""Loops that compute an LSTM layer are recognised, and become the fused operator if wanted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.lstm_models import FEATURES, STEPS, LstmStyle, lstm_loop
from support.quantized_run import quantized_run
from tflmgen.quantize import find_lstm_loops

STYLES = {
    "gates in another order, rows by SLICE": LstmStyle(gates="gofi", pick="SLICE"),
    "a product for each gate": LstmStyle(split=True),
    "row and state joined": LstmStyle(gates="fiog", joined=True),
}


@pytest.mark.parametrize("name", STYLES)
def test_the_fused_layer_computes_what_the_loop_does(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    shape = (STEPS, 1, FEATURES)
    inputs = [(rng.uniform(-1, 1, shape).astype(np.float32),) for _ in range(16)]
    result = quantized_run(lstm_loop(STYLES[name]), inputs, fuses_lstm=True)
    assert result.quantized.fused == (2,)
    assert result.operators[0]["UNIDIRECTIONAL_SEQUENCE_LSTM"] == 1
    assert result.operators[0]["WHILE"] == 0
    for (ours,), (theirs,), (exact,) in zip(result.after, result.of_tflm(tmp_path), result.before, strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))
        np.testing.assert_allclose(ours, exact, atol=0.03)


def test_without_the_option_the_loop_stays() -> None:
    rng = np.random.default_rng(2)
    inputs = [(rng.uniform(-1, 1, (STEPS, 1, FEATURES)).astype(np.float32),) for _ in range(16)]
    result = quantized_run(lstm_loop(LstmStyle()), [*inputs, inputs[0]])
    assert result.operators[0]["WHILE"] == 1
    np.testing.assert_array_equal(result.after[0][0], result.after[-1][0])


@pytest.mark.parametrize(
    ("style", "reason"),
    [
        (LstmStyle(result="c"), "the cell state after the last step is read"),
        (LstmStyle(start=0.5), "its first state is not zero"),
        (LstmStyle(steps=STEPS - 1), "its trip count is not known to be the length of the sequence"),
    ],
)
def test_why_a_loop_is_no_layer(style: LstmStyle, reason: str) -> None:
    assert find_lstm_loops(lstm_loop(style)) == {2: reason}


def test_other_cells_are_no_lstm() -> None:
    assert find_lstm_loops(lstm_loop(LstmStyle(cell="no tanh"))) == {}
