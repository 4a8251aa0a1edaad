"""Convolutions, matrix products and pools against TFLite Micro."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support import conv_cases
from support.conv_cases import Run, with_int4_filter
from support.kernel_harness import Tensor, check_against, check_against_tflm, run_tflm
from tflmgen.types import DType

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")

Make = Callable[[np.random.Generator, str], Run]

OPERATORS: dict[str, Make] = {
    "conv2d": conv_cases.conv2d,
    "depthwise_conv2d": conv_cases.depthwise_conv2d,
    "fully_connected": conv_cases.fully_connected,
    "average_pool2d": partial(conv_cases.pool2d, operator="AVERAGE_POOL_2D"),
    "max_pool2d": partial(conv_cases.pool2d, operator="MAX_POOL_2D"),
}

WEIGHTED = [case.__name__ for case in conv_cases.WEIGHTED]


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", OPERATORS)
def test_random_cases(name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    check_against_tflm([OPERATORS[name](rng, dtype) for _ in range(25)])


def check_int4(runs: list[Run]) -> None:
    """TFLite Micro takes int4 beside int8, but in FULLY_CONNECTED no scales per channel; int8 does for the rest."""
    expected = []
    for case, values in runs:
        source, weights, *rest = case.inputs
        assert source
        assert weights
        assert weights.type.quantization
        per_row = case.operator == "FULLY_CONNECTED" and weights.type.quantization.per_channel
        if per_row or source.type.dtype is not DType.INT8:
            wide = Tensor(replace(weights.type, dtype=DType.INT8), weights.data)
            expected.append(run_tflm(replace(case, inputs=(source, wide, *rest)), values))
        else:
            expected.append(run_tflm(case, values))
    check_against(runs, expected)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_random_cases_of_int4_filters(name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    check_int4([with_int4_filter(rng, OPERATORS[name](rng, dtype)) for _ in range(25)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 108))
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_many_random_cases_of_int4_filters(name: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_int4([with_int4_filter(rng, OPERATORS[name](rng, dtype)) for _ in range(50)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 108))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", OPERATORS)
def test_many_random_cases(name: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_against_tflm([OPERATORS[name](rng, dtype) for _ in range(50)])
