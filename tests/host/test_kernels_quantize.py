"""QUANTIZE and DEQUANTIZE against TFLite Micro, halves, saturation and in place included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.kernel_harness import (
    Case,
    Tensor,
    broken_rules,
    check_against,
    check_against_tflm,
    make_case,
    random_values,
    tensor,
)
from tflmgen.ir.kernel.call import Target

INTEGERS = [
    ("int8", "int8"),
    ("int8", "uint8"),
    ("int8", "int16"),
    ("int8", "int32"),
    ("uint8", "int8"),
    ("int16", "int8"),
    ("int16", "int16"),
    ("int16", "int32"),
    ("int32", "int8"),
    ("int32", "int16"),
]


def zero_point(dtype: str, rng: np.random.Generator) -> int:
    return int(rng.integers(*{"int8": (-128, 128), "uint8": (0, 256)}.get(dtype, (0, 1))))


@pytest.mark.parametrize(("source", "result"), INTEGERS)
def test_requantises_as_tflm(source: str, result: str) -> None:
    rng = np.random.default_rng(11)
    runs = []
    for number in range(12):
        scales = 10 ** rng.uniform(-4, 0, 2)
        elements = 300 if number % 2 else 30  # int8 with and without a table
        case = make_case(
            "QUANTIZE",
            [tensor(source, (elements,), scales[0], zero_point(source, rng))],
            [tensor(result, (), scales[1], zero_point(result, rng))],
        )
        runs.append((case, random_values(case, rng)))
    check_against_tflm(runs)


TARGETS = [Target("host"), Target("cortex-m0")]
"""Without an FPU floats are compared with thresholds."""


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.core)
@pytest.mark.parametrize("result", ["int8", "int16"])
def test_rounds_floats_as_tflm(result: str, target: Target) -> None:
    rng = np.random.default_rng(12)
    runs = []
    for scale, point in [(0.25, 3), (1.0, 0), (0.0078125, -128), (3e-3, 127), (11.7, -5)]:
        case = make_case(
            "QUANTIZE", [tensor("float32", (2000,))], [tensor(result, (), scale, point if result == "int8" else 0)]
        )
        case = replace(case, target=target)
        assert ("search" in case.kernel.function) == ((target.core, result) == ("cortex-m0", "int8"))
        halves = rng.integers(-300, 300, 1000) * 0.5 * scale
        next_floats = np.nextafter(np.float32(halves), np.float32(rng.choice([-9, 9], 1000)), dtype=np.float32)
        runs.append((case, [np.concatenate([np.float32(halves), next_floats])]))
    check_against_tflm(runs)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.core)
def test_floats_out_of_range_saturate(target: Target) -> None:
    values = np.tile(np.array([np.inf, -np.inf, 3e38, -3e38, 1e10, -1e10, np.nan, 0.0], np.float32), 20)
    runs, expected = [], []
    for dtype, least, greatest in [("int8", -128, 127), ("uint8", 0, 255), ("int16", -32768, 32767)]:
        case = make_case("QUANTIZE", [tensor("float32", (160,))], [tensor(dtype, (), 0.5, 5)])
        runs.append((replace(case, target=target), [values]))
        expected.append([np.tile([greatest, least, greatest, least, greatest, least, least, 5], 20)])
    check_against(runs, expected)


@pytest.mark.parametrize("source", ["int8", "uint8", "int16"])
def test_dequantizes_as_tflm(source: str) -> None:
    rng = np.random.default_rng(13)
    runs = []
    for scale in (0.1, 1e-5, 3.7):
        case = make_case(
            "DEQUANTIZE", [tensor(source, (3, 50), scale, zero_point(source, rng))], [tensor("float32", ())]
        )
        runs.append((case, random_values(case, rng)))
    check_against_tflm(runs, rtol=0, atol=0)


def test_every_half_float() -> None:
    values = np.arange(65536, dtype=np.uint16).view(np.float16)
    case = make_case("DEQUANTIZE", [tensor("float16", (65536,))], [tensor("float32", ())])
    check_against([(case, [values])], [[values.astype(np.float32)]], 0, 0)


def test_rules() -> None:
    def broken(source: Tensor, result: Tensor, operator: str = "QUANTIZE") -> list[str]:
        return broken_rules(Case(operator, (source,), (result.type,), {}))

    f, q = tensor("float32", (4,)), tensor("int8", (4,), 0.5)
    assert "quantised" in broken(f, tensor("int8", (4,)))[0]
    assert "quantised" in broken(tensor("int8", (4,)), q)[0]
    assert "one scale" in broken(f, tensor("int8", (4,), [0.5, 0.25, 1, 2]))[0]
    assert "2^30" in broken(q, tensor("int8", (4,), 1e-10))[0]
    assert "int32" in broken(f, tensor("int32", (4,), 0.5))[0]
    assert "quantised" in broken(tensor("int8", (4,)), f, "DEQUANTIZE")[0]
