"""Values that join one with a fixed scale, such as that of TANH, in an If, a loop or a call, are not clipped to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.silent_watcher import SilentWatcher
from tflmgen.compare.oracle import tflm_outputs
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder, parse_model, write_model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir import DType
from tflmgen.quantize import observed_build
from tflmgen.quantize.calibration import calibrate
from tflmgen.quantize.group_ranges import range_choice
from tflmgen.quantize.model_quantization import QuantizationChoice, QuantizedModel, prepare_float, quantize_model
from tflmgen.quantize.range_choice import RangeMethod
from tflmgen.quantize.statistics import Calibration

F32, INT32, BOOL = DType.FLOAT32, DType.INT32, DType.BOOL
SHAPE = (1, 8)
Array = NDArray[np.float32]
Maker = Callable[[str], Model]


def fixed(graph: SubGraphBuilder, name: str) -> None:
    """The graph computes one operator with a fixed scale."""
    x, y = graph.tensor("x", F32, SHAPE), graph.tensor("y", F32, SHAPE)
    graph.operator(name, [x], [y], {"beta": 1.0} if name == "SOFTMAX" else {})
    graph.inputs, graph.outputs = [x], [y]


def layer(graph: SubGraphBuilder, source: int) -> int:
    """3 x, by a matrix."""
    y = graph.tensor("wide", F32, SHAPE)
    graph.operator("FULLY_CONNECTED", [source, graph.constant("weights", 3 * np.eye(8, dtype=np.float32)), -1], [y])
    return y


def wide(graph: SubGraphBuilder) -> None:
    """The graph computes 3 x."""
    graph.inputs = [graph.tensor("x", F32, SHAPE)]
    graph.outputs = [layer(graph, graph.inputs[0])]


def decision(graph: SubGraphBuilder, x: int) -> int:
    """x[0] > 0."""
    first, flag = graph.tensor("first", F32, (1, 1)), graph.tensor("flag", BOOL, (1, 1))
    bounds = [graph.constant(f"bound{n}", np.array(n, np.int32)) for n in ((0, 0), (1, 1))]
    graph.operator("SLICE", [x, *bounds], [first])
    graph.operator("GREATER", [first, graph.constant("zero", np.zeros((1, 1), np.float32))], [flag])
    result = graph.tensor("decision", BOOL, ())
    graph.operator("RESHAPE", [flag, graph.constant("scalar", np.zeros(0, np.int32))], [result])
    return result


def choose(graph: SubGraphBuilder, x: int, then: int, other: int) -> int:
    result = graph.tensor("chosen", F32, SHAPE)
    branches = {"then_subgraph_index": then, "else_subgraph_index": other}
    graph.operator("IF", [decision(graph, x), x], [result], branches)
    return result


def branches(name: str) -> Model:
    """x[0] > 0 ? name(x) : 3 x."""
    builder = ModelBuilder()
    main, then, other = (builder.subgraph(title) for title in ("main", "then", "else"))
    main.inputs = [main.tensor("x", F32, SHAPE)]
    main.outputs = [choose(main, main.inputs[0], 1, 2)]
    fixed(then, name)
    wide(other)
    return builder.model()


def branches_in_branches(name: str) -> Model:
    """x[0] > 0 ? name(x) : (x[0] > 0 ? name(x) : 3 x)."""
    builder = ModelBuilder()
    main, then, other, inner, last = (builder.subgraph(title) for title in ("main", "then", "else", "inner", "last"))
    main.inputs, other.inputs = [main.tensor("x", F32, SHAPE)], [other.tensor("x", F32, SHAPE)]
    main.outputs = [choose(main, main.inputs[0], 1, 2)]
    other.outputs = [choose(other, other.inputs[0], 3, 4)]
    for graph in (then, inner):
        fixed(graph, name)
    wide(last)
    return builder.model()


def branches_in_a_loop(name: str) -> Model:
    """x = x[0] > 0 ? name(x) : 3 x, once."""
    builder = ModelBuilder()
    main, condition, body, then, other = (builder.subgraph(n) for n in ("main", "cond", "body", "then", "else"))
    limit = {graph.name: graph.constant("one", np.array(1, np.int32)) for graph in (condition, body)}
    for graph in (condition, body):
        graph.inputs = [graph.tensor("count", INT32, ()), graph.tensor("v", F32, SHAPE)]
    condition.outputs = [condition.tensor("goes_on", BOOL, ())]
    condition.operator("LESS", [condition.inputs[0], limit["cond"]], condition.outputs)
    count = body.tensor("next", INT32, ())
    body.operator("ADD", [body.inputs[0], limit["body"]], [count])
    body.outputs = [count, choose(body, body.inputs[1], 3, 4)]
    main.inputs = [main.tensor("x", F32, SHAPE)]
    results = [main.tensor("counted", INT32, ()), main.tensor("y", F32, SHAPE)]
    loop = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    main.operator("WHILE", [main.constant("0", np.array(0, np.int32)), main.inputs[0]], results, loop)
    main.outputs = results[1:]
    fixed(then, name)
    wide(other)
    return builder.model()


def loop_that_may_not_run(name: str) -> Model:
    """v = name(x); while v[0] < 0: v = 3 |v|."""
    builder = ModelBuilder()
    main, condition, body = (builder.subgraph(title) for title in ("main", "cond", "body"))
    condition.inputs, body.inputs = [condition.tensor("v", F32, SHAPE)], [body.tensor("v", F32, SHAPE)]
    goes_on = condition.tensor("goes_on", BOOL, ())
    condition.operator("LOGICAL_NOT", [decision(condition, condition.inputs[0])], [goes_on])
    condition.outputs = [goes_on]
    magnitude = body.tensor("magnitude", F32, SHAPE)
    body.operator("ABS", body.inputs, [magnitude])
    body.outputs = [layer(body, magnitude)]
    fixed(main, name)
    v = main.outputs[0]
    main.outputs = [main.tensor("last", F32, SHAPE)]
    main.operator("WHILE", [v], main.outputs, {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    return builder.model()


def calls_in_branches(name: str) -> Model:
    """x[0] > 0 ? name(x) : CALL(3 x)."""
    builder = ModelBuilder()
    main, then, other, callee = (builder.subgraph(title) for title in ("main", "then", "else", "callee"))
    main.inputs, other.inputs = [main.tensor("x", F32, SHAPE)], [other.tensor("x", F32, SHAPE)]
    main.outputs = [choose(main, main.inputs[0], 1, 2)]
    other.outputs = [other.tensor("called", F32, SHAPE)]
    other.operator("CALL", other.inputs, other.outputs, {"subgraph": 3})
    fixed(then, name)
    wide(callee)
    return builder.model()


def samples(first: float | None) -> Vectors:
    """Inputs from -0.9 to 0.9, whose first element decides."""
    rng = np.random.default_rng(3)
    values = [rng.uniform(-0.9, 0.9, SHAPE).astype(np.float32) for _ in range(16)]
    for x in values:
        x[0, 0] = x[0, 0] if first is None else first
    return Vectors(tuple(VectorSet("", 0, (x,)) for x in values))


def outputs(model: Model, vectors: Vectors) -> Array:
    with observed_build(model) as build:
        return np.stack([arrays[0] for arrays in build.run(vectors.sets, False, SilentWatcher())])


def quantised(source: Model, calibration: Calibration, method: RangeMethod) -> QuantizedModel:
    return quantize_model(source, calibration, QuantizationChoice(choose_range=range_choice(calibration, method)))


MODELS = (branches, branches_in_branches, branches_in_a_loop, loop_that_may_not_run, calls_in_branches)
OTHERS = [(branches, name, method) for name in ("LOGISTIC", "SOFTMAX", "L2_NORMALIZATION") for method in RangeMethod]


@pytest.mark.parametrize(
    ("make", "name", "method"),
    [*((make, "TANH", RangeMethod.MIN_MAX) for make in MODELS), (branches, "TANH", RangeMethod.MSE), *OTHERS[::4]],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_calibration_never_reached_is_not_clipped(
    make: Maker, name: str, method: RangeMethod, tmp_path: Path
) -> None:
    source = prepare_float(parse_model(write_model(make(name)), "joined"))
    quantized = quantised(source, calibrate(source, samples(0.5)), method)
    assert not quantized.assignment.notes
    unseen = samples(-0.5)
    wanted, got = outputs(source, unseen), outputs(quantized.model, unseen)
    assert np.abs(wanted - got).max() < 0.1
    if make is calls_in_branches:  # TFLite Micro has no CALL.
        return
    file = tmp_path / "quantized.tflite"
    file.write_bytes(quantized.data)
    of_tflm = np.stack([arrays[0] for arrays in tflm_outputs(file, unseen.sets, 1 << 20, 120)])
    np.testing.assert_array_equal(got, of_tflm.reshape(got.shape))


@pytest.mark.parametrize("make", MODELS[2:4], ids=lambda make: make.__name__)
def test_what_calibration_reached_is_not_clipped(make: Maker) -> None:
    source = prepare_float(parse_model(write_model(make("TANH")), "joined"))
    seen = samples(None)
    quantized = quantised(source, calibrate(source, seen), RangeMethod.MIN_MAX)
    assert np.abs(outputs(source, seen) - outputs(quantized.model, seen)).max() < 0.1
