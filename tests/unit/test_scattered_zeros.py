"""SCATTER_ND in int8: elements without an update are the integer 0, which has to stand for the number 0."""

from __future__ import annotations

import numpy as np
import pytest
from support.quantized_run import QuantizedRun, quantized_run
from tflmgen.frontend.tflite import ModelBuilder, parse_model, write_model
from tflmgen.ir import DType

F32 = DType.FLOAT32
ROW = (4,)


def scattered(activation: str, places: list[int], dtype: DType = DType.INT8) -> QuantizedRun:
    """Scatters activation(x) over eight elements, and adds 0.5 to each; x is between 0 and 3."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, updates = (graph.tensor(name, F32, ROW) for name in ("x", "updates"))
    wide, y = (graph.tensor(name, F32, (8,)) for name in ("wide", "y"))
    graph.operator(activation, [x], [updates])
    indices = graph.constant("indices", np.array(places, np.int32).reshape(4, 1))
    shape, half = graph.constant("shape", np.array([8], np.int32)), graph.constant("half", np.float32(0.5))
    graph.operator("SCATTER_ND", [indices, updates, shape], [wide])
    graph.operator("ADD", [wide, half], [y])
    graph.inputs, graph.outputs = [x], [y]
    rng = np.random.default_rng(5)
    inputs = [(rng.uniform(0, 3, ROW).astype(np.float32),) for _ in range(12)]
    return quantized_run(parse_model(write_model(builder.model()), "scatter"), inputs, activations=dtype)


@pytest.mark.parametrize("activation", ["RELU", "LOGISTIC"])
@pytest.mark.parametrize("places", [[6, 0, 3, 1], [6, 0, 6, 1]], ids=["apart", "meeting"])
def test_elements_without_an_update_are_0(activation: str, places: list[int]) -> None:
    run = scattered(activation, places)
    graph = run.quantized.model.subgraphs[0]
    scatter = next(op for op in graph.operators if op.name == "SCATTER_ND")
    tensor = graph.tensors[scatter.outputs[0]]
    assert tensor.dtype is DType.INT8
    assert tensor.quantization is not None
    assert tensor.quantization.zero_point == 0
    for (expected,), (actual,) in zip(run.before, run.after, strict=True):
        np.testing.assert_allclose(actual, expected, atol=3 * tensor.quantization.scale)


def test_numbers_of_int16_are_scattered_as_they_are() -> None:
    run = scattered("RELU", [6, 0, 3, 1], DType.INT16)
    for (expected,), (actual,) in zip(run.before, run.after, strict=True):
        np.testing.assert_allclose(actual, expected, atol=5e-4)
