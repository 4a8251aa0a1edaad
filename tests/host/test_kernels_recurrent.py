"""LSTM, RNN and SVDF against TFLite Micro, variants of the float32 LSTM that it lacks against LiteRT."""

from __future__ import annotations

import numpy as np
import pytest
from support.recurrent_cases import fixed_lstm, float_lstm, quantized_lstm, rnn, svdf
from support.recurrent_runs import check_steps, litert_steps, tflm_steps

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")

TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("operator", ["RNN", "UNIDIRECTIONAL_SEQUENCE_RNN"])
def test_rnn(operator: str, hybrid: bool) -> None:
    rng = np.random.default_rng(1)
    check_steps([rnn(rng, operator, hybrid) for _ in range(20)], litert_steps, **TOLERANCE)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_quantized_lstm(dtype: str) -> None:
    rng = np.random.default_rng(1)
    check_steps([quantized_lstm(rng, dtype) for _ in range(20)], tflm_steps)


def test_float_lstm() -> None:
    rng = np.random.default_rng(1)
    check_steps([float_lstm(rng, variants=False) for _ in range(10)], tflm_steps, **TOLERANCE)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("operator", ["LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_float_lstm_variants(operator: str, hybrid: bool) -> None:
    rng = np.random.default_rng(1)
    check_steps([float_lstm(rng, True, operator, hybrid) for _ in range(20)], litert_steps, **TOLERANCE)


@pytest.mark.parametrize("operator", ["LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_int8_lstm_variants(operator: str) -> None:
    rng = np.random.default_rng(1)
    check_steps([fixed_lstm(rng, operator) for _ in range(20)], litert_steps)


@pytest.mark.parametrize("state", ["int8", "int16", "float32", "hybrid"])
def test_svdf(state: str) -> None:
    rng = np.random.default_rng(1)
    # Of float32 as many filters as are computed at a time, and more.
    sizes = [None] * 20 + [(2, 5, 32, 1, 3), (1, 4, 17, 2, 5), (2, 9, 23, 3, 1), (1, 3, 35, 1, 2)]
    reference = litert_steps if state == "hybrid" else tflm_steps
    check_steps([svdf(rng, state, size) for size in sizes], reference, **TOLERANCE)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_many_quantized_lstms(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_steps([quantized_lstm(rng, dtype) for _ in range(40)], tflm_steps)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("operator", ["LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
def test_many_int8_lstm_variants(operator: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_steps([fixed_lstm(rng, operator) for _ in range(40)], litert_steps)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("hybrid", [False, True])
def test_many_float_lstms(seed: int, hybrid: bool) -> None:
    rng = np.random.default_rng(seed)
    check_steps([float_lstm(rng, True, hybrid=hybrid) for _ in range(40)], litert_steps, **TOLERANCE)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("state", ["int8", "int16", "float32"])
def test_many_svdfs(state: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_steps([svdf(rng, state) for _ in range(40)], tflm_steps, **TOLERANCE)
