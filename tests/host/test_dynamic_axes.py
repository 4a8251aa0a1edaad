"""Tensors with dimensions at any axis that are known at run time only, and slices whose sizes are: against LiteRT.

Elements that are not in use hold poison in all inputs: it must reach none that is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_axes import ARGUMENT, BOUND, LARGEST_EXTENT, Shape, agrees, floats, ints, vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter


def unary(shape: Shape, out: Shape, name: str, options: dict[str, Any] | None = None, *constants: Any) -> bytes:
    """One operator on x and constants."""

    def build(g: SubgraphWriter) -> None:
        x = vary(g, "x", "float32", shape)
        others = [g.constant(f"c{i}", np.array(c)) for i, c in enumerate(constants)]
        dtype = "int32" if name in ("SHAPE", "ARG_MAX", "ARG_MIN") else "float32"
        y = vary(g, "y", dtype, out)
        g.operator(name, [x, *others], [y], options or {})
        g.inputs, g.outputs = [x], [y]

    return one_graph(build)


DENSE = np.arange(12, dtype=np.float32).reshape(4, 3)
OPERATORS: dict[str, tuple[Shape, Shape, str, dict[str, Any], tuple[Any, ...]]] = {
    "element-wise": ((2, -1, 3), (2, -1, 3), "NEG", {}, ()),
    "broadcast": ((2, -1, 3), (2, -1, 3), "ADD", {}, (floats(3),)),
    "broadcast from below": ((-1, -1), (2, -1, -1), "MUL", {}, (floats(2, 1, 1),)),
    "several": ((-1, 2, -1), (-1, 2, -1), "EXP", {}, ()),
    "transpose": ((-1, 2, -1), (-1, -1, 2), "TRANSPOSE", {}, (ints(2, 0, 1),)),
    "expand": ((2, -1, 3), (2, 1, -1, 3), "EXPAND_DIMS", {}, (ints(1),)),
    "squeeze": ((2, 1, -1), (2, -1), "SQUEEZE", {"squeeze_dims": [1]}, ()),
    "reshape of rows": ((2, -1, 4), (2, -1, 2, 2), "RESHAPE", {"new_shape": [2, -1, 2, 2]}, (ints(2, -1, 2, 2),)),
    "reshape to flat": ((2, -1, 3), (-1,), "RESHAPE", {"new_shape": [-1]}, (ints(-1),)),
    "reshape across": ((2, -1, 3), (-1, 6), "RESHAPE", {"new_shape": [-1, 6]}, (ints(-1, 6),)),
    "softmax of rows": ((-1, -1, 3), (-1, -1, 3), "SOFTMAX", {"beta": 1.0}, ()),
    "sum along": ((2, -1, 3), (2, 3), "SUM", {"keep_dims": False}, (ints(1),)),
    "sum of others": ((2, -1, 3), (-1,), "SUM", {"keep_dims": False}, (ints(0, 2),)),
    "dense": ((2, -1, 3), (2, -1, 4), "FULLY_CONNECTED", {"keep_num_dims": True}, (DENSE,)),
    "dense of a matrix": ((2, -1, 3), (-1, 4), "FULLY_CONNECTED", {"keep_num_dims": False}, (DENSE,)),
    "pad others": ((-1, -1, 3), (-1, -1, 6), "PAD", {}, (np.array([[0, 0], [0, 0], [1, 2]], np.int32),)),
    "pad along": ((-1, -1), (-1, -1), "PAD", {}, (np.array([[1, 0], [2, 1]], np.int32),)),
    "shape": ((-1, 2, -1), (3,), "SHAPE", {"out_type": 2}, ()),
    "gather others": ((2, -1, 3), (2, -1, 2), "GATHER", {"axis": 2}, (ints(2, 0),)),
    "joined others": ((2, -1, 3), (4, -1, 3), "TILE", {}, (ints(2, 1, 1),)),
    "slice others": ((-1, -1, 3), (-1, -1, 2), "SLICE", {}, (ints(0, 0, 1), ints(-1, -1, 2))),
    "strided others": (
        (2, -1, 3),
        (-1, 2),
        "STRIDED_SLICE",
        {"begin_mask": 2, "end_mask": 2, "shrink_axis_mask": 1},
        (ints(1, 0, 0), ints(2, 0, 3), ints(1, 1, 2)),
    ),
    "strided along": (
        (2, -1, 3),
        (2, -1, 3),
        "STRIDED_SLICE",
        {"begin_mask": 5, "end_mask": 7},
        (ints(0, 1, 0), ints(0, 0, 0), ints(1, 2, 1)),
    ),
    "turned round": (
        (2, -1),
        (2, -1),
        "STRIDED_SLICE",
        {"begin_mask": 3, "end_mask": 3},
        (ints(0, 0), ints(0, 0), ints(1, -1)),
    ),
    "cumulated": ((2, -1), (2, -1), "CUMSUM", {"exclusive": False, "reverse": False}, (np.int32(1),)),
    "cumulated backwards": ((-1, 3), (-1, 3), "CUMSUM", {"exclusive": True, "reverse": True}, (np.int32(0),)),
}
NOT_EMPTY: dict[str, tuple[Shape, Shape, str, dict[str, Any], tuple[Any, ...]]] = {
    "slice along": ((2, -1, 3), (2, -1, 3), "SLICE", {}, (ints(0, 1, 0), ints(2, -1, 3))),
    "mean along": ((2, -1, -1), (2,), "MEAN", {"keep_dims": False}, (ints(1, 2),)),
    "greatest along": ((2, -1, 3), (2, 1, 3), "REDUCE_MAX", {"keep_dims": True}, (ints(1),)),
    "softmax along": ((2, -1), (2, -1), "SOFTMAX", {"beta": 1.0}, ()),
    "log softmax along": ((-1, -1), (-1, -1), "LOG_SOFTMAX", {}, ()),
    "argument along": ((2, -1), (2,), "ARG_MAX", {"output_type": 2}, (np.int32(1),)),
    "one of many": (
        (2, -1, 3),
        (2, 3),
        "STRIDED_SLICE",
        {"begin_mask": 5, "end_mask": 5, "shrink_axis_mask": 2},
        (ints(0, -1, 0), ints(0, 0, 0), ints(1, 1, 1)),
    ),
}


@pytest.mark.parametrize("name", [*OPERATORS, *NOT_EMPTY])
def test_operators(name: str, tmp_path: Path) -> None:
    shape, out, operator, options, constants = {**OPERATORS, **NOT_EMPTY}[name]
    data = unary(shape, out, operator, options, *constants)
    sizes = [(LARGEST_EXTENT, LARGEST_EXTENT), (2, 3), (3, 1), (1, 4), (LARGEST_EXTENT, 2)]
    if name in OPERATORS:
        sizes += [(0, 2), (2, 0)]
    cases: list[Any] = []
    for size in sizes:
        next_size = iter(size)
        cases.append([floats(*(next(next_size) if d < 0 else d for d in shape))])
    first = shape.index(-1)
    cases.append(
        ([floats(*(LARGEST_EXTENT + 1 if a == first else 2 if d < 0 else d for a, d in enumerate(shape)))], BOUND)
    )
    agrees(data, tmp_path, [*cases, cases[0]])


# -- slices whose sizes are computed at run time


def run_time_slice(
    name: str, shape: Shape, out: Shape, options: dict[str, Any], count: int, fixed: Any = None
) -> bytes:
    """x and two or three vectors of integers as inputs; with `fixed` strides."""

    def build(g: SubgraphWriter) -> None:
        x = vary(g, "x", "float32", shape)
        bounds = [g.tensor(n, "int32", [count]) for n in ("begin", "end")]
        strides = [] if fixed is None else [g.constant("strides", fixed)]
        y = vary(g, "y", "float32", out)
        g.operator(name, [x, *bounds, *strides], [y], options)
        g.inputs, g.outputs = [x, *bounds], [y]

    return one_graph(build)


@pytest.mark.parametrize("shape", [(5, 3), (-1, 3)])
def test_a_strided_slice_from_run_time_bounds(shape: Shape, tmp_path: Path) -> None:
    data = run_time_slice("STRIDED_SLICE", shape, (-1, 3), {"begin_mask": 2, "end_mask": 2}, 2, ints(1, 1))
    pairs = [(0, 5), (1, 3), (2, 2), (4, 1), (-2, 9), (-9, -1), (3, 5)]
    agrees(data, tmp_path, [[floats(5, 3), ints(a, 7), ints(b, 1)] for a, b in pairs])


@pytest.mark.parametrize("step", [2, -1, -2])
def test_steps_with_run_time_bounds(step: int, tmp_path: Path) -> None:
    data = run_time_slice("STRIDED_SLICE", (2, 5), (-1, -1), {}, 2, ints(1, step))
    rows = [(0, 2), (1, 2), (1, 1)]
    agrees(
        data, tmp_path, [[floats(2, 5), ints(a, c), ints(b, d)] for a, b in rows for c, d in ((0, 5), (4, 0), (-1, -9))]
    )


def test_a_run_time_slice_of_one_row_and_some_columns(tmp_path: Path) -> None:
    data = run_time_slice("STRIDED_SLICE", (4, 5), (-1,), {"shrink_axis_mask": 1}, 2, ints(1, 1))
    agrees(
        data, tmp_path, [[floats(4, 5), ints(r, c), ints(r + 1, d)] for r, c, d in ((0, 1, 4), (3, 0, 5), (2, 3, 3))]
    )


@pytest.mark.parametrize("shape", [(4, 5), (-1, -1)])
def test_a_slice_of_run_time_size(shape: Shape, tmp_path: Path) -> None:
    data = run_time_slice("SLICE", shape, (-1, -1), {}, 2)
    fine = [[floats(4, 5), ints(*b), ints(*s)] for b, s in (((0, 0), (4, 5)), ((1, 2), (2, -1)), ((3, 4), (-1, 1)))]
    wrong = ([floats(4, 5), ints(2, 0), ints(3, 1)], ARGUMENT)
    agrees(data, tmp_path, [*fine, wrong, fine[0]])


def test_a_slice_bounded_by_the_user(tmp_path: Path) -> None:
    data = run_time_slice("SLICE", (8, 2), (-1, 2), {}, 2)
    cases = [[floats(8, 2), ints(1, 0), ints(n, 2)] for n in (3, 0)]
    beyond = ([floats(8, 2), ints(1, 0), ints(4, 2)], BOUND)
    agrees(data, tmp_path, [*cases, beyond, cases[0]], max_shape=["y=3,2"])


def test_a_prefix_as_long_as_another_tensor(tmp_path: Path) -> None:
    """x[:, : y.shape[1]] * y, as converters write it."""

    def build(g: SubgraphWriter) -> None:
        x, y = g.tensor("x", "float32", [2, 5]), vary(g, "y", "float32", (2, -1))
        shape, n, end = g.tensor("shape", "int32", [2]), g.tensor("n", "int32", []), g.tensor("end", "int32", [2])
        g.operator("SHAPE", [y], [shape], {"out_type": 2})
        numbers = [g.constant(f"o{i}", ints(i)) for i in (1, 2, 1)]
        g.operator("STRIDED_SLICE", [shape, numbers[0], numbers[1], numbers[2]], [n], {"shrink_axis_mask": 1})
        g.operator("PACK", [g.constant("two", np.int32(2)), n], [end], {"values_count": 2, "axis": 0})
        head, out = vary(g, "head", "float32", (2, -1)), vary(g, "out", "float32", (2, -1))
        bounds = [g.constant("zeros", ints(0, 0)), end, g.constant("ones", ints(1, 1))]
        g.operator("STRIDED_SLICE", [x, *bounds], [head], {"begin_mask": 3})
        g.operator("MUL", [head, y], [out])
        g.inputs, g.outputs = [x, y], [out]

    agrees(one_graph(build), tmp_path, [[floats(2, 5), floats(2, n)] for n in (5, 0, 3, 1)])


# -- several inputs


def binary(first: Shape, second: Shape, out: Shape, name: str, options: dict[str, Any]) -> bytes:
    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", first), vary(g, "y", "float32", second)
        z = vary(g, "z", "float32", out)
        g.operator(name, [x, y], [z], options)
        g.inputs, g.outputs = [x, y], [z]

    return one_graph(build)


def test_two_operands_of_one_size(tmp_path: Path) -> None:
    data = binary((2, -1, -1), (-1, -1), (2, -1, -1), "ADD", {})
    cases: list[Any] = [[floats(2, n, m), floats(n, m)] for n, m in ((4, 3), (1, 5), (0, 2), (2, 0))]
    bounds = ["x=2,4,5", "y=5,6"]
    cases += [([floats(2, 3, 2), floats(2, 2)], ARGUMENT), ([floats(2, 5, 2), floats(5, 2)], BOUND)]
    agrees(data, tmp_path, cases, max_shape=bounds)


def test_a_dynamic_operand_meets_a_fixed_one(tmp_path: Path) -> None:
    data = binary((2, -1), (3,), (2, 3), "SUB", {})
    agrees(data, tmp_path, [[floats(2, 3), floats(3)], ([floats(2, 2), floats(3)], ARGUMENT)])


@pytest.mark.parametrize("adjoint", [False, True])
def test_products_of_matrices(adjoint: bool, tmp_path: Path) -> None:
    second = (-1, -1, -1)
    data = binary((-1, -1, -1), second, (-1, -1, -1), "BATCH_MATMUL", {"adj_x": False, "adj_y": adjoint})
    sizes = [(2, 3, 4, 5), (1, 5, 1, 2), (3, 1, 2, 1)]
    cases = [[floats(b, m, k), floats(b, n, k) if adjoint else floats(b, k, n)] for b, m, k, n in sizes]
    agrees(data, tmp_path, cases)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenation(axis: int, tmp_path: Path) -> None:
    data = binary((-1, -1, 2), (-1, -1, 2), (-1, -1, 2 if axis < 2 else 4), "CONCATENATION", {"axis": axis})
    cases = []
    for n, m in ((3, 2), (0, 2), (2, 0), (5, 1)):
        other = [n, m, 2]
        other[axis] = 3 if axis < 2 else 2
        cases.append([floats(n, m, 2), floats(*other)])
    agrees(data, tmp_path, cases)


def test_gather_with_dynamic_indices(tmp_path: Path) -> None:
    def build(g: SubgraphWriter) -> None:
        x, indices = vary(g, "x", "float32", (2, -1, -1)), vary(g, "indices", "int32", (-1, -1))
        y = vary(g, "y", "float32", (2, -1, -1, -1))
        g.operator("GATHER", [x, indices], [y], {"axis": 1})
        g.inputs, g.outputs = [x, indices], [y]

    sizes = [(3, 2, 1, 4), (1, 3, 5, 1), (5, 1, 0, 2)]
    cases = [[floats(2, n, m), np.arange(a * b, dtype=np.int32).reshape(a, b) % n] for n, m, a, b in sizes]
    agrees(one_graph(build), tmp_path, cases)


# -- shapes from the run time


def test_reshape_to_a_computed_shape(tmp_path: Path) -> None:
    """[n, m, 2] -> [m, n * 2], and zeros of shape [m, 3] added to something of that shape."""

    def build(g: SubgraphWriter) -> None:
        x = vary(g, "x", "float32", (-1, -1, 2))
        shape, wanted = g.tensor("shape", "int32", [3]), g.tensor("wanted", "int32", [2])
        n, m, twice = (g.tensor(name, "int32", []) for name in ("n", "m", "twice"))
        g.operator("SHAPE", [x], [shape], {"out_type": 2})
        for axis, value in ((0, n), (1, m)):
            bounds = [g.constant(f"b{axis}{i}", ints(v)) for i, v in enumerate((axis, axis + 1, 1))]
            g.operator("STRIDED_SLICE", [shape, *bounds], [value], {"shrink_axis_mask": 1})
        g.operator("MUL", [n, g.constant("two", np.int32(2))], [twice])
        g.operator("PACK", [m, twice], [wanted], {"values_count": 2, "axis": 0})
        y, filled = vary(g, "y", "float32", (-1, -1)), vary(g, "filled", "float32", (-1, 3))
        g.operator("RESHAPE", [x, wanted], [y])
        dims = g.tensor("dims", "int32", [2])
        g.operator("PACK", [m, g.constant("three", np.int32(3))], [dims], {"values_count": 2, "axis": 0})
        g.operator("FILL", [dims, g.constant("number", np.float32(1.5))], [filled])
        g.inputs, g.outputs = [x], [y, filled]

    agrees(one_graph(build), tmp_path, [[floats(n, m, 2)] for n, m in ((5, 5), (3, 2), (1, 4), (0, 2))])


def test_bools(tmp_path: Path) -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = (vary(g, name, "bool", (2, -1)) for name in "xy")
        both, turned = vary(g, "both", "bool", (2, -1)), vary(g, "turned", "bool", (-1, 2))
        g.operator("LOGICAL_OR", [x, y], [both])
        g.operator("TRANSPOSE", [both, g.constant("axes", ints(1, 0))], [turned])
        g.inputs, g.outputs = [x, y], [turned]

    cases = [[floats(2, n) > 0, floats(2, n) > 0.5] for n in (3, 5, 0, 1)]
    agrees(one_graph(build), tmp_path, cases)
