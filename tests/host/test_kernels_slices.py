"""SLICE, STRIDED_SLICE, CONCATENATION, PACK, SPLIT, SPLIT_V, UNPACK and copies along nests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.kernel_harness import (
    Array,
    Case,
    Tensor,
    broken_rules,
    check_against,
    constant,
    make_case,
    random_values,
    run_kernels,
    tensor,
    typed,
)
from support.litert import run_litert
from support.moved_elements import check_movement, is_view, selected
from tflmgen.ir.kernel.call import Kernel, Pieces

TYPES = ["int8", "int16", "float32", "int64"]
BEGIN, END, ELLIPSIS, NEW, SHRINK = "begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"
STRIDED = [
    ((5,), [1], [4], [1], {}),
    ((7,), [0], [7], [3], {}),
    ((7,), [6], [-8], [-2], {}),
    ((7,), [0], [0], [-1], {BEGIN: 1, END: 1}),
    ((3, 4, 5), [1, 0, 2], [2, 4, 5], [1, 2, 1], {}),
    ((3, 4, 5), [1, 0, 2], [0, 0, 0], [1, 1, 1], {BEGIN: 2, END: 6, SHRINK: 1}),
    ((3, 4, 5), [-1, -3, -9], [9, -1, 9], [1, 1, 2], {}),
    ((3, 4, 5), [0, 1], [0, 3], [1, 1], {ELLIPSIS: 1}),
    ((3, 4, 5), [1, 0, 2], [2, 0, 4], [1, 1, 1], {ELLIPSIS: 2, SHRINK: 1}),
    ((3, 4, 5), [0, 1, 0, 0], [0, 3, 0, 0], [1, 1, 1, 1], {NEW: 1, ELLIPSIS: 4}),
    ((2, 3, 4, 5), [0, 2, 3, 0], [2, 0, -5, 5], [1, -1, -2, 1], {END: 2, BEGIN: 8}),
    ((2, 3, 2, 3, 2), [0, 1, 0, 2, 1], [2, 3, 2, 0, 2], [1, 1, 1, -1, 1], {}),
]


def check(cases: list[Case], reference) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(97)
    runs, expected = [], []
    for i, case in enumerate(cases):
        values = random_values(case, rng)
        want = reference(i, [v for v in values if v is not None])
        runs.append((case, values))
        expected.append(want if isinstance(want, list) else [want])
    check_movement(runs, expected)


def strided(dtype: str, spec) -> Case:  # type: ignore[no-untyped-def]
    shape, begin, end, strides, masks = spec
    bounds = [constant("int32", v) for v in (begin, end, strides)]
    return make_case("STRIDED_SLICE", [typed(dtype, shape), *bounds], [typed(dtype, ())], masks)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_strided_slice_as_litert(dtype: str) -> None:
    rng = np.random.default_rng(101)
    runs = [(case, random_values(case, rng)) for case in (strided(dtype, spec) for spec in STRIDED)]
    counts = check_movement(runs, [run_litert(case, values) for case, values in runs])
    assert counts[Kernel] > 8


def test_strided_slice_counting_ends_from_beginnings() -> None:
    case = make_case(
        "STRIDED_SLICE",
        [tensor("float32", (9,)), constant("int32", [2]), constant("int32", [4]), constant("int32", [1])],
        [tensor("float32", ())],
        {"offset": True},
    )
    check([case], lambda _, v: v[0][2:6])


@pytest.mark.parametrize("dtype", TYPES)
def test_slice(dtype: str) -> None:
    specs = [
        ((9,), (2,), (4,)),
        ((3, 4), (1, 0), (2, -1)),
        ((2, 3, 4, 5), (0, 1, 1, 2), (2, 2, -1, 3)),
        ((4, 9), (0, 1), (4, 8)),
    ]
    cases = [
        make_case("SLICE", [typed(dtype, s), constant("int32", b), constant("int64", n)], [typed(dtype, ())])
        for s, b, n in specs
    ]

    def want(i: int, values: list[Array]) -> Array:
        _, begin, size = specs[i]
        return values[0][tuple(slice(b, None if n < 0 else b + n) for b, n in zip(begin, size, strict=True))]

    check(cases, want)


def test_slice_from_run_time_beginning() -> None:
    x = np.arange(60, dtype=np.float32).reshape(5, 4, 3)
    runs, expected = [], []
    for begin, start in [((1, 0, 2), (1, 0, 2)), ((4, 9, 1), (3, 1, 1)), ((-1, -3, 0), (3, 1, 0))]:
        case = make_case(
            "SLICE",
            [tensor("float32", (5, 4, 3)), tensor("int32", (3,)), constant("int32", [2, 3, 1])],
            [tensor("float32", ())],
        )
        runs.append((case, [x, np.array(begin, np.int32), None]))
        a, b, c = start
        expected.append([x[a : a + 2, b : b + 3, c : c + 1]])
    check_against(runs, expected)


def test_strided_slice_of_run_time_element() -> None:
    x = np.arange(24, dtype=np.int8).reshape(4, 6)
    for masks, entry, want in [({SHRINK: 1, END: 2, BEGIN: 2}, 2, x[2]), ({SHRINK: 1, END: 2, BEGIN: 2}, -1, x[3])]:
        case = make_case(
            "STRIDED_SLICE",
            [typed("int8", (4, 6)), tensor("int32", (2,)), tensor("int32", (2,)), constant("int32", [1, 1])],
            [typed("int8", ())],
            masks,
        )
        check_against([(case, [x, np.array([entry, 0], np.int32), np.array([0, 0], np.int32), None])], [[want]])


@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
def test_concatenation(dtype: str) -> None:
    specs: list[tuple[list[tuple[int, ...]], int]] = [
        ([(3,), (2,)], 0),
        ([(2, 3), (2, 1), (2, 4)], 1),
        ([(1, 2, 3), (4, 2, 3)], -3),
        ([(2, 3, 1)] * 9, 2),
    ]
    cases = [
        make_case("CONCATENATION", [typed(dtype, s) for s in shapes], [typed(dtype, ())], {"axis": axis})
        for shapes, axis in specs
    ]
    check(cases, lambda i, values: np.concatenate(values, specs[i][1]))


@pytest.mark.parametrize("dtype", TYPES)
def test_pack_and_unpack(dtype: str) -> None:
    pack = [
        make_case("PACK", [typed(dtype, (2, 3))] * 4, [typed(dtype, ())], {"axis": axis, "values_count": 4})
        for axis in (0, 1, -1)
    ]
    check(pack, lambda i, values: np.stack(values, (0, 1, -1)[i]))
    unpack = [
        make_case("UNPACK", [typed(dtype, (3, 3, 3))], [typed(dtype, ())] * 3, {"axis": axis, "num": 3})
        for axis in (0, 1, -1)
    ]
    check(unpack, lambda i, values: [np.take(values[0], k, (0, 1, -1)[i]) for k in range(3)])


@pytest.mark.parametrize("dtype", TYPES)
def test_split(dtype: str) -> None:
    split = [
        make_case("SPLIT", [constant("int32", axis), typed(dtype, (4, 6))], [typed(dtype, ())] * 2, {"num_splits": 2})
        for axis in (0, -1)
    ]
    check(split, lambda i, values: np.split(values[0], 2, (0, -1)[i]))
    sizes = [constant("int32", [1, -1, 2]), constant("int32", 1)]
    split_v = make_case("SPLIT_V", [typed(dtype, (4, 6)), *sizes], [typed(dtype, ())] * 3, {"num_splits": 3})
    check([split_v], lambda _, values: np.split(values[0], [1, 4], 1))


@pytest.mark.parametrize("dtype", TYPES)
def test_rearrangements(dtype: str) -> None:
    x = typed(dtype, (2, 4, 6, 12))
    cases = {
        "reverse": make_case("REVERSE_V2", [x, constant("int32", [1, -1])], [typed(dtype, ())]),
        "reverse_rows": make_case("REVERSE_V2", [x, constant("int32", [0])], [typed(dtype, ())]),
        "broadcast": make_case(
            "BROADCAST_TO", [typed(dtype, (2, 1, 3, 1)), constant("int32", [5, 2, 4, 3, 2])], [typed(dtype, ())]
        ),
        "tile": make_case("TILE", [typed(dtype, (2, 1, 3)), constant("int32", [2, 3, 2])], [typed(dtype, ())]),
        "to_space": make_case("DEPTH_TO_SPACE", [x], [typed(dtype, ())], {"block_size": 2}),
        "to_depth": make_case("SPACE_TO_DEPTH", [x], [typed(dtype, ())], {"block_size": 2}),
    }
    functions: list[Callable[[Array], Array]] = [
        lambda v: np.flip(v, (1, -1)),
        lambda v: np.flip(v, 0),
        lambda v: np.broadcast_to(v, (5, 2, 4, 3, 2)),
        lambda v: np.tile(v, (2, 3, 2)),
        lambda v: v.reshape(2, 4, 6, 2, 2, 3).transpose(0, 1, 3, 2, 4, 5).reshape(2, 8, 12, 3),
        lambda v: v.reshape(2, 2, 2, 3, 2, 12).transpose(0, 1, 3, 2, 4, 5).reshape(2, 2, 3, 48),
    ]
    check(list(cases.values()), lambda i, values: functions[i](values[0]))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_space_and_batch_as_litert(dtype: str) -> None:
    """LiteRT pads with the zero point, as TensorFlow means it; TFLite Micro pads with the number 0."""
    rng = np.random.default_rng(193)
    runs = []
    for operator, shape, block, table in [
        ("SPACE_TO_BATCH_ND", (2, 4, 6, 3), [2, 3], [(0, 0), (0, 0)]),
        ("SPACE_TO_BATCH_ND", (1, 5, 7, 2), [2, 2], [(1, 2), (0, 1)]),
        ("SPACE_TO_BATCH_ND", (2, 5, 3), [3], [(1, 0)]),
        ("BATCH_TO_SPACE_ND", (12, 2, 2, 3), [2, 3], [(0, 0), (0, 0)]),
        ("BATCH_TO_SPACE_ND", (4, 4, 4, 2), [2, 2], [(1, 2), (0, 1)]),
        ("BATCH_TO_SPACE_ND", (6, 2, 3), [3], [(1, 0)]),
    ]:
        inputs = [typed(dtype, shape), constant("int32", block), constant("int32", table)]
        case = make_case(operator, inputs, [typed(dtype, ())])
        runs.append((case, random_values(case, rng)))
    check_against(runs, [run_litert(case, values) for case, values in runs], 0, 0)


@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_dynamic_update_slice(index_type: str) -> None:
    rng = np.random.default_rng(197)
    runs, expected = [], []
    for begin, start in [((1, 0, 2), (1, 0, 2)), ((9, -5, 9), (3, 0, 2))]:
        inputs = [tensor("float32", (5, 2, 4)), tensor("float32", (2, 2, 2)), tensor(index_type, (3,))]
        case = make_case("DYNAMIC_UPDATE_SLICE", inputs, [tensor("float32", ())])
        x, update = random_values(case, rng)[:2]
        runs.append((case, [x, update, np.array(begin, index_type)]))
        want = x.copy()  # type: ignore[union-attr]
        want[tuple(slice(s, s + 2) for s in start)] = update
        expected.append([want])
    check_against(runs, expected, 0, 0)


def test_what_lies_in_one_piece_is_not_copied() -> None:
    f, out = tensor("float32", (4, 6)), tensor("float32", ())
    whole = constant("int32", [2, 6])
    assert isinstance(selected(make_case("SLICE", [f, constant("int32", [1, 0]), whole], [out])), Pieces)
    assert isinstance(selected(make_case("CONCATENATION", [f, f], [out], {"axis": 0})), Pieces)
    assert isinstance(selected(make_case("CONCATENATION", [f, f], [out], {"axis": 1})), Kernel)
    assert isinstance(selected(make_case("SPLIT", [constant("int32", 0), f], [out] * 2, {"num_splits": 2})), Pieces)


def test_what_changes_nothing_is_a_view() -> None:
    f, out = tensor("float32", (2, 6)), tensor("float32", ())
    assert is_view(make_case("SLICE", [f, constant("int32", [0, 0]), constant("int32", [2, -1])], [out]))
    assert is_view(strided("float32", ((1, 6), [0, 0], [0, 0], [1, 1], {SHRINK: 1, BEGIN: 2, END: 2})))
    assert is_view(make_case("CONCATENATION", [f], [out]))
    assert is_view(make_case("SPLIT", [constant("int32", 0), f], [out], {"num_splits": 1}))
    assert is_view(make_case("REVERSE_V2", [tensor("float32", (1, 6)), constant("int32", [0])], [out]))
    assert is_view(make_case("DEPTH_TO_SPACE", [tensor("float32", (1, 2, 2, 3))], [out], {"block_size": 1}))


def test_rules() -> None:
    f = tensor("float32", (2, 6))
    lists: dict[str, Any] = {"0": 0, "5": 5, "00": [0, 0], "11": [1, 1], "19": [1, 9]}
    numbers = {k: constant("int32", v) for k, v in lists.items()}

    def broken(operator: str, *inputs: Tensor, outputs: int = 1, **options) -> str:  # type: ignore[no-untyped-def]
        return broken_rules(Case(operator, inputs, (f.type,) * outputs, options))[0]

    n = numbers
    assert "strides other" in broken("STRIDED_SLICE", f, n["00"], n["11"], constant("int32", [1, 0]))
    assert "bounds that fit" in broken("STRIDED_SLICE", f, n["19"], n["11"], n["11"], shrink_axis_mask=3)
    assert "a begin, an end" in broken("STRIDED_SLICE", f, n["0"], n["11"], n["11"])
    assert "within the input" in broken("SLICE", f, n["19"], n["11"])
    assert "an axis within the rank" in broken("CONCATENATION", f, f, axis=5)
    assert "inputs of equal shapes, except" in broken("CONCATENATION", f, tensor("float32", (3, 5)), axis=1)
    assert "as many inputs" in broken("PACK", f, f, values_count=3)
    assert "evenly" in broken("SPLIT", numbers["0"], tensor("float32", (3, 2)), outputs=2, num_splits=2)
    assert "an axis within the rank" in broken("SPLIT", n["5"], f, outputs=2, num_splits=2)
    assert "sizes that add" in broken("SPLIT_V", f, constant("int32", [3, 4]), n["0"], outputs=2, num_splits=2)
    assert "as long as" in broken("UNPACK", f, outputs=3, num=3)
    assert "reversed axes" in broken("REVERSE_V2", f, constant("int32", [2]))
    assert "broadcasts" in broken("BROADCAST_TO", f, constant("int32", [4, 6]))
    assert "one multiple" in broken("TILE", f, constant("int32", [2]))
    blocks = [constant("int32", [2, 2]), constant("int32", [(0, 0), (0, 1)])]
    assert "multiple" in broken("SPACE_TO_BATCH_ND", tensor("float32", (1, 4, 4, 1)), *blocks)
    assert "a number of batches" in broken("BATCH_TO_SPACE_ND", tensor("float32", (3, 4, 4, 1)), *blocks)
    assert "crops that leave" in broken(
        "BATCH_TO_SPACE_ND", tensor("float32", (4, 1, 1, 1)), n["11"], constant("int32", [(1, 0), (0, 0)])
    )
    place = tensor("int32", (2,))
    assert "an update of" in broken("DYNAMIC_UPDATE_SLICE", f, tensor("float32", (3, 6)), place)
    with pytest.raises(ValueError, match="block size is 0"):
        broken("DEPTH_TO_SPACE", f)
    with pytest.raises(ValueError, match="activation"):
        broken("CONCATENATION", f, fused_activation_function=1)


@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", -40), ("int8", 0), ("int16", 0), ("float32", None)])
def test_space_to_batch_pads_with_the_zero_point_as_litert_does(dtype: str, zero_point: int | None) -> None:
    """TFLite Micro does not: see Operator.fault."""
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed")
    kind = (dtype, (1, 3, 3, 1)) if zero_point is None else (dtype, (1, 3, 3, 1), 0.1, zero_point)
    tables = constant("int32", [2, 2]), constant("int32", [[1, 0], [0, 1]])
    case = make_case("SPACE_TO_BATCH_ND", [tensor(*kind), *tables], [tensor(*kind)])
    values = [np.arange(1, 10).reshape(1, 3, 3, 1).astype(dtype), None, None]
    resolvers = litert.OpResolverType
    (ours,) = run_kernels([(case, values)])[0]
    assert (ours == (zero_point or 0)).sum() == 7
    for resolver in (resolvers.BUILTIN_REF, resolvers.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        np.testing.assert_array_equal(run_litert(case, values, resolver)[0], ours)
