"""Models that the writer wrote: read again they are equal, and runtimes run them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.corpus import CORPUS, corpus_manifest, corpus_models, requires_corpus
from support.litert import run_litert_model
from tflmgen.errors import InternalError
from tflmgen.frontend.tflite import Model, ModelBuilder, parse_model, read_model, write_model
from tflmgen.frontend.tflite.operator_versions import operator_version
from tflmgen.ir import DType, Quantization

SAMPLE = (
    "hand/while_int8_state_fc",
    "if/if_nested2_i8",
    "stateful/state_hysteresis_if_assign_f32",
    "plain/cnn_16x8_16x8",
    "while/while_never_f32",
)


def rewritten(model: Model) -> tuple[bytes, Model]:
    data = write_model(model)
    return data, replace(parse_model(data, model.name), sha256=model.sha256)


def example() -> ModelBuilder:
    builder = ModelBuilder("example")
    graph = builder.subgraph("main")
    x = graph.tensor("x", DType.FLOAT32, (1, 8), shape_signature=(-1, 8))
    y = graph.tensor("y", DType.FLOAT32, (1, 8))
    graph.operator("ADD", [x, graph.constant("one", np.float32(1))], [y], {"fused_activation_function": 1})
    graph.inputs, graph.outputs = [x], [y]
    builder.signature("serving_default", graph, [("in", x)], [("out", y)])
    return builder


@requires_corpus
@pytest.mark.parametrize("path", corpus_models(), ids=lambda path: path.stem)
def test_corpus_models_read_written_and_read_are_equal(path: Path) -> None:
    model = read_model(path)
    data, reread = rewritten(model)
    assert reread == model
    assert write_model(reread) == data


@requires_corpus
@pytest.mark.parametrize("name", SAMPLE)
def test_runtimes_run_what_was_written(name: str) -> None:
    assert_same_outputs(name)


@requires_corpus
@pytest.mark.sweep
@pytest.mark.parametrize("name", [f"{path.parent.name}/{path.stem}" for path in corpus_models()])
def test_runtimes_run_what_was_written_of_each_model(name: str) -> None:
    assert_same_outputs(name)


def assert_same_outputs(name: str) -> None:
    """TFLite Micro, or LiteRT where it doesn't run the file, gives the same for both files."""
    entry = next(entry for entry in corpus_manifest() if entry["path"] == f"{name}.tflite")
    if not (entry["tflm_runs"] or entry["litert_ref_runs"]):
        pytest.skip("neither TFLite Micro nor LiteRT runs the original")
    path = CORPUS / f"{name}.tflite"
    arrays = np.load(path.with_suffix(".npz"))
    count = len([key for key in arrays if key.startswith("s0_in_")])
    values = [arrays[f"s0_in_{i}"] for i in range(count)]
    run = run_micro if entry["tflm_runs"] else run_litert_model
    for result, other in zip(run(write_model(read_model(path)), values), run(path.read_bytes(), values), strict=True):
        np.testing.assert_array_equal(result, other)


def run_micro(model: bytes, values: list[NDArray[Any]]) -> list[NDArray[Any]]:
    micro = pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    interpreter = micro.runtime.Interpreter.from_bytes(model, arena_size=1 << 24)
    for place, value in enumerate(values):
        interpreter.set_input(value, place)
    interpreter.invoke()
    data = parse_model(model, "")
    return [np.array(interpreter.get_output(place)) for place in range(len(data.subgraphs[0].outputs))]


def test_a_built_model_is_read_as_it_was_built() -> None:
    model = example().model()
    assert rewritten(model)[1] == model
    assert model.subgraphs[0].operators[0].options == {"fused_activation_function": 1, "pot_scale_int16": True}


def test_runtimes_run_a_built_model() -> None:
    pytest.importorskip("tflite_micro", reason="tflite-micro is the reference")
    values = [np.linspace(-4, 4, 8, dtype=np.float32).reshape(1, 8)]
    expected = np.maximum(values[0] + 1, 0)
    for run in (run_micro, run_litert_model):
        np.testing.assert_array_equal(run(write_model(example().model()), values)[0], expected)


def test_equal_contents_are_stored_once_and_aligned() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    values = np.arange(64, dtype=np.int32)
    first, other = graph.constant("one", values), graph.constant("other", values)
    y = graph.tensor("y", DType.INT32, (64,))
    graph.operator("ADD", [first, other], [y])
    graph.outputs = [y]
    data = write_model(builder.model())
    assert data.count(values.tobytes()) == 1
    assert data.index(values.tobytes()) % 16 == 0


def test_quantised_tensors_and_int4() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.tensor("x", DType.INT8, (1, 3), Quantization((0.5,), (3,)))
    w = graph.constant("w", np.array([[-8, 7, 1]], np.int8), Quantization((0.25,), (0,)), DType.INT4)
    y = graph.tensor("y", DType.INT8, (1, 1), Quantization((1.0,), (0,)))
    graph.operator("FULLY_CONNECTED", [x, w, -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    model = rewritten(builder.model())[1]
    assert model.subgraphs[0].tensors == builder.model().subgraphs[0].tensors
    assert model.subgraphs[0].tensors[w].data == b"\x78\x01"


def test_tensors_that_contradict_each_other_on_a_buffer_are_refused() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    graph.constant("one", np.float32(1))
    graph.constant("two", np.float32(2))
    model = builder.model()
    tensors = tuple(replace(tensor, buffer=1) for tensor in model.subgraphs[0].tensors)
    broken = replace(model, subgraphs=(replace(model.subgraphs[0], tensors=tensors),))
    with pytest.raises(InternalError, match="two tensors give buffer 1 different contents"):
        write_model(broken)


@pytest.mark.parametrize(
    ("name", "types", "options", "version"),
    [
        ("ADD", "float32 float32 float32", {}, 1),
        ("ADD", "int8 int8 int8", {}, 2),
        ("FULLY_CONNECTED", "int8 int8 int32 int8", {}, 4),
        ("FULLY_CONNECTED", "int8 int8 int32 int8", {"keep_num_dims": True}, 5),
        ("CONV_2D", "int8 int8 int32 int8", {}, 3),
        ("QUANTIZE", "float32 int16", {}, 2),
        ("SPLIT", "int32 int8 int8", {}, 2),
        ("CUSTOM:Foo", "int8 int8", {}, 1),
    ],
)
def test_versions(name: str, types: str, options: dict[str, Any], version: int) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    for label in types.split():
        graph.tensor(label, DType[label.upper()], (1, 4), Quantization((1.0,), (0,)))
    *inputs, output = graph.build().tensors
    assert operator_version(name, inputs, [output], options) == version
