"""Values that a program only moves and chooses stay in float32; what it computes with, keeps or looks up does not."""

from __future__ import annotations

import numpy as np
import pytest
from support.quantized_run import quantized_run
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.ir import DType

SHAPE = (1, 8)


def chosen(computes: bool) -> Model:
    """a[0] > 0 ? a reversed : b, of which tanh is an output, too, if it `computes`."""
    builder = ModelBuilder()
    main, then, other = (builder.subgraph(name) for name in ("main", "then", "else"))
    main.inputs = [main.tensor(name, DType.FLOAT32, SHAPE) for name in "ab"]
    first, flag = main.tensor("first", DType.FLOAT32, (1, 1)), main.tensor("flag", DType.BOOL, (1, 1))
    bounds = [main.constant(f"n{n}", np.array([n, n], np.int32)) for n in (0, 1)]
    main.operator("SLICE", [main.inputs[0], *bounds], [first])
    main.operator("GREATER", [first, main.constant("zero", np.zeros((1, 1), np.float32))], [flag])
    main.outputs = [main.tensor("y", DType.FLOAT32, SHAPE)]
    options = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    main.operator("IF", [flag, *main.inputs], main.outputs, options)
    for branch in (then, other):
        branch.inputs = [branch.tensor(name, DType.FLOAT32, SHAPE) for name in "ab"]
    then.outputs = [then.tensor("reversed", DType.FLOAT32, SHAPE)]
    then.operator("REVERSE_V2", [then.inputs[0], then.constant("axis", np.array([1], np.int32))], then.outputs)
    other.outputs = [other.inputs[1]]
    if computes:
        main.outputs.append(main.tensor("z", DType.FLOAT32, SHAPE))
        main.operator("TANH", [main.outputs[0]], [main.outputs[1]])
    return builder.model()


def table() -> Model:
    """Rows of a constant."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    graph.inputs, graph.outputs = [graph.tensor("i", DType.INT32, (1,))], [graph.tensor("y", DType.FLOAT32, SHAPE)]
    rows = np.random.default_rng(1).normal(size=(50, 8)).astype(np.float32)
    graph.operator("GATHER", [graph.constant("rows", rows), *graph.inputs], graph.outputs)
    return builder.model()


def floats() -> list[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(3)
    return [tuple(rng.normal(size=SHAPE).astype(np.float32) for _ in range(2)) for _ in range(8)]


@pytest.mark.parametrize("computes", [False, True])
def test_what_is_only_chosen_stays_as_it_is(computes: bool) -> None:
    run = quantized_run(chosen(computes), floats())
    assert any("QUANTIZE" in names for names in run.operators) == computes
    if not computes:
        for before, after in zip(run.before, run.after, strict=True):
            np.testing.assert_array_equal(before[0], after[0])


def test_with_integer_inputs_everything_is_in_integers() -> None:
    graph = quantized_run(chosen(computes=False), floats(), float_io=False).quantized.model.subgraphs[0]
    assert {graph.tensors[i].dtype for i in (*graph.inputs, *graph.outputs)} == {DType.INT8}


def test_tables_are_in_integers() -> None:
    run = quantized_run(table(), [(np.array([k], np.int32),) for k in range(8)])
    assert run.operators[0]["DEQUANTIZE"] == 1
