"""SOFTMAX and LOG_SOFTMAX against TFLite Micro."""

from __future__ import annotations

import numpy as np
import pytest
from support.conv_cases import Run, pick
from support.kernel_harness import check_against_tflm, make_case, random_values, tensor

pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")

OUTPUTS = {
    "int8": tensor("int8", (), 1 / 256, -128),
    "int16": tensor("int16", (), 1 / 65536, -32768),
    "int16 of int16": tensor("int16", (), 1 / 32768),
    "float32": tensor("float32", ()),
}


PAIRS = [("int8", "int8"), ("int8", "int16"), ("int16", "int16"), ("float32", "float32")]


def softmax(rng: np.random.Generator, dtype: str, output: str) -> Run:
    shape = pick(rng, (1, int(rng.integers(1, 20))), (3, 7), (2, 3, 4), (5,), (2, 2, 2, 3), (1, 300))
    scale = float(pick(rng, 0.003, 0.05, 0.1, 0.7, 3.0)) if dtype == "int8" else None
    if dtype == "int16":
        scale, output = float(pick(rng, 1e-5, 0.0001, 0.0003, 0.002)), "int16 of int16"
    source = tensor(dtype, shape, scale, 5 if dtype == "int8" else 0)
    case = make_case("SOFTMAX", [source], [OUTPUTS[output]], {"beta": pick(rng, 1.0, 0.5, 2.5)})
    return case, random_values(case, rng)


@pytest.mark.parametrize(("dtype", "output"), PAIRS)
def test_random_cases(dtype: str, output: str) -> None:
    rng = np.random.default_rng(1)
    check_against_tflm([softmax(rng, dtype, output) for _ in range(30)])


@pytest.mark.parametrize("scale", [0.004, 0.0235, 0.1, 0.125, 1.0])
def test_every_difference(scale: float) -> None:
    """Each of the 256 exponentials decides an output of its own, at 16 bits."""
    case = make_case("SOFTMAX", [tensor("int8", (255, 2), scale, 0)], [OUTPUTS["int16"]], {"beta": 1.0})
    values = np.stack([np.full(255, 127), np.arange(-128, 127)], axis=1).astype(np.int8)
    check_against_tflm([(case, [values])])


def test_every_difference_of_int16() -> None:
    """Every number that the table of exponentials can give, and every sum of two of them."""
    case = make_case("SOFTMAX", [tensor("int16", (65536, 2), 10 / 65535)], [OUTPUTS["int16 of int16"]], {"beta": 1.0})
    values = np.stack([np.full(65536, 32767), np.arange(-32768, 32768)], axis=1).astype(np.int16)
    check_against_tflm([(case, [values])])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 106))
@pytest.mark.parametrize(("dtype", "output"), PAIRS)
def test_many_random_cases(dtype: str, output: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_against_tflm([softmax(rng, dtype, output) for _ in range(60)])


def log_softmax(rng: np.random.Generator, dtype: str) -> Run:
    shape = pick(rng, (1, int(rng.integers(1, 20))), (3, 7), (2, 3, 4), (5,), (1, 300))
    scale = float(pick(rng, 0.003, 0.05, 0.1, 0.7, 3.0)) if dtype == "int8" else None
    output = tensor("int8", (), 1 / 16, 127) if dtype == "int8" else tensor(dtype, ())
    case = make_case("LOG_SOFTMAX", [tensor(dtype, shape, scale, 5)], [output])
    return case, random_values(case, rng)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_random_cases_of_the_logarithm(dtype: str) -> None:
    rng = np.random.default_rng(1)
    check_against_tflm([log_softmax(rng, dtype) for _ in range(40)])


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 104))
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_many_random_cases_of_the_logarithm(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_against_tflm([log_softmax(rng, dtype) for _ in range(60)])
