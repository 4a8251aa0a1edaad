"""Bounds of what loops count, and of indices that are computed from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.ir import DType
from tflmgen.quantize.loop_counters import counter_bounds, index_bounds

I32 = DType.INT32


def counting(
    compare: str,
    limit: int,
    first: int | None = 0,
    step: int = 1,
    change: str = "t + step",
    swapped: bool = False,
    joined: int | None = None,
    limit_step: int = 0,
    activation: int = 0,
) -> Model:
    """A loop with a counter t and a limit that it passes through, both int32, which the condition compares.

    first       value of t at the start; None: an input
    change      of t: "t + step", "t - step", "step - t", "t + t"
    joined      a number that t has to be less than, too
    limit_step  what each iteration adds to the limit
    activation  of the change
    """
    builder = ModelBuilder("counting", name="counting.tflite")
    main, condition, body = (builder.subgraph(name) for name in ("main", "cond", "body"))
    start = main.tensor("first", I32, ()) if first is None else main.constant("first", np.array(first, np.int32))
    results = [main.tensor("t1", I32, ()), main.tensor("limit1", I32, ())]
    operands = [start, main.constant("limit", np.array(limit, np.int32))]
    main.operator("WHILE", operands, results, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.inputs, main.outputs = [start] if first is None else [], results[:1]
    for graph in (condition, body):
        graph.inputs = [graph.tensor("t", I32, ()), graph.tensor("limit", I32, ())]
    again = condition.tensor("again", DType.BOOL, ())
    condition.operator(compare, condition.inputs[::-1] if swapped else condition.inputs, [again])
    if joined is not None:
        other, both = condition.tensor("other", DType.BOOL, ()), condition.tensor("both", DType.BOOL, ())
        number = condition.constant("number", np.array(joined, np.int32))
        condition.operator("LESS", [condition.inputs[0], number], [other])
        condition.operator("LOGICAL_AND", [again, other], [both])
        again = both
    condition.outputs = [again]
    after, later = body.tensor("after", I32, ()), body.tensor("later", I32, ())
    words = {"t": body.inputs[0], "step": body.constant("step", np.array(step, np.int32))}
    left, sign, right = change.split()
    options = {"fused_activation_function": activation}
    body.operator({"+": "ADD", "-": "SUB"}[sign], [words[left], words[right]], [after], options)
    if limit_step:
        body.operator("ADD", [body.inputs[1], body.constant("more", np.array(limit_step, np.int32))], [later])
    body.outputs = [after, later if limit_step else body.inputs[1]]
    return builder.model()


@pytest.mark.parametrize(
    ("model", "bounds"),
    [
        (counting("LESS", 7), (0, 6)),
        (counting("LESS_EQUAL", 7, first=2, step=3), (2, 5)),
        (counting("GREATER", 7, swapped=True), (0, 6)),
        (counting("GREATER", -1, first=5, step=-1), (0, 5)),
        (counting("GREATER_EQUAL", 0, first=5, change="t - step"), (0, 5)),
        (counting("LESS_EQUAL", 1, first=5, step=2, change="t - step", swapped=True), (1, 5)),
        (counting("NOT_EQUAL", 3), (0, 2)),
        (counting("LESS", 7, change="step + t"), (0, 6)),
        (counting("LESS", 7, joined=4), (0, 3)),
        (counting("GREATER", -5, joined=4), (0, 3)),
    ],
)
def test_bounds_are_what_the_counter_has_until_the_condition_fails(model: Model, bounds: tuple[int, int]) -> None:
    body = model.subgraphs[2]
    assert counter_bounds(model)[2][body.inputs[0]] == bounds


@pytest.mark.parametrize(
    "model",
    [
        counting("LESS", 7, first=None),
        counting("LESS", 7, change="step - t"),
        counting("LESS", 7, change="t + t"),
        counting("LESS", 7, step=0),
        counting("LESS", 7, activation=1),
        counting("LESS", 7, limit_step=2),
        counting("EQUAL", 0),
        counting("GREATER", -5),
        counting("GREATER", 3),
        counting("LESS", 2**31 - 1, step=2),
    ],
    ids=[
        "a start at run time",
        "the difference turned around",
        "doubled",
        "no step",
        "an activation",
        "another limit each time",
        "equal",
        "always true",
        "never true",
        "beyond int32",
    ],
)
def test_nothing_is_said_of_others(model: Model) -> None:
    assert not counter_bounds(model)[2].keys() & {model.subgraphs[2].inputs[0]}


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
        ("FLOOR_MOD", 3, None),
        ("MUL", 2**30, None),
    ],
)
def test_bounds_of_what_is_computed_from_a_counter(name: str, number: int, bounds: tuple[int, int] | None) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("body")
    graph.inputs = [graph.tensor("t", I32, ())]
    index, vector = graph.tensor("index", I32, ()), graph.tensor("vector", I32, (1,))
    graph.operator(name, [graph.inputs[0], graph.constant("n", np.array(number, np.int32))], [index])
    graph.operator("RESHAPE", [index, graph.constant("one", np.array([1], np.int32))], [vector])
    graph.outputs = [vector]
    (body,) = builder.model().subgraphs
    assert index_bounds(body, {graph.inputs[0]: (0, 6)}, vector) == bounds
    assert index_bounds(body, {}, vector) is None
