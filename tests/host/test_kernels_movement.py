"""Operators that move elements, against NumPy: values must arrive unchanged, so one reference serves every type."""

from __future__ import annotations

from collections.abc import Sequence

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
    run_kernels,
    tensor,
    typed,
)
from support.moved_elements import check_movement, is_view
from support.present import present
from tflmgen.ir.kernel import ConstantArray, Kernel

TYPES = ["int8", "int16", "float32", "int64", "bool"]


def check(cases: Sequence[Case], reference) -> None:  # type: ignore[no-untyped-def]
    """Each case against reference(index of the case, its input)."""
    rng = np.random.default_rng(17)
    runs, expected = [], []
    for i, case in enumerate(cases):
        values = random_values(case, rng)
        want = reference(i, values[0])
        runs.append((case, values))
        expected.append(want if isinstance(want, list) else [want])
    check_movement(runs, expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_transpose(dtype: str) -> None:
    specs = [
        ((4, 5), (1, 0)),
        ((2, 3, 4), (2, 0, 1)),
        ((2, 3, 16), (1, 0, 2)),
        ((1, 5, 6, 3), (0, 3, 1, 2)),
        ((2, 3, 4, 5), (3, 2, 1, 0)),
        ((2, 3, 2, 3, 2), (4, 0, 3, 1, 2)),
        ((2, 3, 2, 3, 2, 2), (5, 3, 1, 4, 2, 0)),
        ((2, 1, 3, 4), (-1, 1, 0, 2)),
    ]
    cases = [make_case("TRANSPOSE", [typed(dtype, s), constant("int32", p)], [typed(dtype, ())]) for s, p in specs]
    check(cases, lambda i, x: np.transpose(x, [a % x.ndim for a in specs[i][1]]))


@pytest.mark.parametrize("dtype", TYPES)
def test_pad(dtype: str) -> None:
    specs = [
        ((5,), [(1, 2)]),
        ((2, 3), [(0, 0), (2, 0)]),
        ((4, 1), [(1, 0), (1, 1)]),
        ((1, 4, 5, 3), [(0, 0), (1, 1), (2, 0), (0, 0)]),
        ((2, 3, 4, 2, 3), [(1, 0), (0, 1), (2, 2), (0, 3), (1, 1)]),
    ]
    cases = [make_case("PAD", [typed(dtype, s), constant("int32", p)], [typed(dtype, ())]) for s, p in specs]
    check(cases, lambda i, x: np.pad(x, specs[i][1], constant_values=-3 if dtype == "int8" else 0))


def test_pad_with_value() -> None:
    table = constant("int32", [(1, 0), (2, 3)])
    inputs = [typed("int8", (3, 4)), table, constant("int8", [7], 0.5, -3)]
    check_against_tflm(
        [
            (case := make_case("PADV2", inputs, [typed("int8", ())]), random_values(case, np.random.default_rng(1))),
            (
                make_case("PADV2", [tensor("float32", (3, 4)), table, tensor("float32", ())], [tensor("float32", ())]),
                [np.ones((3, 4), np.float32), None, np.array(np.inf, np.float32)],
            ),
        ]
    )


@pytest.mark.parametrize("operator", ["MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float32"])
def test_maximum_minimum(operator: str, dtype: str) -> None:
    rng = np.random.default_rng(19)
    runs, expected = [], []
    for first, second in [((7,), (7,)), ((2, 3, 4), (3, 1)), ((1,), (5, 2)), ((2, 1, 3, 1), (4, 1, 5))]:
        case = make_case(operator, [typed(dtype, first), typed(dtype, second)], [typed(dtype, ())])
        values = random_values(case, rng)
        runs.append((case, values))
        expected.append([(np.maximum if operator == "MAXIMUM" else np.minimum)(*present(values))])
    check_against(runs, expected, 0, 0)


def test_movement_that_changes_nothing_is_a_view() -> None:
    f = tensor("float32", (2, 1, 3))
    assert is_view(make_case("TRANSPOSE", [f, constant("int32", [1, 0, 2])], [tensor("float32", ())]))
    assert is_view(make_case("PAD", [f, constant("int32", [(0, 0)] * 3)], [tensor("float32", ())]))


def test_rules() -> None:
    f = tensor("float32", (2, 3))

    def broken(operator: str, *inputs: Tensor, **options) -> str:  # type: ignore[no-untyped-def]
        return broken_rules(Case(operator, inputs, (f.type,), options))[0]

    assert "every dimension once" in broken("TRANSPOSE", f, constant("int32", [0, 0]))
    assert "constant" in broken("TRANSPOSE", f, tensor("int32", (2,)))
    assert "one type" in broken("TRANSPOSE", tensor("int8", (2, 3)), constant("int32", [1, 0]))
    assert "two numbers" in broken("PAD", f, constant("int32", [[1, 1]]))
    assert "of at least 0" in broken("PAD", f, constant("int32", [[1, 1], [-1, 0]]))
    assert "6 loops" in broken("TRANSPOSE", tensor("float32", (2,) * 7), constant("int32", [6, 5, 4, 3, 2, 1, 0]))


@pytest.mark.parametrize("operator", ["MIRROR_PAD", "GATHER"])
def test_an_edge_that_is_mirrored_costs_no_table_of_the_middle(operator: str) -> None:
    """Of thousands of elements, a hundred mirrored: flash has a few runs, and not a place for each."""
    x = tensor("float32", (2, 3000))
    places = np.pad(np.arange(3000, dtype=np.int32), 100, mode="reflect")
    pads = constant("int32", np.array([[0, 0], [100, 100]], np.int32))
    second, options = (pads, {"mode": 0}) if operator == "MIRROR_PAD" else (constant("int32", places), {"axis": 1})
    case = make_case(operator, [x, second], [tensor("float32", ())], options)
    kernel = case.kernel
    assert isinstance(kernel, Kernel)
    assert sum(len(operand.data) for operand in kernel.operands if isinstance(operand, ConstantArray)) <= 64
    values = np.random.default_rng(0).normal(size=(2, 3000)).astype(np.float32)
    np.testing.assert_array_equal(run_kernels([(case, [values, None])])[0][0], values[:, places])
