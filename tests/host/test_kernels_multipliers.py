"""Multipliers are made of scales in double precision: cases that single precision gets wrong, against TFLite Micro."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.conv_cases import Run
from support.kernel_harness import check_against_tflm, constant, make_case, random_values, tensor
from support.recurrent_runs import check_steps, tflm_steps
from tflmgen.kernels.numeric.fixed_point import requantize
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")

Scales = tuple[float, float, float]


def scales(rng: np.random.Generator) -> Iterator[Scales]:
    """Random scales of two factors and of their product."""
    while True:
        drawn = rng.uniform(1e-4, 1e-3), rng.uniform(0.001, 0.05), rng.uniform(1e-3, 1e-2)
        a, b, c = (float(np.float32(value)) for value in drawn)
        yield a, b, c


def both(a: float, b: float, c: float) -> tuple[tuple[int, int], tuple[int, int]]:
    """(multiplier, shift) with the product of scales in double and in single precision."""
    return quantize_multiplier(a * b / c), quantize_multiplier(float(np.float32(a) * np.float32(b)) / c)


def sums_that_differ(a: float, b: float, c: float) -> list[int]:
    double, single = both(a, b, c)
    halves = (int((k + 0.5) / (a * b / c)) for k in range(-120, 120))
    candidates = (half + d for half in halves for d in range(-3, 4))
    return [s for s in candidates if requantize(s, *double) != requantize(s, *single)]


def wide_differ(chosen: Scales) -> bool:
    """Whether the multipliers differ in the 16 bits that sums of 64 bits are multiplied by."""
    double, single = both(*chosen)
    return (double[0] + 0x8000) >> 16 != (single[0] + 0x8000) >> 16


def test_int8_fully_connected() -> None:
    rng = np.random.default_rng(5)
    runs: list[Run] = []
    for a, b, c in scales(rng):
        sums = sums_that_differ(a, b, c)
        if len(sums) > 5:
            weights, biases = constant("int8", np.ones((len(sums), 2)), b), constant("int32", sums, a * b)
            case = make_case("FULLY_CONNECTED", [tensor("int8", (1, 2), a), weights, biases], [tensor("int8", (), c)])
            runs.append((case, [np.zeros((1, 2), np.int8), None, None]))
        if len(runs) == 5:
            break
    check_against_tflm(runs)


def test_svdf_output() -> None:
    """The state stays zero, so that the biases alone are requantised."""
    rng = np.random.default_rng(5)
    runs = []
    for a, b, c in scales(rng):
        sums = sums_that_differ(a, b, c)
        if len(sums) > 5:
            count = len(sums)
            weights = [constant("int8", np.ones((count, 2)), 0.01), constant("int16", np.zeros((count, 2)), b)]
            held = tensor("int16", (1, 2 * count), a)
            tensors = [tensor("int8", (1, 2), 0.1), *weights, constant("int32", sums, a * b), held]
            case = make_case("SVDF", tensors, [tensor("int8", (), c)], {"rank": 1})
            runs.append((case, [np.zeros((1, 2), np.int8)]))
        if len(runs) == 5:
            break
    check_steps(runs, tflm_steps)


def test_int16_fully_connected_and_batch_matmul() -> None:
    rng = np.random.default_rng(5)
    differing = filter(wide_differ, scales(rng))
    runs: list[Run] = []
    for _ in range(3):
        a, b, c = next(differing)
        weights = constant("int8", rng.integers(-127, 128, (40, 20)), b)
        case = make_case("FULLY_CONNECTED", [tensor("int16", (60, 20), a), weights, None], [tensor("int16", (), c)])
        runs.append((case, random_values(case, rng)))
        factors = [tensor("int16", (30, 20), a), tensor("int16", (20, 40), b)]
        case = make_case("BATCH_MATMUL", factors, [tensor("int16", (), c)])
        runs.append((case, random_values(case, rng)))
    check_against_tflm(runs)
