"""Scale and zero point from histograms: TFLite's rules, and ranges that are better than minimum and maximum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.quantize_models import f32
from tflmgen.ir import DType
from tflmgen.quantize.range_choice import (
    RangeMethod,
    affine_for,
    affine_of,
    choose_range,
    clipped_share,
    sqnr_db,
    squared_error,
)
from tflmgen.quantize.statistics import TensorStatistics, statistics_of

INT8, INT16 = DType.INT8, DType.INT16
MIN_MAX, PERCENTILE, MSE = RangeMethod.MIN_MAX, RangeMethod.PERCENTILE, RangeMethod.MSE


def measured(values: NDArray[Any]) -> TensorStatistics:
    statistics = statistics_of(values)
    assert statistics is not None
    return statistics


@pytest.mark.parametrize(
    ("low", "high", "scale", "zero_point"),
    [
        (0, 255, 1.0, -128),  # as after a ReLU
        (-128, 127, 1.0, 0),
        (-1, 0, 1 / 255, 127),
        (3, 5.1, 0.02, -128),  # widened to include 0
        (-0.6, 254.4, 1.0, -127),  # the zero point is nudged: -127.4
        (-5.1, -3, 0.02, 127),
        (0, 0, 2.0**-23, 127),
    ],
)
def test_the_zero_point_is_nudged_to_an_integer(low: float, high: float, scale: float, zero_point: int) -> None:
    affine = affine_for(low, high, INT8, symmetric=False)
    assert affine.scale == pytest.approx(scale, rel=1e-6)
    assert (affine.zero_point, affine.low, affine.high) == (zero_point, -128, 127)


def test_int16_is_symmetric() -> None:
    scale, zero_point = choose_range(measured(f32([-2, 1])), INT16)
    assert scale == pytest.approx(2 / 32767, rel=1e-6)
    assert zero_point == 0
    assert affine_of(scale, 0, INT16).bounds == pytest.approx((-2, 2), rel=1e-6)


def test_scales_are_numbers_of_float32() -> None:
    scale, _ = choose_range(measured(f32([-0.1, 0.7])), INT8)
    assert scale == float(np.float32(scale))


def test_a_tensor_of_zeros_has_a_scale() -> None:
    for dtype in (INT8, INT16):
        for method in RangeMethod:
            assert choose_range(measured(f32([0, 0, -0.0])), dtype, method)[0] == 2.0**-23


SAMPLES: dict[str, Callable[[np.random.Generator], NDArray[Any]]] = {
    "normal": lambda rng: rng.normal(0, 1, 8000),
    "laplace": lambda rng: rng.laplace(0, 1, 8000),
    "relu": lambda rng: np.maximum(rng.normal(0, 3, 8000), 0),
    "outlier": lambda rng: np.append(rng.normal(0, 1, 8000), [4000]),
    "shifted": lambda rng: rng.normal(5, 1, 8000),
    "tiny": lambda rng: rng.normal(0, 1e-9, 8000),
    "masked": lambda rng: np.append(rng.uniform(-1, 1, 8000), [-1e9]),
}


def error_of(values: NDArray[Any], scale: float, zero_point: int, dtype: DType) -> float:
    affine = affine_of(scale, zero_point, dtype)
    quantised = np.clip(np.round(values / scale) + zero_point, affine.low, affine.high)
    return float(((values - scale * (quantised - zero_point)) ** 2).sum())


@pytest.mark.parametrize("dtype", [INT8, INT16])
@pytest.mark.parametrize("name", SAMPLES)
def test_errors_by_histogram_are_those_of_the_values(name: str, dtype: DType) -> None:
    """The search rests on them: within 5 % of the error that the values themselves have.

    Of int16 little is clipped: single values, of which the histogram knows the bin alone; their error is within 2 dB.
    """
    values = SAMPLES[name](np.random.default_rng(1)).astype(np.float32)
    statistics = measured(values)
    for method in RangeMethod:
        scale, zero_point = choose_range(statistics, dtype, method)
        bound = 0.05 if dtype is INT8 or method is MIN_MAX else 0.37
        exact = error_of(values.astype(np.float64), scale, zero_point, dtype)
        assert squared_error(statistics, affine_of(scale, zero_point, dtype)) == pytest.approx(exact, rel=bound)


@pytest.mark.parametrize("dtype", [INT8, INT16])
@pytest.mark.parametrize("name", SAMPLES)
def test_least_squared_error_is_not_beaten(name: str, dtype: DType) -> None:
    values = SAMPLES[name](np.random.default_rng(2)).astype(np.float32)
    statistics = measured(values)
    errors = {}
    for method in RangeMethod:
        errors[method] = error_of(values.astype(np.float64), *choose_range(statistics, dtype, method), dtype)
    assert errors[MSE] <= 1.02 * min(errors[MIN_MAX], errors[PERCENTILE])
    brute = min(
        error_of(values.astype(np.float64), a.scale, a.zero_point, dtype)
        for low in np.linspace(0.04, 1, 13)
        for high in np.linspace(0.04, 1, 13)
        for a in [affine_for(low * values.min(), high * values.max(), dtype, dtype is INT16)]
    )
    assert errors[MSE] <= 1.1 * brute


def test_an_outlier_is_clipped_by_percentile_and_by_squared_error_of_int8() -> None:
    values = f32(np.append(np.random.default_rng(3).normal(0, 1, 100_000), [30, -30]))
    statistics = measured(values)
    ranges = {method: affine_of(*choose_range(statistics, INT8, method), INT8) for method in RangeMethod}
    assert ranges[MIN_MAX].bounds[1] == pytest.approx(30, rel=0.02)
    assert clipped_share(statistics, ranges[MIN_MAX]) == 0
    assert ranges[PERCENTILE].bounds[1] < 6
    assert ranges[MSE].bounds[1] < 25
    for method in (PERCENTILE, MSE):
        assert 0 < clipped_share(statistics, ranges[method]) < 2.5e-4
    assert sqnr_db(statistics, ranges[MSE]) > sqnr_db(statistics, ranges[MIN_MAX]) + 0.5


def test_sqnr_of_a_full_scale_uniform_signal() -> None:
    """6.02 dB per bit: 48.2 for 8 bits."""
    statistics = measured(f32(np.random.default_rng(4).uniform(-1, 1, 200_000)))
    affine = affine_of(*choose_range(statistics, INT8), INT8)
    assert sqnr_db(statistics, affine) == pytest.approx(48.2, abs=0.3)
    assert sqnr_db(measured(f32([0, 0])), affine) == float("inf")
