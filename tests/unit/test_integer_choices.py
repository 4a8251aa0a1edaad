"""Choices between integers, which TFLite Micro has no kernel of SELECT for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.quantized_run import quantized_run
from tflmgen.frontend.model_graph import rewrite_model
from tflmgen.frontend.tflite import Model, ModelBuilder, write_model
from tflmgen.ir import DType
from tflmgen.quantize.integer_rules import choice_by_products

LARGEST = 2**31 - 1


def chosen_among(name: str, condition: tuple[int, ...], first: tuple[int, ...]) -> Model:
    """y[2, 3] = tanh(x) and the integers that a condition on x chooses between `first` and a constant row."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(label, DType.FLOAT32, (2, 3)) for label in ("x", "y"))
    part = graph.tensor("part", DType.FLOAT32, condition)
    is_above = graph.tensor("is_above", DType.BOOL, condition)
    numbers = graph.tensor("numbers", DType.INT32, (2, 3))
    begin, size = (np.zeros(2, np.int32), np.array(condition, np.int32))
    graph.operator("SLICE", [x, graph.constant("begin", begin), graph.constant("size", size)], [part])
    graph.operator("GREATER", [part, graph.constant("limit", np.float32(0.1))], [is_above])
    a = graph.constant("a", np.resize(np.array([LARGEST, -LARGEST - 1, 7], np.int32), first))
    b = graph.constant("b", np.resize(np.array([-LARGEST - 1, LARGEST, -3], np.int32), (2, 3)))
    graph.operator(name, [is_above, a, b], [numbers])
    graph.operator("TANH", [x], [y])
    graph.inputs, graph.outputs = [x], [y, numbers]
    return builder.model()


@pytest.mark.parametrize(
    ("name", "condition", "first"),
    [
        ("SELECT", (2, 3), (2, 3)),
        ("SELECT_V2", (2, 3), ()),
        ("SELECT_V2", (2, 1), (3,)),
        ("SELECT_V2", (1, 3), (2, 1)),
    ],
)
def test_integers_are_chosen_as_in_float(
    name: str, condition: tuple[int, ...], first: tuple[int, ...], tmp_path: Path
) -> None:
    rng = np.random.default_rng(2)
    samples = [(rng.choice([-1, 1], (2, 3)).astype(np.float32),) for _ in range(12)]
    run = quantized_run(chosen_among(name, condition, first), samples)
    assert name not in run.quantized.model.operator_names
    for before, own, other in zip(run.before, run.after, run.of_tflm(tmp_path), strict=True):
        np.testing.assert_array_equal(own[1], before[1])
        np.testing.assert_array_equal(own[1], other[1])


def test_a_vector_that_chooses_among_rows_stays() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    condition = graph.tensor("c", DType.BOOL, (2,))
    a, b, y = (graph.tensor(label, DType.INT32, (2, 2)) for label in "aby")
    graph.operator("SELECT", [condition, a, b], [y])
    graph.inputs, graph.outputs = [condition, a, b], [y]
    model = builder.model()
    assert write_model(rewrite_model(model, choice_by_products)) == write_model(model)
