"""Ranges that no sample measures: those that the file records, and those of branches that calibration never reaches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.quantized_run import quantized_run
from support.silent_watcher import SilentWatcher
from tflmgen.frontend.model_graph import constant_values
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder, parse_model, write_model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir import DType, Quantization
from tflmgen.quantize import observed_build
from tflmgen.quantize.calibration import calibrate
from tflmgen.quantize.model_quantization import QuantizationChoice, prepare_float, quantize_model

F32 = DType.FLOAT32
SHAPE = (1, 8)
Sets = list[tuple[NDArray[np.float32], ...]]


def samples(low: float, high: float, count: int = 12) -> Sets:
    rng = np.random.default_rng(3)
    return [(rng.uniform(low, high, SHAPE).astype(np.float32),) for _ in range(count)]


def fake_quantised(bits: int = 8) -> Model:
    """tanh(FAKE_QUANT(x) * 1), with a range of -4 to 4 that samples do not reach."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, rounded, y = (graph.tensor(name, F32, SHAPE) for name in ("x", "rounded", "y"))
    graph.operator("FAKE_QUANT", [x], [rounded], {"min": -4.0, "max": 4.0, "num_bits": bits})
    graph.operator("TANH", [rounded], [y])
    graph.inputs, graph.outputs = [x], [y]
    return parse_model(write_model(builder.model()), "fake")


def test_the_range_of_fake_quant_is_taken(tmp_path: Path) -> None:
    result = quantized_run(fake_quantised(), samples(-0.5, 0.5), float_io=True)
    graph = result.quantized.model.subgraphs[0]
    assert [op.name for op in graph.operators] == ["QUANTIZE", "TANH", "DEQUANTIZE"]
    quantization = graph.tensors[graph.operators[0].outputs[0]].quantization
    assert quantization is not None
    assert quantization.scale == pytest.approx(8 / 255)
    for (ours,), (theirs,) in zip(result.after, result.of_tflm(tmp_path), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def quantised_and_back(is_read: bool = False) -> Model:
    """tanh(DEQUANTIZE(QUANTIZE(x))) in uint8 from -4 to 4, as converters write FAKE_QUANT; the integers may be read."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    rounding = Quantization((8 / 255,), (128,))
    x, rounded, y = (graph.tensor(name, F32, SHAPE) for name in ("x", "rounded", "y"))
    integers = graph.tensor("integers", DType.UINT8, SHAPE, rounding)
    graph.operator("QUANTIZE", [x], [integers])
    graph.operator("DEQUANTIZE", [integers], [rounded])
    graph.operator("TANH", [rounded], [y])
    graph.inputs, graph.outputs = [x], [y, integers] if is_read else [y]
    return parse_model(write_model(builder.model()), "pair")


def test_a_conversion_there_and_back_is_a_range_as_fake_quant_is(tmp_path: Path) -> None:
    result = quantized_run(quantised_and_back(), samples(-0.5, 0.5), float_io=True)
    graph = result.quantized.model.subgraphs[0]
    assert [op.name for op in graph.operators] == ["QUANTIZE", "TANH", "DEQUANTIZE"]
    quantization = graph.tensors[graph.operators[0].outputs[0]].quantization
    assert quantization is not None
    assert (graph.tensors[graph.operators[0].outputs[0]].dtype, quantization.zero_point) == (DType.INT8, 0)
    assert quantization.scale == pytest.approx(8 / 255)
    for (ours,), (theirs,) in zip(result.after, result.of_tflm(tmp_path), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_with_a_grid_for_each_channel_are_rounded() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, weights = graph.tensor("x", F32, (1, 2)), graph.constant("weights", np.array([[0.3, -1], [0.3, 9]], np.float32))
    integers = graph.tensor("integers", DType.UINT8, (2, 2), Quantization((0.25, 0.5), (128, 10), 0))
    rounded, y = graph.tensor("rounded", F32, (2, 2)), graph.tensor("y", F32, (1, 2))
    graph.operator("QUANTIZE", [weights], [integers])
    graph.operator("DEQUANTIZE", [integers], [rounded])
    graph.operator("FULLY_CONNECTED", [x, rounded, -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    (simplified,) = prepare_float(parse_model(write_model(builder.model()), "weights")).subgraphs
    assert [op.name for op in simplified.operators] == ["FULLY_CONNECTED"]
    values = constant_values(simplified.tensors[simplified.operators[0].inputs[1]])
    np.testing.assert_array_equal(values, np.array([[0.25, -1], [0.5, 9]], np.float32))


def test_rounded_weights_whose_shape_the_file_leaves_out_have_that_of_the_constant() -> None:
    """As TensorFlow writes FAKE_QUANT of weights in the body of a loop."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", F32, (1, 3)), graph.tensor("y", F32, (1, 2))
    weights = graph.constant("weights", np.array([[0.3, -1, 0], [0.3, 0.9, 0]], np.float32))
    integers = graph.tensor("integers", DType.UINT8, (), Quantization((0.25,), (128,)), has_rank=False)
    rounded = graph.tensor("rounded", F32, (), has_rank=False)
    graph.operator("QUANTIZE", [weights], [integers])
    graph.operator("DEQUANTIZE", [integers], [rounded])
    graph.operator("FULLY_CONNECTED", [x, rounded, -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    (simplified,) = prepare_float(parse_model(write_model(builder.model()), "weights")).subgraphs
    weights = simplified.operators[0].inputs[1]
    assert simplified.tensors[weights].shape == (2, 3)


def test_integers_that_something_else_reads_stay() -> None:
    result = quantized_run(quantised_and_back(is_read=True), samples(-0.5, 0.5), float_io=True)
    for before, after in zip(result.before, result.after, strict=True):
        assert after[1].dtype == np.uint8
        assert np.abs(after[1].astype(int) - before[1].astype(int)).max() <= 1


def test_a_recorded_range_survives_the_file_and_is_taken() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(name, F32, SHAPE) for name in ("x", "y"))
    graph.operator("RELU", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    model = builder.model()
    (own,) = model.subgraphs
    tensors = (replace(own.tensors[0], recorded_range=(-8.0, 8.0)), *own.tensors[1:])
    model = parse_model(write_model(replace(model, subgraphs=(replace(own, tensors=tensors),))), "recorded")
    assert model.subgraphs[0].tensors[0].recorded_range == (-8.0, 8.0)
    quantized = quantized_run(model, samples(-1, 1)).quantized.model.subgraphs[0]
    quantization = quantized.tensors[quantized.operators[0].outputs[0]].quantization
    assert quantization is not None
    assert quantization.scale == pytest.approx(16 / 255)


def gated(names: tuple[str, ...]) -> Model:
    """x[0] > 0 ? tanh(x) : the chain of `names` on x, of which FULLY_CONNECTED has fixed weights."""
    builder = ModelBuilder()
    main, then, other = (builder.subgraph(name) for name in ("main", "then", "else"))
    x, y = (main.tensor(name, F32, SHAPE) for name in ("x", "y"))
    first, flag = main.tensor("first", F32, (1, 1)), main.tensor("flag", DType.BOOL, (1, 1))
    bounds = [main.constant(f"b{n}", np.array([n // 2, n % 2], np.int32)) for n in (0, 3)]
    main.operator("SLICE", [x, *bounds], [first])
    main.operator("GREATER", [first, main.constant("0", np.zeros((1, 1), np.float32))], [flag])
    decision = main.tensor("decision", DType.BOOL, ())
    main.operator("RESHAPE", [flag, main.constant("shape", np.zeros(0, np.int32))], [decision])
    main.operator("IF", [decision, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    main.inputs, main.outputs = [x], [y]
    chained(then, ("TANH",))
    chained(other, names)
    return builder.model()


def chained(graph: SubGraphBuilder, names: tuple[str, ...]) -> None:
    tensor = graph.tensor("x", F32, SHAPE)
    graph.inputs = [tensor]
    for number, name in enumerate(names):
        operands, result = [tensor], graph.tensor(f"{name}_{number}", F32, SHAPE)
        if name == "FULLY_CONNECTED":
            weights = np.random.default_rng(number).normal(0, 0.2, (8, 8)).astype(np.float32)
            operands += [graph.constant("weights", weights), graph.constant("bias", np.full(8, 0.25, np.float32))]
        elif name in ("ADD", "MUL"):
            operands.append(graph.constant("half", np.full(SHAPE, 0.5, np.float32)))
        elif name == "MEAN":
            operands.append(graph.constant("axis", np.zeros(1, np.int32)))
        graph.operator(name, operands, [result], {"keep_dims": True} if name == "MEAN" else {})
        tensor = result
    graph.outputs = [tensor]


@pytest.mark.parametrize(
    "names",
    [("FULLY_CONNECTED",), ("ADD", "ABS", "MUL"), ("FULLY_CONNECTED", "RELU", "LOGISTIC"), ("MEAN", "ABS")],
    ids=str,
)
def test_a_branch_that_never_ran_is_in_integers(names: tuple[str, ...]) -> None:
    """Calibrated with one branch alone, the other computes what it does in float, to within the steps of its ranges."""
    source = prepare_float(gated(names))
    fit = samples(-1, 1)
    for (x,) in fit:
        x[0, 0] = 0.5
    quantized = quantize_model(source, calibrate(source, vectors_of(fit)), QuantizationChoice())
    assert not quantized.assignment.notes
    unseen = vectors_of([(np.where(np.arange(8) == 0, -0.5, x).astype(np.float32),) for (x,) in samples(-1, 1)])
    with observed_build(source) as build:
        wanted = build.run(unseen.sets, False, SilentWatcher())
    with observed_build(quantized.model) as build:
        got = build.run(unseen.sets, False, SilentWatcher())
    worst = max(float(np.abs(a[0] - b[0]).max()) for a, b in zip(wanted, got, strict=True))
    assert worst < 0.06


def test_an_operator_without_a_kernel_stays_in_float_there_too() -> None:
    source = prepare_float(gated(("EXP", "ABS")))
    fit = samples(0.1, 1)
    quantized = quantize_model(source, calibrate(source, vectors_of(fit)), QuantizationChoice())
    assert {note.name for note in quantized.assignment.notes} == {"EXP"}


def vectors_of(inputs: Sets) -> Vectors:
    return Vectors(tuple(VectorSet("", 0, arrays) for arrays in inputs))
