"""Tensors whose first dimension is known at run time only, from file to C, under sanitizers.

Rows that are not in use hold poison in all inputs: it must reach no row that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.dynamic_models import finish, growing_loop, one_graph, open_tensor
from support.model_writer import ModelWriter, SubgraphWriter
from support.native import Invocation, build_native, run_native
from tflmgen.compiler import Compilation, compile_model
from tflmgen.ir.kernel.call import Target
from tflmgen.options import BuildOptions

Array = NDArray[Any]
BOUND, ARGUMENT = 1, 3


def compiled(data: bytes, folder: Path, max_shape: Sequence[str] = (), max_dim: int | None = None) -> Compilation:
    path = folder / "m.tflite"
    path.write_bytes(data)
    return compile_model(path, Target("host"), BuildOptions(max_shape=list(max_shape), max_dim=max_dim))


def run(compilation: Compilation, cases: Sequence[tuple[Sequence[Array], int]]) -> list[tuple[Array, ...]]:
    """The outputs of each case: inputs, and the status to expect."""
    program = build_native({compilation.name: compilation.sources})
    calls = [Invocation(0, 0, tuple(inputs), status) for inputs, status in cases]
    return run_native(program, calls, [compilation.module.signatures])


def check(compilation: Compilation, cases: Sequence[tuple[Sequence[Array], Sequence[Array] | int]]) -> None:
    """Each case: inputs, and the outputs or the status to expect."""
    got = run(compilation, [(inputs, wanted if isinstance(wanted, int) else 0) for inputs, wanted in cases])
    for (_, wanted), outputs in zip(cases, got, strict=True):
        for array, other in zip(outputs, () if isinstance(wanted, int) else wanted, strict=True):
            assert array.shape == other.shape
            np.testing.assert_allclose(array, other, rtol=1e-6)


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=shape).astype(np.float32)


def number(n: int) -> list[Array]:
    return [np.array(n, np.int32)]


# -- inputs


def _sum_and_dense(g: SubgraphWriter) -> None:
    x, y = (open_tensor(g, name, "float32", [3]) for name in "xy")
    total, out = open_tensor(g, "total", "float32", [3]), open_tensor(g, "out", "float32", [2])
    weights = g.constant("weights", np.arange(6, dtype=np.float32).reshape(2, 3))
    g.operator("ADD", [x, y], [total])
    g.operator("FULLY_CONNECTED", [total, weights, -1], [out])
    g.inputs, g.outputs = [x, y], [total, out]


@pytest.mark.parametrize("bounds", [{"max_dim": 4}, {"max_shape": ["x=4,3", "y=7,3"]}])
def test_two_inputs(bounds: dict[str, Any], tmp_path: Path) -> None:
    compilation = compiled(one_graph(_sum_and_dense), tmp_path, **bounds)
    rng = np.random.default_rng(1)
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    cases: list[Any] = []
    for rows in (4, 0, 1, 3):
        x, y = floats(rng, rows, 3), floats(rng, rows, 3)
        cases.append(((x, y), (x + y, (x + y) @ weights.T)))
    cases += [((floats(rng, 2, 3), floats(rng, 3, 3)), ARGUMENT), ((floats(rng, 5, 3), floats(rng, 4, 3)), BOUND)]
    check(compilation, [*cases, *cases[:2]])


def test_bools_not_in_use_are_bools(tmp_path: Path) -> None:
    def build(g: SubgraphWriter) -> None:
        x, y = (open_tensor(g, name, "bool", []) for name in "xy")
        both = open_tensor(g, "both", "bool", [])
        joined = open_tensor(g, "joined", "bool", [])
        g.operator("LOGICAL_AND", [x, y], [both])
        g.operator("CONCATENATION", [both, x], [joined], {"axis": 0})
        g.inputs, g.outputs = [x, y], [joined]

    x, y = np.array([True, False, True]), np.array([True, True, False])
    compilation = compiled(one_graph(build), tmp_path, max_dim=5)
    check(compilation, [((x, y), (np.concatenate([x & y, x]),)), ((x[:0], y[:0]), (x[:0],))])


def _unrows(g: SubgraphWriter) -> None:
    """Everything that reads how many rows there are."""
    x = open_tensor(g, "x", "float32", [4])
    g.inputs = [x]
    axes = g.constant("axes", np.array([0], np.int32))
    all_axes = g.constant("all_axes", np.array([1, 0], np.int32))
    for name in ("SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN"):
        g.outputs.append(g.tensor(name, "float32", [4]))
        g.operator(name, [x, axes], [g.outputs[-1]], {"keep_dims": False})
    g.outputs.append(g.tensor("all", "float32", []))
    g.operator("MEAN", [x, all_axes], [g.outputs[-1]], {"keep_dims": False})
    shape = g.tensor("shape", "int32", [2])
    g.operator("SHAPE", [x], [shape], {"out_type": 2})
    g.outputs.append(shape)
    begin, end, strides = (g.constant(n, np.array([v], np.int32)) for n, v in (("b", 0), ("e", 1), ("o", 1)))
    rows = g.tensor("rows", "int32", [])
    g.operator("STRIDED_SLICE", [shape, begin, end, strides], [rows], {"shrink_axis_mask": 1})
    two = g.constant("two", np.int32(2))
    wanted = g.tensor("wanted", "int32", [3])
    g.operator("PACK", [rows, two, two], [wanted], {"values_count": 3, "axis": 0})
    square = g.tensor("square", "float32", [1, 2, 2], shape_signature=[-1, 2, 2])
    g.operator("RESHAPE", [x, wanted], [square])
    pairs = open_tensor(g, "pairs", "float32", [2])
    g.operator("RESHAPE", [x, g.constant("pairs_shape", np.array([-1, 2], np.int32))], [pairs])
    tail, last = open_tensor(g, "tail", "float32", [4]), g.tensor("last", "float32", [4])
    first, minus = (g.constant(f"at{v}", np.array([v], np.int32)) for v in (1, -1))
    g.operator("STRIDED_SLICE", [x, first, begin, strides], [tail], {"end_mask": 1})
    g.operator("STRIDED_SLICE", [x, minus, begin, strides], [last], {"shrink_axis_mask": 1})
    first_two = g.tensor("first_two", "float32", [2, 4])
    sizes = [g.constant(f"s{i}", np.array(v, np.int32)) for i, v in enumerate(([0, 0], [2, 4]))]
    g.operator("SLICE", [x, *sizes], [first_two])
    picked = g.tensor("picked", "float32", [3, 4])
    g.operator("GATHER", [x, g.constant("indices", np.array([1, 0, 1], np.int32))], [picked], {"axis": 0})
    rank = g.tensor("rank", "int32", [])
    g.operator("RANK", [x], [rank])
    g.outputs += [square, pairs, tail, last, first_two, picked, rank]


def test_operators_that_read_the_number_of_rows(tmp_path: Path) -> None:
    compilation = compiled(one_graph(_unrows), tmp_path, max_dim=6)
    rng = np.random.default_rng(2)

    def case(rows: int) -> tuple[Any, Any]:
        x = floats(rng, rows, 4) - 3
        shapes = x.reshape(rows, 2, 2), x.reshape(-1, 2)
        picked = x[1:], x[-1], x[:2], x[[1, 0, 1]]
        reduced = x.sum(0), x.mean(0), x.max(0), x.min(0), x.mean()
        return (x,), (*reduced, np.array([rows, 4]), *shapes, *picked, np.array(2))

    check(compilation, [case(6), case(2), case(5), ((floats(rng, 1, 4),), ARGUMENT), case(3)])


def test_rows_become_more_or_fewer(tmp_path: Path) -> None:
    def build(g: SubgraphWriter) -> None:
        """A tensor with itself, and what a dense layer makes of each of its pairs."""
        x = open_tensor(g, "x", "int32", [2, 2])
        twice, flat = open_tensor(g, "twice", "int32", [2, 2]), open_tensor(g, "flat", "int32", [])
        g.operator("CONCATENATION", [x, x, g.constant("c", np.full((1, 2, 2), 9, np.int32)), x], [twice], {"axis": 0})
        g.operator("RESHAPE", [twice, g.constant("minus", np.array([-1], np.int32))], [flat])
        g.inputs, g.outputs = [x], [twice, flat]

    compilation = compiled(one_graph(build), tmp_path, max_dim=3)
    cases: list[Any] = []
    for rows in (3, 0, 2):
        x = np.arange(rows * 4, dtype=np.int32).reshape(rows, 2, 2)
        twice = np.concatenate([x, x, np.full((1, 2, 2), 9, np.int32), x])
        cases.append(((x,), (twice, twice.reshape(-1))))
    check(compilation, cases)


# -- loops


def _counter_row(body: SubgraphWriter, counter: int, rows: int) -> int:
    """[counter, counter] as int8."""
    del rows
    twice = body.tensor("twice", "int32", [1, 2])
    pair = body.tensor("pair", "int32", [2])
    out = body.tensor("row", "int8", [1, 2])
    body.operator("PACK", [counter, counter], [pair], {"values_count": 2, "axis": 0})
    body.operator("RESHAPE", [pair, body.constant("shape", np.array([1, 2], np.int32))], [twice])
    body.operator("CAST", [twice], [out], {"in_data_type": 2, "out_data_type": 9})
    return out


def _grown(n: int, start: int) -> Array:
    counters = np.repeat(np.arange(n, dtype=np.int8), 2).reshape(n, 2)
    return np.concatenate([np.zeros((start, 2), np.int8), counters])


@pytest.mark.parametrize("bounds", [{"max_dim": 6}, {"max_shape": ["body:rows=6,2"]}, {"max_shape": ["grown=6,2"]}])
def test_a_loop_that_grows(bounds: dict[str, Any], tmp_path: Path) -> None:
    compilation = compiled(growing_loop("int8", [2], _counter_row), tmp_path, **bounds)
    cases = [(number(n), (_grown(n, 1),)) for n in (3, 0, 5)]
    check(compilation, [*cases, (number(6), BOUND), (number(100), BOUND), *cases])


def test_the_rows_appended_move_alone(tmp_path: Path) -> None:
    compilation = compiled(growing_loop("int8", [2], _counter_row), tmp_path, max_dim=64)
    copies = [c for c in compilation.plan["copies"] if c["per"] == "iteration" and c["kind"] == "copy"]
    assert sum(c["bytes"] for c in copies) <= 8


def test_a_loop_that_grows_from_nothing(tmp_path: Path) -> None:
    compilation = compiled(growing_loop("int8", [2], _counter_row, start=0), tmp_path, max_dim=3)
    check(compilation, [(number(0), (_grown(0, 0),)), (number(3), (_grown(3, 0),)), (number(4), BOUND)])


def test_a_known_number_of_trips_bounds_what_grows(tmp_path: Path) -> None:
    compilation = compiled(growing_loop("int8", [2], _counter_row, start=2, trips=5), tmp_path)
    (output,) = compilation.module.signatures[0].outputs
    assert str(output.type) in ("int8[<=7,2]", "int8[7,2]")
    check(compilation, [((), (_grown(5, 2),))])


def _if_row(body: SubgraphWriter, counter: int, rows: int) -> int:
    """One row, or none of `rows` where the counter is odd, by an IF."""
    odd, rest = body.tensor("odd", "bool", []), body.tensor("rest", "int32", [])
    two, unit = body.constant("two", np.int32(2)), body.constant("one_more", np.int32(1))
    body.operator("FLOOR_MOD", [counter, two], [rest])
    body.operator("EQUAL", [rest, unit], [odd])
    appended = open_tensor(body, "appended", "float32", [])
    indices = {"then_subgraph_index": 3, "else_subgraph_index": 4}
    body.operator("IF", [odd, rows, counter], [appended], indices)
    for name, begin, end in (("nothing", 0, 0), ("something", 0, 1)):
        inner = body.model.subgraph(name)
        x, n = open_tensor(inner, "x", "float32", []), inner.tensor("n", "int32", [])
        out = open_tensor(inner, "out", "float32", [])
        bounds = [inner.constant(k, np.array([v], np.int32)) for k, v in (("b", begin), ("e", end), ("s", 1))]
        if end:
            vector, cast = inner.tensor("vector", "int32", [1]), inner.tensor("cast", "float32", [1])
            inner.operator("RESHAPE", [n, inner.constant("shape", np.array([1], np.int32))], [vector])
            inner.operator("CAST", [vector], [cast], {"in_data_type": 2, "out_data_type": 0})
            first = open_tensor(inner, "first", "float32", [])
            inner.operator("STRIDED_SLICE", [x, *bounds], [first])
            inner.operator("CONCATENATION", [cast, first], [out], {"axis": 0})
        else:
            inner.operator("STRIDED_SLICE", [x, *bounds], [out])
        inner.inputs, inner.outputs = [x, n], [out]
    return appended


def test_an_if_in_a_loop_that_grows(tmp_path: Path) -> None:
    compilation = compiled(growing_loop("float32", [], _if_row), tmp_path, max_dim=9)

    def expected(n: int) -> Array:
        rows = np.zeros(1, np.float32)
        for i in range(n):
            rows = np.concatenate([rows, [] if i % 2 else [i, rows[0]]]).astype(np.float32)
        return rows

    check(compilation, [(number(n), (expected(n),)) for n in (0, 1, 2, 5, 8)] + [(number(9), BOUND)])


def _doubling(g: SubgraphWriter, counter: int, rows: int) -> int:
    del g, counter
    return rows


def test_a_loop_that_doubles(tmp_path: Path) -> None:
    compilation = compiled(growing_loop("float32", [3], _doubling), tmp_path, max_dim=9)
    check(compilation, [(number(n), (np.zeros((2**n, 3), np.float32),)) for n in (0, 1, 3)] + [(number(4), BOUND)])


def test_a_loop_that_takes_rows_away(tmp_path: Path) -> None:
    w = ModelWriter()
    g, condition, body = (w.subgraph(name) for name in ("main", "condition", "body"))
    x = g.tensor("x", "float32", [5])
    least, out = g.tensor("least", "float32", []), open_tensor(g, "out", "float32", [])
    loop = [out, g.tensor("least_out", "float32", [])]
    g.operator("WHILE", [x, least], loop, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    g.inputs, g.outputs = [x, least], [out]
    for inner in (condition, body):
        inner.inputs = [open_tensor(inner, "rows", "float32", []), inner.tensor("limit", "float32", [])]
    total, go_on = condition.tensor("total", "float32", []), condition.tensor("go_on", "bool", [])
    axes = condition.constant("axes", np.array([0], np.int32))
    condition.operator("SUM", [condition.inputs[0], axes], [total], {"keep_dims": False})
    condition.operator("GREATER", [total, condition.inputs[1]], [go_on])
    condition.outputs = [go_on]
    shorter = open_tensor(body, "shorter", "float32", [])
    bounds = [body.constant(k, np.array([v], np.int32)) for k, v in (("b", 1), ("e", 0), ("s", 1))]
    body.operator("STRIDED_SLICE", [body.inputs[0], *bounds], [shorter], {"end_mask": 1})
    body.outputs = [shorter, body.inputs[1]]
    compilation = compiled(finish(w, g), tmp_path)
    x_values = np.array([5, 4, 3, 2, 1], np.float32)

    def expected(limit: float) -> Array:
        rows = x_values
        while rows.sum() > limit:
            rows = rows[1:]
        return rows

    limits = (20.0, 9.0, 3.0, 0.0)
    check(compilation, [((x_values, np.array(limit, np.float32)), (expected(limit),)) for limit in limits])


# -- functions


def test_a_function_that_is_called_with_different_rows(tmp_path: Path) -> None:
    """x joined with itself, twice over, by two calls of one subgraph."""
    w = ModelWriter()
    g, double = w.subgraph("main"), w.subgraph("double")
    x, two, four = (open_tensor(g, name, "float32", [2]) for name in ("x", "two", "four"))
    g.operator("CALL", [x], [two], {"subgraph": 1})
    g.operator("CALL", [two], [four], {"subgraph": 1})
    g.inputs, g.outputs = [x], [two, four]
    inner, out = open_tensor(double, "inner", "float32", [2]), open_tensor(double, "out", "float32", [2])
    double.operator("CONCATENATION", [inner, inner], [out], {"axis": 0})
    double.inputs, double.outputs = [inner], [out]
    compilation = compiled(finish(w, g), tmp_path, max_shape=["x=3,2"])
    rng = np.random.default_rng(3)
    cases = [((v := floats(rng, rows, 2),), (np.tile(v, (2, 1)), np.tile(v, (4, 1)))) for rows in (3, 0, 2)]
    check(compilation, cases)
