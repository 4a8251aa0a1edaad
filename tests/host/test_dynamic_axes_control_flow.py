"""If, While and functions over tensors with dimensions at any axis that are known at run time only: against LiteRT."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_axes import BOUND, agrees, compiled, floats, ints, vary
from support.dynamic_models import finish
from support.model_writer import ModelWriter
from support.native import Invocation, build_native, run_native
from tflmgen.errors import ModelError


def test_branches_that_differ_in_an_inner_dimension(tmp_path: Path) -> None:
    w = ModelWriter()
    g, *inner = (w.subgraph(name) for name in ("main", "then", "else"))
    flag, x = g.tensor("flag", "bool", []), vary(g, "x", "float32", (2, -1))
    out = vary(g, "out", "float32", (2, -1))
    g.operator("IF", [flag, x], [out], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    g.inputs, g.outputs = [flag, x], [out]
    for graph, name in zip(inner, ("CONCATENATION", "NEG"), strict=True):
        inside, result = vary(graph, "inside", "float32", (2, -1)), vary(graph, "made", "float32", (2, -1))
        joined = [inside, graph.constant("more", floats(2, 3))]
        graph.operator(
            name, joined if name == "CONCATENATION" else [inside], [result], {"axis": 1} if name != "NEG" else {}
        )
        graph.inputs, graph.outputs = [inside], [result]
    cases = [[np.array(flag), floats(2, n)] for flag in (True, False) for n in (5, 0, 2)]
    agrees(finish(w, g), tmp_path, cases)


def _loop(trips: int | None) -> bytes:
    """state[2, 1, 1] gets a column of its own sums each time, and a row every time, n times."""
    w = ModelWriter()
    g, condition, body = (w.subgraph(name) for name in ("main", "condition", "body"))
    limit = g.tensor("n", "int32", []) if trips is None else g.constant("n", np.int32(trips))
    init = g.constant("init", floats(2, 1, 1))
    shape = (2, -1, -1)
    outputs = [g.tensor("count", "int32", []), vary(g, "grown", "float32", shape), g.tensor("n_out", "int32", [])]
    loop = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    g.operator("WHILE", [g.constant("zero", np.int32(0)), init, limit], outputs, loop)
    g.inputs, g.outputs = [] if trips else [limit], [outputs[1]]
    for graph in (condition, body):
        state = vary(graph, "state", "float32", shape)
        graph.inputs = [graph.tensor("i", "int32", []), state, graph.tensor("limit", "int32", [])]
    condition.outputs = [condition.tensor("go_on", "bool", [])]
    condition.operator("LESS", [condition.inputs[0], condition.inputs[2]], condition.outputs)
    counter, state, _ = body.inputs
    following, column = body.tensor("next", "int32", []), vary(body, "column", "float32", (2, -1, 1))
    wider, row, higher = (vary(body, name, "float32", shape) for name in ("wider", "row", "higher"))
    body.operator("ADD", [counter, body.constant("one", np.int32(1))], [following])
    body.operator("SUM", [state, body.constant("axis", ints(2))], [column], {"keep_dims": True})
    body.operator("CONCATENATION", [column, state], [wider], {"axis": 2})
    body.operator("REDUCE_MAX", [wider, body.constant("rows", ints(1))], [row], {"keep_dims": True})
    body.operator("CONCATENATION", [wider, row], [higher], {"axis": 1})
    body.outputs = [following, higher, body.inputs[2]]
    return finish(w, g)


@pytest.mark.parametrize(
    "bounds", [{"max_dim": 5}, {"max_shape": ["grown=2,5,5"]}, {"max_shape": ["body:state=2,5,5"]}]
)
def test_a_loop_that_grows_in_two_dimensions(bounds: dict[str, Any], tmp_path: Path) -> None:
    cases: list[Any] = [[np.array(n, np.int32)] for n in (4, 0, 1, 3)]
    agrees(_loop(None), tmp_path, [*cases, ([np.array(5, np.int32)], BOUND), cases[0]], **bounds)


def test_a_loop_of_known_trips_needs_no_bound(tmp_path: Path) -> None:
    data = _loop(3)
    assert compiled(data, tmp_path).module.signatures[0].outputs[0].type.max_shape == (2, 4, 4)
    agrees(data, tmp_path, [[]], max_dim=50)


def test_a_loop_that_grows_is_told_with_its_dimensions(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="--max-shape 'body:state=2,N,N', or --max-dim N"):
        compiled(_loop(None), tmp_path)


def test_a_function_of_inner_dimensions(tmp_path: Path) -> None:
    w = ModelWriter()
    g, widen = w.subgraph("main"), w.subgraph("widen")
    x, two, four = (vary(g, name, "float32", (2, -1)) for name in ("x", "two", "four"))
    g.operator("CALL", [x], [two], {"subgraph": 1})
    g.operator("CALL", [two], [four], {"subgraph": 1})
    g.inputs, g.outputs = [x], [two, four]
    inner, out = vary(widen, "inner", "float32", (2, -1)), vary(widen, "out", "float32", (2, -1))
    widen.operator("CONCATENATION", [inner, inner], [out], {"axis": 1})
    widen.inputs, widen.outputs = [inner], [out]
    compilation = compiled(finish(w, g), tmp_path, max_shape=["x=2,3"])
    arrays = [floats(2, n) for n in (3, 0, 2)]
    calls = [Invocation(0, 0, (array,)) for array in arrays]
    program = build_native({compilation.name: compilation.sources})
    for array, outputs in zip(arrays, run_native(program, calls, [compilation.module.signatures]), strict=True):
        assert np.array_equal(outputs[0], np.tile(array, 2))
        assert np.array_equal(outputs[1], np.tile(array, 4))
