"""Errors of outputs: about the mean, by element, and of integers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tflmgen.ir import DType, TensorType
from tflmgen.ir.graph import EntryPoint, Port
from tflmgen.quantize.output_errors import mean_noise, output_error


def signature(dtype: DType, shape: tuple[int, ...]) -> EntryPoint:
    return EntryPoint("main", "main", (), (Port("y", TensorType(dtype, shape)),))


def test_noise_counts_against_the_variance_not_against_the_offset() -> None:
    values = [np.array([293 + 0.8 * math.sin(number)]) for number in range(100)]
    rounded = [np.round(value) for value in values]
    error = output_error(signature(DType.FLOAT32, (1,)), 0, list(zip(values, rounded, strict=True)))
    assert error.sqnr_db > 55
    assert error.noise is not None
    assert error.noise.whole_db == error.noise.worst_db < 10
    assert error.noise.deviation == pytest.approx(0.8 / math.sqrt(2), rel=0.05)


def test_the_worst_element_and_each_channel_stand_beside_the_whole() -> None:
    rng = np.random.default_rng(0)
    wanted = [rng.normal(0, [100.0, 1.0, 0.0], (2, 3)) for _ in range(50)]
    differences = [np.tile([1.0, 1.0, 0.0], (2, 1)) for _ in wanted]
    noise = mean_noise(wanted, differences)
    assert noise is not None
    assert noise.whole_db > 35
    assert noise.worst_db == pytest.approx(0, abs=1.5)
    assert noise.worst % 3 == 1
    assert noise.channels_db[0] == pytest.approx(40, abs=1)
    assert noise.channels_db[1] == pytest.approx(0, abs=1)
    assert noise.channels_db[2] == math.inf
    assert noise.balanced_db == pytest.approx(3, abs=1)


def test_classes_are_equal_or_not() -> None:
    pairs = [(np.array([number % 4]), np.array([number % 4 + (number == 7)])) for number in range(50)]
    error = output_error(signature(DType.INT32, (1,)), 0, pairs)
    assert (error.is_integer, error.agreement, error.noise) == (True, 0.98, None)


def test_of_few_sets_rows_count_as_sets() -> None:
    """Two sets whose elements are nearly the same have a variance that says nothing; their rows have one."""
    steps = np.sin(np.arange(40.0))[:, None] * [1.0, 2.0]
    wanted = [steps, steps + 1e-6]
    noise = mean_noise(wanted, [np.full(steps.shape, 0.01)] * 2)
    assert noise is not None
    assert noise.worst_db == pytest.approx(37, abs=1)
    assert mean_noise([np.ones(1), np.zeros(1)], [np.zeros(1)] * 2) is None


def test_an_output_that_does_not_vary_has_no_mean_to_compare_with() -> None:
    assert mean_noise([np.ones(3)] * 5, [np.zeros(3)] * 5) is None


def test_undefined_results_are_the_largest_error() -> None:
    pairs = [(np.array([1.0 * number]), np.array([np.nan])) for number in range(4)]
    error = output_error(signature(DType.FLOAT32, (1,)), 0, pairs)
    assert (error.max_abs, error.noise) == (math.inf, None)
