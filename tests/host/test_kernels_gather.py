"""GATHER, EMBEDDING_LOOKUP, GATHER_ND, SCATTER_ND, SELECT and SELECT_V2."""

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
    typed,
)
from support.litert import run_litert
from support.present import present

TYPES = ["int8", "int16", "float32", "int64"]


def values_of(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return rng.integers(-100, 100, shape).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_gather(dtype: str) -> None:
    rng = np.random.default_rng(103)
    runs, expected = [], []
    for shape, indices, axis, index_type in [
        ((7,), (), 0, "int32"),
        ((5, 3), (4,), 0, "int64"),
        ((2, 5, 3), (2, 2), 1, "int32"),
        ((2, 5, 3), (4,), -1, "int32"),
    ]:
        case = make_case(
            "GATHER", [typed(dtype, shape), tensor(index_type, indices)], [typed(dtype, ())], {"axis": axis}
        )
        picks = rng.integers(0, shape[axis], indices).astype(index_type)
        x = values_of(dtype, shape, rng)
        runs.append((case, [x, np.asarray(picks)]))
        expected.append([np.take(x, picks, axis)])
    check_against(runs, expected)


def test_gather_with_batches_as_litert() -> None:
    rng = np.random.default_rng(107)
    runs = []
    for shape, indices, axis, batches in [
        ((3, 5, 2), (3, 4), 1, 1),
        ((2, 3, 5), (2, 3), 2, 2),
        ((2, 3, 5, 2), (2, 6), 2, 1),
    ]:
        options = {"axis": axis, "batch_dims": batches}
        case = make_case("GATHER", [typed("float32", shape), tensor("int32", indices)], [typed("float32", ())], options)
        picks = rng.integers(0, shape[axis], indices).astype(np.int32)
        runs.append((case, [values_of("float32", shape, rng), picks]))
    check_against(runs, [run_litert(case, values) for case, values in runs])


def test_indices_out_of_range_stay_inside() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    gather = make_case("GATHER", [tensor("float32", (4, 3)), tensor("int32", (3,))], [tensor("float32", ())])
    far = np.array([-1, 4, 2**31 - 1], np.int32)
    nd = make_case("GATHER_ND", [tensor("float32", (4, 3)), tensor("int32", (2, 2))], [tensor("float32", ())])
    scatter = make_case(
        "SCATTER_ND",
        [tensor("int32", (3, 1)), tensor("float32", (3,)), constant("int32", [4])],
        [tensor("float32", ())],
    )
    check_against(
        [
            (gather, [x, far]),
            (nd, [x, np.array([[-5, 9], [2, -(2**31)]], np.int32)]),
            (scatter, [np.array([[-1], [4], [2]], np.int32), np.ones(3, np.float32), None]),
        ],
        [[x[[0, 3, 3]]], [np.array([2.0, 6.0])], [np.array([0.0, 0, 1, 0])]],
    )


def test_embedding_lookup() -> None:
    rng = np.random.default_rng(109)
    case = make_case("EMBEDDING_LOOKUP", [tensor("int32", (4,)), tensor("float32", (6, 2, 3))], [tensor("float32", ())])
    check_against_tflm([(case, [np.array([5, 0, 2, 2], np.int32), values_of("float32", (6, 2, 3), rng)])])


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_gather_nd(dtype: str) -> None:
    rng = np.random.default_rng(113)
    runs, expected = [], []
    for shape, points, depth in [((4, 3), (5,), 1), ((4, 3), (2, 3), 2), ((2, 3, 4, 2), (3,), 3)]:
        case = make_case("GATHER_ND", [typed(dtype, shape), tensor("int32", (*points, depth))], [typed(dtype, ())])
        picks = np.stack([rng.integers(0, d, points) for d in shape[:depth]], -1).astype(np.int32)
        x = values_of(dtype, shape, rng)
        runs.append((case, [x, picks]))
        expected.append([x[tuple(np.moveaxis(picks, -1, 0))]])
    check_against(runs, expected)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32"])
def test_scatter_nd_sums(dtype: str) -> None:
    rng = np.random.default_rng(127)
    picks = np.array([[1, 2], [0, 0], [1, 2]], np.int32)
    updates = rng.integers(-40, 40, (3, 4)).astype(dtype)
    want = np.zeros((2, 3, 4), dtype)
    np.add.at(want, tuple(picks.T), updates)
    case = make_case(
        "SCATTER_ND", [tensor("int32", (3, 2)), typed(dtype, (3, 4)), constant("int32", [2, 3, 4])], [typed(dtype, ())]
    )
    check_against([(case, [picks, updates, None])], [[want]])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("operator", ["SELECT", "SELECT_V2"])
def test_select(operator: str, dtype: str) -> None:
    rng = np.random.default_rng(131)
    shapes = [((7,), (7,), (7,)), ((), (2, 3), (2, 3)), ((2, 3), (2, 3), (2, 3))]
    if operator == "SELECT":
        shapes.append(((2,), (2, 3, 4), (2, 3, 4)))
    else:
        shapes += [((4, 1), (3,), ()), ((2, 1, 1), (5, 1), (1, 3)), ((1, 2, 1, 2), (2, 1, 2, 1), (2, 1, 1, 1))]
    runs, expected = [], []
    for condition, first, second in shapes:
        case = make_case(
            operator, [tensor("bool", condition), typed(dtype, first), typed(dtype, second)], [typed(dtype, ())]
        )
        values = random_values(case, rng)
        runs.append((case, values))
        flags, chosen, other = present(values)
        flags = flags.reshape(2, 1, 1) if (operator, condition) == ("SELECT", (2,)) else flags
        expected.append([np.where(flags, chosen, other)])
    check_against(runs, expected, 0, 0)


def test_rules() -> None:
    f, i = tensor("float32", (4, 3)), tensor("int32", (2,))

    def broken(operator: str, *inputs: Tensor, **options) -> str:  # type: ignore[no-untyped-def]
        return broken_rules(Case(operator, inputs, (f.type,), options))[0]

    assert "axis" in broken("GATHER", f, i, axis=2)
    assert "batch_dims" in broken("GATHER", f, i, axis=1, batch_dims=1)
    assert "within the range" in broken("GATHER", f, constant("int32", [4]))
    assert "within the range" in broken("GATHER_ND", f, constant("int32", [[1, 3]]))
    assert "last dimension" in broken("GATHER_ND", f, tensor("int32", (2, 3)))
    assert "one update" in broken("SCATTER_ND", tensor("int32", (2, 1)), f, constant("int32", [5, 3]))
    assert "within the range" in broken("EMBEDDING_LOOKUP", constant("int32", [9]), f)
    assert "of equal shapes" in broken("SELECT", tensor("bool", ()), f, tensor("float32", (3,)))
    assert "broadcast" in broken("SELECT_V2", tensor("bool", (2,)), f, f)
