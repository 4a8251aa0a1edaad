"""Convolutions, matrix products and pools against TFLite Micro."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from support import conv_cases
from support.conv_cases import Run
from support.kernel_harness import check_against_tflm

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")

Make = Callable[[np.random.Generator, str], Run]

OPERATORS: dict[str, Make] = {
    "conv2d": conv_cases.conv2d,
    "depthwise_conv2d": conv_cases.depthwise_conv2d,
    "fully_connected": conv_cases.fully_connected,
    "average_pool2d": partial(conv_cases.pool2d, operator="AVERAGE_POOL_2D"),
    "max_pool2d": partial(conv_cases.pool2d, operator="MAX_POOL_2D"),
}


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", OPERATORS)
def test_random_cases(name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    check_against_tflm([OPERATORS[name](rng, dtype) for _ in range(25)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 108))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", OPERATORS)
def test_many_random_cases(name: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_against_tflm([OPERATORS[name](rng, dtype) for _ in range(50)])
