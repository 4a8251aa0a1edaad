"""Float inputs that only a branch computes with: they are quantised there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.quantized_run import QuantizedRun, quantized_run
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
from tflmgen.ir import DType

F32 = DType.FLOAT32


def gated(reads_outside: bool = False, in_both: bool = False, reshaped: bool = False) -> Model:
    """y = If(mean(x) > 0.1, W x, constant); with reads_outside, y + V x; the constant is U x if in_both."""
    rng = np.random.default_rng(5)
    builder = ModelBuilder("gated", name="gated.tflite")
    main, then, orelse = (builder.subgraph(name) for name in ("main", "then", "else"))
    shape = (4, 4) if reshaped else (1, 16)
    x = main.tensor("x", F32, shape)
    flat = main.tensor("flat", F32, (1, 16)) if reshaped else x
    if reshaped:
        main.operator("RESHAPE", [x, main.constant("shape", np.array([1, 16], np.int32))], [flat])
    mean, above, y = main.tensor("mean", F32, ()), main.tensor("above", DType.BOOL, ()), main.tensor("y", F32, (1, 4))
    main.operator("MEAN", [x, main.constant("axes", np.array([0, 1], np.int32))], [mean])
    main.operator("GREATER", [mean, main.constant("limit", np.array(0.1, np.float32))], [above])
    main.operator("IF", [above, flat], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.inputs, main.outputs = [x], [y]

    def layer(graph: SubGraphBuilder, operand: int, name: str) -> int:
        result = graph.tensor(name, F32, (1, 4))
        weights = graph.constant(f"{name}_weights", rng.normal(size=(4, 16)).astype(np.float32))
        graph.operator("FULLY_CONNECTED", [operand, weights, -1], [result])
        return result

    if reads_outside:
        total = main.tensor("total", F32, (1, 4))
        main.operator("ADD", [y, layer(main, flat, "outer")], [total])
        main.outputs = [total]
    for graph, computes in ((then, True), (orelse, in_both)):
        operand = graph.tensor("operand", F32, (1, 16))
        graph.inputs = [operand]
        constant = graph.constant("constant", np.ones((1, 4), np.float32))
        graph.outputs = [layer(graph, operand, "inner") if computes else constant]
    return builder.model()


def run(model: Model, float_io: bool = True) -> QuantizedRun:
    rng = np.random.default_rng(6)
    shape = model.subgraphs[0].tensors[0].shape
    means = np.tile([0.9, -0.7], 20)  # far from the limit
    return quantized_run(model, [(rng.uniform(m - 1, m + 1, shape).astype(np.float32),) for m in means], float_io)


@pytest.mark.parametrize("reshaped", [False, True])
def test_the_branch_that_computes_quantises(reshaped: bool, tmp_path: Path) -> None:
    result = run(gated(reshaped=reshaped))
    main, then, orelse = result.operators
    assert (then["QUANTIZE"], orelse["QUANTIZE"]) == (1, 0)
    assert main["QUANTIZE"] == 2, "the mean in int8, and as the int32 that is compared"
    for (rewritten,), (other,), (exact,) in zip(result.after, result.of_tflm(tmp_path), result.before, strict=True):
        np.testing.assert_array_equal(rewritten, other.reshape(rewritten.shape))
        np.testing.assert_allclose(rewritten, exact, atol=0.2)


@pytest.mark.parametrize("outside", ["an operator", "both branches", "integer inputs"])
def test_what_is_needed_in_any_case_is_quantised_once(outside: str) -> None:
    model = gated(reads_outside=outside == "an operator", in_both=outside == "both branches")
    main, then, orelse = run(model, outside != "integer inputs").operators
    assert (then["QUANTIZE"], orelse["QUANTIZE"]) == (0, 0)
    assert main["QUANTIZE"] == (1 if outside == "integer inputs" else 2)
