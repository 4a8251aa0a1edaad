"""Comparisons, logical operators and CAST."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernel_harness import (
    HOST,
    Case,
    broken_rules,
    check_against,
    check_against_tflm,
    constant,
    make_case,
    random_values,
    tensor,
)
from tflmgen.ir.kernel.call import View
from tflmgen.kernels.table import OPERATORS

NUMPY = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
}
ORDER = ["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"]
SHAPES = [((60,), (60,)), ((4, 5, 3), (5, 1)), ((), (7,)), ((2, 1, 3, 1, 2, 1), (2, 1, 4, 1, 5))]
INTEGERS = ["int8", "uint8", "int16", "int32", "uint32", "int64", "bool"]


@pytest.mark.parametrize("operator", ORDER)
@pytest.mark.parametrize("dtype", ["float32", "int16", "int32", "int64"])
def test_plain_types(operator: str, dtype: str) -> None:
    rng = np.random.default_rng(23)
    runs, expected = [], []
    for first, second in SHAPES:
        case = make_case(operator, [tensor(dtype, first), tensor(dtype, second)], [tensor("bool", ())])
        numbers = np.array([-2, -1, 0, 1, 2, np.nan if dtype == "float32" else 3])
        values = [rng.choice(numbers, shape).astype(dtype) for shape in (first, second)]
        runs.append((case, values))
        expected.append([NUMPY[operator](*values)])
    check_against(runs, expected)


@pytest.mark.parametrize("operator", ["EQUAL", "NOT_EQUAL", "LOGICAL_AND", "LOGICAL_OR"])
def test_bool(operator: str) -> None:
    case = make_case(operator, [tensor("bool", (2, 2)), tensor("bool", (2, 2))], [tensor("bool", ())])
    values = [np.array([[False, False], [True, True]]), np.array([[False, True], [False, True]])]
    check_against([(case, values)], [[NUMPY[operator](*values)]])


@pytest.mark.parametrize("operator", ORDER)
def test_int8_as_tflm(operator: str) -> None:
    rng = np.random.default_rng(29)
    runs = []
    for i in range(16):
        first, second = SHAPES[i % 3]
        scales = 10 ** rng.uniform(-4, -0.01, 2)
        points = rng.integers(-128, 128, 2)
        if i % 2:
            scales[1], points[1] = scales[0], points[0]
        sides = [tensor("int8", s, scales[k], points[k]) for k, s in enumerate((first, second))]
        case = make_case(operator, sides, [tensor("bool", ())])
        runs.append((case, random_values(case, rng)))
    check_against_tflm(runs)


@pytest.mark.parametrize("source", [*INTEGERS, "float32"])
def test_casts(source: str) -> None:
    rng = np.random.default_rng(37)
    runs, expected = [], []
    for result in [*INTEGERS, "float32"]:
        case = make_case("CAST", [tensor(source, (5, 20))], [tensor(result, ())])
        values = random_values(case, rng)
        if source == "float32":
            values = [rng.uniform(0 if result[0] == "u" else -100, 100, (5, 20)).astype(np.float32)]
        assert not broken_rules(case)
        want = values[0].astype(result)  # type: ignore[union-attr]
        if isinstance(OPERATORS["CAST"].kernel(case.instance, HOST), View):
            np.testing.assert_array_equal(values[0].view(result), want)  # type: ignore[union-attr]
            continue
        runs.append((case, values))
        expected.append([want])
    check_against(runs, expected, 0, 0)


def test_casts_of_floats_out_of_range() -> None:
    values = np.array([np.inf, -np.inf, np.nan, 3e9, -3e9, 1e20, -1e20, 300.7, -1.9, 0.0], np.float32)
    big = [2**63 - 1, -(2**63)]
    wanted = {
        "int32": [2**31 - 1, -(2**31), 0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 300, -1, 0],
        "int64": [*big, 0, 3000000000, -3000000000, *big, 300, -1, 0],
        "uint8": [255, 0, 0, 255, 0, 255, 0, 44, 255, 0],
        "bool": [True] * 9 + [False],
    }
    runs = [(make_case("CAST", [tensor("float32", (10,))], [tensor(dtype, ())]), [values]) for dtype in wanted]
    check_against(runs, [[np.array(want, dtype)] for dtype, want in wanted.items()])


def test_rules() -> None:
    f, flags = tensor("float32", (4,)), tensor("bool", (4,))

    def broken(first, second, output, operator="LESS") -> str:  # type: ignore[no-untyped-def]
        return broken_rules(Case(operator, (first, second), (output.type,), {}))[0]

    assert "one type" in broken(f, tensor("int32", (4,)), flags)
    assert "output to be bool" in broken(f, f, f)
    assert "input to be" in broken(flags, flags, flags)
    assert "one scale for each" in broken(tensor("int8", (4,)), constant("int8", [3]), flags)
    assert "int16" in broken(tensor("int16", (4,), 1.0), tensor("int16", (4,), 2.0), flags)
    assert "at most 64" in broken(tensor("int8", (4,), 65), constant("int8", [3], 1.0), flags)
    assert "input to be bool" in broken(f, f, flags, "LOGICAL_OR")
