"""Functions of one element: every int8 and int16 value against TFLite Micro, floats against TFLite Micro or NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from support.kernel_harness import (
    Array,
    Case,
    broken_rules,
    check_against,
    check_against_tflm,
    make_case,
    random_values,
    run_kernels,
    tensor,
)

INT8 = np.arange(-128, 128).astype(np.int8)
INT16 = np.arange(-32768, 32768).astype(np.int16)
FIXED = {("TANH", "int8"): (1 / 128, 0), ("LOGISTIC", "int8"): (1 / 256, -128)}
FLOATS = (
    *("NEG", "ABS", "SQUARE", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "EXP", "RELU", "RELU6", "ELU", "TANH"),
    *("HARD_SWISH", "LOGISTIC", "LEAKY_RELU"),
)
NUMPY: dict[str, Callable[[Array], Array]] = {
    "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1),
    "RELU_0_TO_1": lambda x: np.clip(x, 0, 1),
    "SIGN": np.sign,
    "GELU": lambda x: np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(float)]),
}


def alpha(rng: np.random.Generator) -> dict[str, float]:
    return {"alpha": float(np.float32(rng.uniform(-0.5, 1.5)))}


@pytest.mark.parametrize("operator", FLOATS)
def test_float(operator: str) -> None:
    rng = np.random.default_rng(41)
    options = alpha(rng) if operator == "LEAKY_RELU" else {}
    case = make_case(operator, [tensor("float32", (2000,))], [tensor("float32", ())], options)
    edges = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 6.0, -3.0, 3.0, -9.0, 17.0, 30.0, -30.0, np.inf, -np.inf, np.nan]
    if operator in ("SIN", "COS"):
        edges = edges[:14]
    values = np.concatenate([rng.normal(size=2000 - len(edges)) * 6, edges]).astype(np.float32)
    check_against_tflm([(case, [values])], rtol=2e-7, atol=1e-37)


def units_away(operator: str, values: Array, exact: Array) -> float:
    """The largest distance of an operator's results from the exact ones, in units in their last place."""
    case = make_case(operator, [tensor("float32", values.shape)], [tensor("float32", ())])
    unit = np.spacing(np.abs(exact).astype(np.float32)).astype(float)
    ((actual,),) = run_kernels([(case, [values])])
    return float((np.abs(actual.astype(float) - exact) / unit).max())


def test_tanh_is_within_two_units() -> None:
    """The reference runtimes' own is up to 2.2 units away, so that both may differ by four."""
    case = make_case("TANH", [tensor("float32", (60000,))], [tensor("float32", ())])
    rng = np.random.default_rng(42)
    spread = rng.choice([-1, 1], 30000) * 10.0 ** rng.uniform(-9, 1.5, 30000)
    values = np.concatenate([spread, np.linspace(0.2, 1.2, 30000)]).astype(np.float32)
    assert units_away("TANH", values, np.tanh(values.astype(float))) <= 1.8
    check_against_tflm([(case, [values])], rtol=4e-7, atol=0)


def test_logistic_is_within_two_units() -> None:
    values = np.concatenate([np.linspace(-87, 20, 30000), np.linspace(-10, 3, 30000)]).astype(np.float32)
    x = values.astype(float)
    assert units_away("LOGISTIC", values, np.where(values < -9, np.exp(x), 1 / (1 + np.exp(-x)))) <= 2.0


def test_tanh_at_its_ends() -> None:
    case = make_case("TANH", [tensor("float32", (8,))], [tensor("float32", ())])
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-42, -9.2, 3e38], np.float32)
    wanted = np.array([0.0, -0.0, 1, -1, np.nan, 1e-42, -1, 1], np.float32)
    ((actual,),) = run_kernels([(case, [values])])
    np.testing.assert_array_equal(actual, wanted)
    assert np.signbit(actual[1])


@pytest.mark.parametrize("values", [np.linspace(-87, 88, 20000), np.linspace(-1e-3, 1e-3, 2000)], ids=["wide", "small"])
def test_exp_is_within_a_unit(values: np.ndarray) -> None:
    case = make_case("EXP", [tensor("float32", values.shape)], [tensor("float32", ())])
    x = values.astype(np.float32)
    check_against([(case, [x])], [[np.exp(x.astype(float))]], rtol=0.75 * 2.0**-23, atol=0)


@pytest.mark.parametrize("operator", ["SQRT", "RSQRT", "LOG"])
def test_float_of_positive(operator: str) -> None:
    case = make_case(operator, [tensor("float32", (1000,))], [tensor("float32", ())])
    values = np.exp(np.random.default_rng(43).normal(size=1000) * 9).astype(np.float32)
    check_against_tflm([(case, [values])], rtol=2e-7, atol=0)


@pytest.mark.parametrize("operator", list(NUMPY))
def test_float_that_tflm_lacks(operator: str) -> None:
    case = make_case(operator, [tensor("float32", (500,))], [tensor("float32", ())])
    values = (np.random.default_rng(47).normal(size=500) * 3).astype(np.float32)
    check_against([(case, [values])], [[NUMPY[operator](values)]], rtol=1e-5, atol=1e-7)


def test_gelu_by_tanh() -> None:
    x = np.linspace(-6, 6, 500).astype(np.float32)
    case = make_case("GELU", [tensor("float32", (500,))], [tensor("float32", ())], {"approximate": True})
    wide = x.astype(float)
    want = 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
    check_against([(case, [x])], [[want]], rtol=1e-5, atol=1e-6)


def test_plain_integers() -> None:
    rng = np.random.default_rng(53)
    runs, expected = [], []
    functions = {"NEG": np.negative, "ABS": np.abs, "SQUARE": np.square, "SIGN": np.sign}
    for operator, dtype in [
        ("NEG", "int32"),
        ("NEG", "int64"),
        ("ABS", "int32"),
        ("SQUARE", "int32"),
        ("SIGN", "int32"),
    ]:
        case = make_case(operator, [tensor(dtype, (50,))], [tensor(dtype, ())])
        values = random_values(case, rng)[0]
        assert values is not None
        values[:3] = [0, np.iinfo(dtype).min, -1]
        runs.append((case, [values]))
        expected.append([functions[operator](values)])
    flags = np.array([True, False])
    runs.append((make_case("LOGICAL_NOT", [tensor("bool", (2,))], [tensor("bool", ())]), [flags]))
    check_against(runs, [*expected, [~flags]])


@pytest.mark.parametrize("operator", ["TANH", "LOGISTIC", "RELU", "RELU6", "LEAKY_RELU", "ABS", "ELU", "HARD_SWISH"])
def test_every_int8(operator: str) -> None:
    rng = np.random.default_rng(59)
    runs: list[tuple[Case, list[Array | None]]] = []
    while len(runs) < 30:
        scales, points = 10 ** rng.uniform(-3, -0.3, 2), rng.integers(-128, 128, 2)
        if operator == "RELU6":
            scales[1], points[1] = scales[0], points[0]
        output = tensor("int8", (), *FIXED.get((operator, "int8"), (scales[1], points[1])))
        options = alpha(rng) if operator == "LEAKY_RELU" else {}
        case = make_case(operator, [tensor("int8", (256,), scales[0], points[0])], [output], options)
        if not broken_rules(case):
            runs.append((case, [INT8]))
    check_against_tflm(runs)


def test_every_int8_of_rsqrt() -> None:
    rng = np.random.default_rng(61)
    runs = []
    for _ in range(20):
        point = int(rng.integers(-128, 100))
        source = tensor("int8", (127 - point,), 10 ** rng.uniform(-3, 0), point)
        case = make_case(
            "RSQRT", [source], [tensor("int8", (), 10 ** rng.uniform(-2, 0), int(rng.integers(-128, 128)))]
        )
        runs.append((case, [np.arange(point + 1, 128).astype(np.int8)]))
    check_against_tflm(runs)


@pytest.mark.parametrize("operator", ["RELU", "RELU6", "LEAKY_RELU", "ABS", "TANH", "LOGISTIC"])
def test_every_int16(operator: str) -> None:
    rng = np.random.default_rng(67)
    runs = []
    for scale in (2**-12, 2**-11, 2**-15, 3e-4, 1e-2, 7e-5):
        output = 2**-15 if operator in ("TANH", "LOGISTIC") else scale * rng.uniform(0.5, 2)
        if operator == "RELU6":
            output = scale
        options = alpha(rng) if operator == "LEAKY_RELU" else {}
        case = make_case(operator, [tensor("int16", (65536,), scale)], [tensor("int16", (), output)], options)
        runs.append((case, [INT16]))
    check_against_tflm(runs)


def test_every_positive_int16_of_rsqrt() -> None:
    runs = []
    for scales in [(3e-4, 1e-3), (1e-2, 1e-2), (2**-15, 2**-8)]:
        case = make_case("RSQRT", [tensor("int16", (32767,), scales[0])], [tensor("int16", (), scales[1])])
        runs.append((case, [np.arange(1, 32768).astype(np.int16)]))
    check_against_tflm(runs)


def test_rsqrt_of_what_has_no_root_is_the_greatest() -> None:
    for dtype, greatest in (("int8", 127), ("int16", 32767)):
        case = make_case("RSQRT", [tensor(dtype, (3,), 0.1)], [tensor(dtype, (), 0.1)])
        values = np.array([-5, 0, -1]).astype(dtype)
        check_against([(case, [values])], [[np.full(3, greatest)]])


def test_rules() -> None:
    def broken(operator: str, source, result, **options) -> str:  # type: ignore[no-untyped-def]
        return broken_rules(Case(operator, (source,), (result.type,), options))[0]

    q = tensor("int8", (4,), 0.5)
    assert "float32" in broken("SIN", q, q)
    assert "1/128" in broken("TANH", q, q)
    assert "1/256" in broken("LOGISTIC", q, tensor("int8", (4,), 1 / 256, 0))
    assert "one scale for each" in broken("RELU", tensor("int8", (4,)), q)
    assert "zero point 0 for int16" in broken("RELU", tensor("int16", (4,), 1.0, 5), tensor("int16", (4,), 1.0))
    assert "6/32767" in broken("RELU6", tensor("int16", (4,), 1.0), tensor("int16", (4,), 0.5))
    assert "slope" in broken("LEAKY_RELU", q, q, alpha=math.inf)
    assert "128 times" in broken("HARD_SWISH", q, tensor("int8", (4,), 0.001))
    assert "11 bits" in broken("RSQRT", q, tensor("int8", (4,), 1e6))
