"""Convolutions and pools with explicit padding against TFLite Micro on an input that is padded already."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from support import conv_cases
from support.conv_cases import Run
from support.kernel_harness import broken_rules, check_against, run_tflm
from support.padded_cases import explicitly_padded

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")

OPERATORS: dict[str, Callable[[np.random.Generator, str], Run]] = {
    "conv2d": conv_cases.conv2d,
    "depthwise_conv2d": conv_cases.depthwise_conv2d,
    "max_pool2d": partial(conv_cases.pool2d, operator="MAX_POOL_2D"),
    "max_pool2d of zeros": partial(conv_cases.pool2d, operator="MAX_POOL_2D"),
    "average_pool2d of zeros": partial(conv_cases.pool2d, operator="AVERAGE_POOL_2D"),
}


def check(name: str, dtype: str, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [explicitly_padded(rng, OPERATORS[name](rng, dtype), name.endswith("zeros")) for _ in range(count)]
    pairs = [pair for pair in pairs if not broken_rules(pair[0][0])]
    assert len(pairs) > count // 2
    check_against([explicit for explicit, _ in pairs], [run_tflm(*padded) for _, padded in pairs])


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", OPERATORS)
def test_random_cases(name: str, dtype: str) -> None:
    check(name, dtype, 5, 25)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("name", OPERATORS)
def test_many_random_cases(name: str, dtype: str, seed: int) -> None:
    check(name, dtype, seed, 100)
