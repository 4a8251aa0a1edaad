"""ADD, SUB, MUL against TFLite Micro: types, broadcasting, activations, scales, in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.kernel_harness import (
    Case,
    Tensor,
    broken_rules,
    check_against,
    check_against_tflm,
    constant,
    make_case,
    random_values,
    tensor,
)
from support.present import present

SHAPES = [
    ((7,), (7,)),
    ((2, 3, 4), (2, 3, 4)),
    ((2, 3, 4), (4,)),
    ((2, 3, 4), (1,)),
    ((), (3, 2)),
    ((1, 5, 1, 3), (2, 1, 4, 3)),
    ((4, 1), (1, 6)),
    ((2, 1, 3, 1), (2, 4, 1, 5)),
]


def quantized(dtype: str, shape: tuple[int, ...], rng: np.random.Generator, greatest: float = 1.0):  # type: ignore[no-untyped-def]
    point = int(rng.integers(-128, 128)) if dtype == "int8" else 0
    return tensor(dtype, shape, float(10 ** rng.uniform(-4, np.log10(greatest))), point)


def cases(operator: str, dtype: str, seed: int, rounds: int) -> list[tuple[Case, list[np.ndarray | None]]]:
    rng = np.random.default_rng(seed)
    runs = []
    for shape1, shape2 in SHAPES * rounds:
        if dtype in ("int8", "int16"):
            first, second = quantized(dtype, shape1, rng), quantized(dtype, shape2, rng)
            output = quantized(dtype, (), rng)
        else:
            first, second, output = tensor(dtype, shape1), tensor(dtype, shape2), tensor(dtype, ())
        # TFLite Micro forgets the activation of an int32 ADD.
        activation = 0 if dtype == "int32" else int(rng.integers(0, 4))
        case = make_case(operator, [first, second], [output], {"fused_activation_function": activation})
        values = random_values(case, rng)
        if dtype == "float32":
            values = [v * np.float32(4) for v in values if v is not None]
        runs.append((case, values))
    return runs


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
@pytest.mark.parametrize("operator", ["ADD", "SUB", "MUL"])
def test_equals_tflm(operator: str, dtype: str) -> None:
    if (operator, dtype) == ("SUB", "int32"):
        pytest.skip("TFLite Micro's SUB has no int32")
    check_against_tflm(cases(operator, dtype, 7, 3), rtol=0, atol=0)


def test_wide_integers_wrap() -> None:
    rng = np.random.default_rng(3)
    runs, expected = [], []
    functions = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}
    for operator, function in functions.items():
        for dtype in ("int32", "int64"):
            case = make_case(operator, [tensor(dtype, (5, 4)), tensor(dtype, (4,))], [tensor(dtype, ())])
            values = random_values(case, rng)
            runs.append((case, values))
            expected.append([function(*present(values))])
    check_against(runs, expected)


def test_int32_activation() -> None:
    values = np.array([-5, -1, 0, 1, 5, 6, 7], np.int32)
    runs, expected = [], []
    for code, least, greatest in [(1, 0, 2**31 - 1), (2, -1, 1), (3, 0, 6)]:
        sides = [tensor("int32", (7,)), constant("int32", [1])]
        case = make_case("MUL", sides, [tensor("int32", ())], {"fused_activation_function": code})
        runs.append((case, [values, None]))
        expected.append([np.clip(values, least, greatest)])
    check_against(runs, expected)


def test_constant_operand_and_extreme_scales() -> None:
    rng = np.random.default_rng(5)
    runs = []
    for scales in [(1e-3, 8.0, 1.0), (2.0, 2.0, 1e-4), (0.5, 0.5, 0.5), (1e-6, 1e-6, 1e-6), (100.0, 1e-6, 3.0)]:
        values = rng.integers(-128, 128, (3, 4))
        inputs = [tensor("int8", (2, 3, 4), scales[0], -128), constant("int8", values, scales[1], 127)]
        for operator in ("ADD", "SUB", "MUL"):
            case = make_case(operator, inputs, [tensor("int8", (), scales[2], 3)])
            runs.append((case, random_values(case, rng)))
    check_against_tflm(runs)


def test_rules() -> None:
    def broken(first: Tensor, second: Tensor, output: Tensor, operator: str = "ADD", **options: Any) -> list[str]:
        inputs = (first, second)
        return broken_rules(Case(operator, inputs, (output.type,), options))

    f = tensor("float32", (4,))
    q = tensor("int8", (4,), 0.5)
    assert not broken(f, f, f)
    assert "int8" in broken(f, q, f)[0]
    assert "shapes" in broken(f, tensor("float32", (3,)), f)[0]
    assert "one scale for each" in broken(q, q, tensor("int8", (4,)))[0]
    assert "2^-19" in broken(q, q, tensor("int8", (4,), 1e-9))[0]
    assert "2^30" in broken(q, q, tensor("int8", (4,), 1e-12), "MUL")[0]
    w = tensor("int64", (4,))
    assert "int64" in broken(w, w, w, fused_activation_function=1)[0]
    with pytest.raises(ValueError, match="tanh"):
        broken(f, f, f, fused_activation_function=4)


@pytest.mark.parametrize("operator", ["ADD", "SUB", "MUL"])
def test_infinities_and_overflow_equal_tflm(operator: str) -> None:
    rng = np.random.default_rng(3)
    odd = np.array([np.inf, -np.inf, np.nan, 3.4e38, -3.4e38, 2e19, 1.0, 0.0], np.float32)
    runs = []
    for activation, shapes in ((a, s) for a in (0, 1, 3) for s in SHAPES):
        case = make_case(
            operator,
            [tensor("float32", s) for s in shapes],
            [tensor("float32", ())],
            {"fused_activation_function": activation},
        )
        for share in (0.1, 0.9):
            values = [
                np.where(rng.random(s) < share, rng.choice(odd, s), rng.normal(size=s)).astype(np.float32)
                for s in shapes
            ]
            runs.append((case, values))
    check_against_tflm(runs, rtol=0, atol=0)
