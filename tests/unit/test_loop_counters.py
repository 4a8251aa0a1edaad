"""Bounds of what loops count, and of indices that are computed from it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tflmgen.frontend import Model, ModelBuilder
from tflmgen.ir import DType
from tflmgen.quantize.loop_counters import UNKNOWN, counter_bounds, index_bounds

I32 = DType.INT32


def counting(
    compare: str, limit: int, first: int = 0, step: int = 1, *, subtracts: bool = False, swapped: bool = False
) -> Model:
    """A loop with a counter and a number that it passes through, which the condition compares; both are int32."""
    builder = ModelBuilder("counting", name="counting.tflite")
    main, condition, body = (builder.subgraph(name) for name in ("main", "cond", "body"))
    start = [main.constant("first", np.array(first, np.int32)), main.constant("limit", np.array(limit, np.int32))]
    results = [main.tensor("t1", I32, ()), main.tensor("limit1", I32, ())]
    main.operator("WHILE", start, results, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.outputs = results[:1]
    for graph in (condition, body):
        graph.inputs = [graph.tensor("t", I32, ()), graph.tensor("limit", I32, ())]
    condition.outputs = [condition.tensor("again", DType.BOOL, ())]
    condition.operator(compare, condition.inputs[::-1] if swapped else condition.inputs, condition.outputs)
    after = body.tensor("after", I32, ())
    operands = [body.inputs[0], body.constant("step", np.array(step, np.int32))]
    body.operator("SUB" if subtracts else "ADD", operands, [after])
    body.outputs = [after, body.inputs[1]]
    return builder.model()


@pytest.mark.parametrize(
    ("model", "bounds"),
    [
        (counting("LESS", 7), (0, 6)),
        (counting("LESS_EQUAL", 7, first=2, step=3), (2, 7)),
        (counting("GREATER", 7, swapped=True), (0, 6)),
        (counting("GREATER", -1, first=5, step=-1), (0, 5)),
        (counting("GREATER_EQUAL", 0, first=5, subtracts=True), (0, 5)),
        (counting("LESS_EQUAL", 1, first=5, step=2, subtracts=True, swapped=True), (1, 5)),
        (counting("GREATER", 3), (0, math.inf)),
        (counting("NOT_EQUAL", 3), (0, math.inf)),
    ],
)
def test_bounds_are_those_of_start_and_condition(model: Model, bounds: tuple[float, float]) -> None:
    body = model.subgraphs[2]
    assert counter_bounds(model) == {2: {body.inputs[0]: bounds}}


def test_what_several_loops_run_is_not_bounded() -> None:
    model = counting("LESS", 7)
    main, *others = model.subgraphs
    twice = replace(main, operators=main.operators * 2)
    assert not counter_bounds(replace(model, subgraphs=(twice, *others)))


@pytest.mark.parametrize(
    ("name", "number", "bounds"),
    [
        ("ADD", 2, (2, 8)),
        ("SUB", 2, (-2, 4)),
        ("MUL", -1, (-6, 0)),
        ("MINIMUM", 3, (0, 3)),
        ("MAXIMUM", 3, (3, 6)),
        ("FLOOR_MOD", 3, UNKNOWN),
    ],
)
def test_bounds_of_what_is_computed_from_a_counter(name: str, number: int, bounds: tuple[float, float]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("body")
    graph.inputs = [graph.tensor("t", I32, ())]
    index, vector = graph.tensor("index", I32, ()), graph.tensor("vector", I32, (1,))
    graph.operator(name, [graph.inputs[0], graph.constant("n", np.array(number, np.int32))], [index])
    graph.operator("RESHAPE", [index, graph.constant("one", np.array([1], np.int32))], [vector])
    graph.outputs = [vector]
    (body,) = builder.model().subgraphs
    assert index_bounds(body, {graph.inputs[0]: (0, 6)}, vector) == bounds
    assert index_bounds(body, {}, vector) == UNKNOWN
