"""DIV, FLOOR_DIV, FLOOR_MOD, POW, SQUARED_DIFFERENCE, PRELU, BITWISE_XOR, RIGHT_SHIFT."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.kernel_harness import (
    Array,
    Case,
    broken_rules,
    check_against,
    check_against_tflm,
    constant,
    make_case,
    random_values,
    run_tflm,
    tensor,
)
from support.present import present

SHAPES = [((50,), (50,)), ((4, 5, 3), (5, 1)), ((7,), ()), ((2, 1, 3, 1), (1, 4, 1, 5))]
FULL = [-(2**31), -(2**31) + 1, -7, -1, 0, 1, 7, 2**31 - 1]


@pytest.mark.parametrize("activation", [0, 1, 3])
def test_div_float(activation: int) -> None:
    rng = np.random.default_rng(71)
    runs = []
    for first, second in SHAPES:
        sides = [tensor("float32", first), tensor("float32", second)]
        case = make_case("DIV", sides, [tensor("float32", ())], {"fused_activation_function": activation})
        runs.append((case, random_values(case, rng)))
    runs[0][1][1][:4] = [0.0, -0.0, np.inf, np.nan]  # type: ignore[index]
    check_against_tflm(runs, 0, 0)


def test_div_int8() -> None:
    """Quotients under half a step are 0 here; TFLite Micro shifts them by more than 31 bits, which gives anything."""
    rng = np.random.default_rng(70)
    runs, expected = [], []
    for activation in (0, 1, 3) * 6:
        scales, points = 10 ** rng.uniform(-2, 0, 3), rng.integers(-128, 128, 3)
        inputs = [tensor("int8", (256, 1), scales[0], points[0]), tensor("int8", (255,), scales[1], points[1])]
        output = tensor("int8", (), scales[2], points[2])
        case = make_case("DIV", inputs, [output], {"fused_activation_function": activation})
        numbers = np.arange(-128, 128, dtype=np.int8)
        values = [numbers.reshape(256, 1), np.delete(numbers, points[1] + 128)]
        steps = (values[0] - points[0]) / (values[1] - points[1]) * scales[0] / (scales[1] * scales[2])
        runs.append((case, values))
        expected.append([np.where(abs(steps) < 0.49, clamped_zero(case), run_tflm(case, values)[0])])
    check_against(runs, expected)


def clamped_zero(case: Case) -> int:
    fields = dict(case.kernel.params.fields)  # type: ignore[union-attr]
    return int(np.clip(fields["output_offset"], fields["least"], fields["greatest"]))


def test_div_int8_by_zero_gives_the_zero_point() -> None:
    inputs = [tensor("int8", (2,), 0.5, 3), tensor("int8", (2,), 0.5, -7)]
    case = make_case("DIV", inputs, [tensor("int8", (), 0.5, 11)])
    check_against([(case, [np.array([5, 3], np.int8), np.array([-7, -7], np.int8)])], [[np.array([11, 11])]])


def test_div_int32() -> None:
    case = make_case("DIV", [tensor("int32", (8, 1)), tensor("int32", (8,))], [tensor("int32", ())])
    first, second = np.array(FULL, np.int32).reshape(8, 1), np.array(FULL, np.int32)
    want = [[0 if b == 0 else int(math.copysign(1, a * b)) * (abs(a) // abs(b)) for b in FULL] for a in FULL]
    wrapped = np.array(want, np.int64).astype(np.int32)
    check_against([(case, [first, second])], [[wrapped]])


@pytest.mark.parametrize("operator", ["FLOOR_DIV", "FLOOR_MOD"])
def test_floor_float(operator: str) -> None:
    rng = np.random.default_rng(73)
    runs = []
    for first, second in SHAPES:
        case = make_case(operator, [tensor("float32", first), tensor("float32", second)], [tensor("float32", ())])
        values = present(random_values(case, rng))
        runs.append((case, [values[0] * 100, values[1]]))
    check_against_tflm(runs, 0, 0)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_floor_integers(dtype: str) -> None:
    info = np.iinfo(dtype)
    numbers = [info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 7, info.max]
    first, second = np.array(numbers, dtype).reshape(10, 1), np.array(numbers, dtype)
    sides = [tensor(dtype, (10, 1)), tensor(dtype, (10,))]
    quotients = np.array([[0 if b == 0 else a // b for b in numbers] for a in map(int, numbers)], object)
    wrapped = np.where(quotients == -info.min, info.min, quotients).astype(dtype)
    rests = np.array([[0 if b == 0 else int(a) % int(b) for b in numbers] for a in numbers], dtype)
    runs = [(make_case(op, sides, [tensor(dtype, ())]), [first, second]) for op in ("FLOOR_DIV", "FLOOR_MOD")]
    check_against(runs, [[wrapped], [rests]])


def test_pow() -> None:
    x = np.linspace(0.1, 5, 40).astype(np.float32)
    y = np.linspace(-3, 3, 40).astype(np.float32)
    integers = (
        np.array([[2, -3, 1, -1, 0, 7, -1, 2, 5]], np.int32),
        np.array([[5, 3, -4, -3, 0, 13, -4, -1, 0]], np.int32),
    )
    runs: list[tuple[Case, list[Array | None]]] = [
        (make_case("POW", [tensor("float32", (40,))] * 2, [tensor("float32", ())]), [x, y]),
        (make_case("POW", [tensor("int32", (1, 9))] * 2, [tensor("int32", ())]), list(integers)),
    ]
    wrapped = np.array([[32, -27, 1, -1, 1, 7**13, 1, 0, 1]], np.int64).astype(np.int32)
    check_against(runs, [[np.power(x.astype(float), y)], [wrapped]], rtol=1e-6)


def test_atan2() -> None:
    y, x = np.meshgrid(*[np.array([-2.5, -1, -0.0, 0.0, 1, 3], np.float32)] * 2)
    case = make_case("ATAN2", [tensor("float32", (6, 6))] * 2, [tensor("float32", ())])
    check_against([(case, [y, x])], [[np.arctan2(y.astype(float), x)]], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
def test_squared_difference(dtype: str) -> None:
    rng = np.random.default_rng(79)
    runs = []
    for first, second in SHAPES * 3:
        q = [(s, int(rng.integers(-128, 128)) if dtype == "int8" else 0) for s in 10 ** rng.uniform(-3, 0, 3)]
        if dtype in ("int32", "float32"):
            q = [()] * 3  # type: ignore[list-item]
        case = make_case(
            "SQUARED_DIFFERENCE",
            [tensor(dtype, first, *q[0]), tensor(dtype, second, *q[1])],
            [tensor(dtype, (), *q[2])],
        )
        values = present(random_values(case, rng))
        runs.append((case, [v >> 17 if dtype == "int32" else v for v in values]))
    check_against_tflm(runs, 0, 0)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_prelu(dtype: str) -> None:
    rng = np.random.default_rng(83)
    runs = []
    for shape, slopes in [((50,), (50,)), ((1, 4, 5, 3), (1, 1, 3)), ((2, 6), (1,))]:
        q = [(s, int(rng.integers(-128, 128))) if dtype == "int8" else () for s in 10 ** rng.uniform(-3, 0, 3)]
        case = make_case(
            "PRELU", [tensor(dtype, shape, *q[0]), tensor(dtype, slopes, *q[1])], [tensor(dtype, (), *q[2])]
        )
        runs.append((case, random_values(case, rng)))
    check_against_tflm(runs, 0, 0)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_bits(dtype: str) -> None:
    rng = np.random.default_rng(89)
    sides = [tensor(dtype, (30,)), tensor(dtype, (30,))]
    xor, shift = (make_case(op, sides, [tensor(dtype, ())]) for op in ("BITWISE_XOR", "RIGHT_SHIFT"))
    first, second = present(random_values(xor, rng))
    counts = np.resize(np.array([-1, 0, 1, 5, 7, 100], dtype), 30)
    bits = np.iinfo(dtype).bits - 1
    want = first >> np.clip(counts, 0, bits).astype(dtype)
    check_against([(xor, [first, second]), (shift, [first, counts])], [[first ^ second], [want]])


def test_rules() -> None:
    i, f = tensor("int32", (4,)), tensor("float32", (4,))

    def broken(operator: str, first, second, output) -> list[str]:  # type: ignore[no-untyped-def]
        return broken_rules(Case(operator, (first, second), (output.type,), {}))

    for operator in ("DIV", "FLOOR_DIV", "FLOOR_MOD"):
        assert "constant 0" in broken(operator, i, constant("int32", [1, 0, 2, 3]), i)[0]
        assert not broken(operator, f, constant("float32", [1, 0, 2, 3]), f)
    q = tensor("int8", (4,), 0.5, 3)
    assert "constant 0" in broken("DIV", q, constant("int8", [0, 1, 2, 3], 0.5, 3), q)[0]
    assert "2^22" in broken("DIV", q, q, tensor("int8", (4,), 1e-8))[0]
    assert "slopes" in broken("PRELU", tensor("float32", (1,)), f, f)[0]
    q = tensor("int8", (4,), 0.5)
    assert "2^28" in broken("SQUARED_DIFFERENCE", q, q, tensor("int8", (4,), 1e-15))[0]
    assert "one scale and zero point" in broken("MAXIMUM", q, tensor("int8", (4,), 0.25), q)[0]
