"""ARG_MAX, ARG_MIN, CUMSUM, TOPK_V2, ONE_HOT, L2_NORMALIZATION, ADD_N, and operators that make tensors."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernel_harness import (
    Array,
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
from support.litert import run_litert

SHAPES = [((7,), 0), ((3, 5), 1), ((3, 5), 0), ((2, 3, 4, 2), -3)]


def typed(dtype: str, shape: tuple[int, ...], scale: float = 0.5, point: int = -3) -> Tensor:
    return tensor(dtype, shape, *((scale, point) if dtype == "int8" else (scale,) if dtype == "int16" else ()))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32"])
@pytest.mark.parametrize("operator", ["ARG_MAX", "ARG_MIN"])
def test_arg(operator: str, dtype: str) -> None:
    rng = np.random.default_rng(151)
    runs, expected = [], []
    for shape, axis in SHAPES:
        for result in ("int32", "int64"):
            case = make_case(
                operator,
                [typed(dtype, shape), constant("int32", axis)],
                [tensor(result, ())],
                {"output_type": 2 if result == "int32" else 4},
            )
            values = rng.integers(0, 4, shape).astype(dtype)
            runs.append((case, [values, None]))
            expected.append([(np.argmax if operator == "ARG_MAX" else np.argmin)(values, axis)])
    check_against(runs, expected)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumsum(exclusive: bool, reverse: bool) -> None:
    rng = np.random.default_rng(157)
    options = {"exclusive": exclusive, "reverse": reverse}
    runs = []
    for shape, axis in SHAPES:
        for point in (0, -20):
            inputs = [typed("int8", shape, 0.01, point), constant("int32", axis)]
            case = make_case("CUMSUM", inputs, [typed("int8", (), 0.05, 7)], options)
            runs.append((case, random_values(case, rng)))
        case = make_case(
            "CUMSUM", [tensor("float32", shape), constant("int32", axis)], [tensor("float32", ())], options
        )
        runs.append((case, random_values(case, rng)))
    check_against_tflm(runs, 1e-6, 1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_cumsum_wraps(dtype: str) -> None:
    case = make_case("CUMSUM", [tensor(dtype, (3, 5)), constant("int32", 1)], [tensor(dtype, ())])
    values = random_values(case, np.random.default_rng(163))
    check_against([(case, values)], [[np.cumsum(values[0], 1, dtype)]])  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float32"])
def test_top_k(dtype: str) -> None:
    rng = np.random.default_rng(167)
    runs, expected = [], []
    for shape, k in [((9,), 3), ((4, 6), 6), ((2, 3, 8), 1)]:
        case = make_case(
            "TOPK_V2", [typed(dtype, shape), constant("int32", k)], [typed(dtype, ()), tensor("int32", ())]
        )
        values = rng.integers(-3, 4, shape).astype(dtype)
        order = np.argsort(-values.astype(np.int64), axis=-1, kind="stable")[..., :k]
        runs.append((case, [values, None]))
        expected.append([np.take_along_axis(values, order, -1), order])
    check_against(runs, expected)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "int64", "bool"])
def test_one_hot(dtype: str) -> None:
    indices = np.array([[0, 2, -1], [3, 4, 1]])
    runs, expected = [], []
    for axis, index_type in [(-1, "int32"), (0, "int64"), (1, "int32")]:
        on, off = constant(dtype, 1), constant(dtype, 0)
        case = make_case(
            "ONE_HOT", [tensor(index_type, (2, 3)), constant("int32", 4), on, off], [tensor(dtype, ())], {"axis": axis}
        )
        runs.append((case, [indices.astype(index_type), None, None, None]))
        expected.append([np.moveaxis((indices[..., None] == np.arange(4)).astype(dtype), -1, axis)])
    check_against(runs, expected)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_l2_normalization(dtype: str) -> None:
    rng = np.random.default_rng(173)
    runs = []
    for shape in [(1, 10), (3, 5), (2, 3, 4, 64)]:
        for point in (-128, 5):
            case = make_case("L2_NORMALIZATION", [typed(dtype, shape, 0.1, point)], [typed(dtype, (), 1 / 128, 0)])
            runs.append((case, random_values(case, rng)))
    flat = typed(dtype, (2, 4), 0.1, 5)
    case = make_case("L2_NORMALIZATION", [flat], [typed(dtype, (), 1 / 128, 0)])
    runs.append((case, [np.full((2, 4), 5 if dtype == "int8" else 0).astype(dtype)]))
    check_against_tflm(runs, 1e-6, 1e-6)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_add_n(dtype: str) -> None:
    rng = np.random.default_rng(179)
    runs = []
    for count, point in [(2, 0), (3, -20), (9, 100)]:
        inputs = [typed(dtype, (4, 5), 0.02, point) for _ in range(count)]
        case = make_case("ADD_N", inputs, [typed(dtype, (), 0.05, 7)])
        runs.append((case, random_values(case, rng)))
    check_against_tflm(runs, 0, 0)


def test_add_n_of_integers_wraps() -> None:
    case = make_case("ADD_N", [tensor("int32", (20,))] * 3, [tensor("int32", ())])
    values = random_values(case, np.random.default_rng(181))
    check_against([(case, values)], [[values[0] + values[1] + values[2]]])  # type: ignore[operator]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float32", "bool"])
def test_fill_and_zeros(dtype: str) -> None:
    fill = make_case("FILL", [constant("int32", [2, 3]), typed(dtype, ())], [typed(dtype, ())])
    zeros = make_case("ZEROS_LIKE", [typed(dtype, (5, 2))], [typed(dtype, ())])
    rng = np.random.default_rng(191)
    value = random_values(fill, rng)
    runs = [(fill, value), (zeros, random_values(zeros, rng))]
    check_against(runs, [[np.full((2, 3), value[1])], [np.zeros((5, 2), dtype)]], 0, 0)


def test_constants_of_shape() -> None:
    x = tensor("float32", (2, 5, 1))
    runs = [
        (make_case("SHAPE", [x], [tensor("int64", ())]), [np.zeros((2, 5, 1), np.float32)]),
        (make_case("RANK", [x], [tensor("int32", ())]), [np.zeros((2, 5, 1), np.float32)]),
    ]
    check_against(runs, [[np.array([2, 5, 1])], [np.array(3)]])


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_range(dtype: str) -> None:
    specs = [(0, 5, 1), (10, -1, -3), (2, 3, 7), (1, 8, 2)]
    runs: list[tuple[Case, list[Array | None]]] = [
        (make_case("RANGE", [constant(dtype, v) for v in spec], [tensor(dtype, ())]), [None] * 3) for spec in specs
    ]
    run_time = make_case("RANGE", [tensor(dtype, ()), tensor(dtype, ()), constant(dtype, 2)], [tensor(dtype, (3,))])
    runs.append((run_time, [np.array(1, dtype), np.array(6, dtype), None]))
    check_against(runs, [[np.arange(*spec).astype(dtype)] for spec in specs] + [[np.array([1, 3, 5], dtype)]])


def test_float_range_as_litert() -> None:
    case = make_case("RANGE", [constant("float32", v) for v in (0.1, 2.35, 0.3)], [tensor("float32", ())])
    check_against([(case, [None] * 3)], [run_litert(case, [])], 1e-6)


def test_rules() -> None:
    f, n = tensor("float32", (4, 3)), tensor("int32", (4,))

    def broken(operator: str, *inputs: Tensor, outputs=(f,), **options) -> str:  # type: ignore[no-untyped-def]
        return broken_rules(Case(operator, inputs, tuple(t.type for t in outputs), options))[0]

    assert "an axis within the rank" in broken("ARG_MAX", f, constant("int32", 2), outputs=(n,))
    assert "constant" in broken("CUMSUM", f, tensor("int32", ()))
    assert "a number of elements (k) from" in broken("TOPK_V2", f, constant("int32", 4), outputs=(f, n))
    assert "at least 0" in broken("ONE_HOT", n, constant("int32", -1), constant("float32", 1), constant("float32", 0))
    assert "output's type" in broken("ONE_HOT", n, constant("int32", 3), constant("int8", 1), constant("float32", 0))
    q = tensor("int8", (4, 3), 0.5)
    assert "1/128" in broken("L2_NORMALIZATION", q, outputs=(q,))
    assert "of equal shapes" in broken("ADD_N", f, tensor("float32", (4,)))
    assert "at least 0" in broken("FILL", constant("int32", [-1]), constant("float32", 1))
    step = [constant("int32", v) for v in (0, 5, 0)]
    assert "step" in broken("RANGE", *step, outputs=(n,))
