"""ONNX models as .tflite files: LiteRT computes from them what ONNX Runtime computes from the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper
from support.commands import tflmgen
from support.litert import run_litert_model
from support.onnx_models import branch, halving, image_loop, separable_net
from tflmgen.frontend.tflite import Model, parse_model, write_model
from tflmgen.options import SourceOptions
from tflmgen.sources import read_source

MODELS: dict[str, tuple[Callable[[Path], Path], tuple[int, ...]]] = {
    "convolutional net": (separable_net, (1, 3, 32, 32)),
    "If": (branch, (2, 4)),
    "Loop, counted": (image_loop, (1, 4, 8, 8)),
    "Loop, by condition": (halving, (2, 4)),
}


def _shape(shape: tuple[int, ...]) -> str:
    return f"x={','.join(map(str, shape))}"


@pytest.mark.parametrize("name", MODELS)
def test_litert_computes_what_onnx_runtime_does(name: str, tmp_path: Path) -> None:
    build, shape = MODELS[name]
    source, file = build(tmp_path / "m.onnx"), tmp_path / "m.tflite"
    done = tflmgen("convert", source, "-o", file, "--shape", _shape(shape))
    assert done.code == 0, done.err
    runtime = onnxruntime.InferenceSession(str(source))
    numbers = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    for image in (numbers, np.abs(numbers), -np.abs(numbers)):
        outputs = run_litert_model(file.read_bytes(), [image])
        for ours, theirs in zip(outputs, runtime.run(None, {"x": image}), strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def as_written(model: Model) -> Model:
    """The model without the names of the source's parameters, for which a file has no place."""
    subgraphs = (
        replace(graph, tensors=tuple(replace(tensor, parameters=None) for tensor in graph.tensors))
        for graph in model.subgraphs
    )
    return replace(model, subgraphs=tuple(subgraphs))


@pytest.mark.parametrize("name", MODELS)
def test_what_is_written_is_read_as_the_same_model(name: str, tmp_path: Path) -> None:
    build, shape = MODELS[name]
    model = as_written(read_source(build(tmp_path / "m.onnx"), SourceOptions(shape=[_shape(shape)])))
    assert replace(parse_model(write_model(model), model.name), sha256=model.sha256) == model


def test_hard_sigmoid_becomes_operators_of_tflite_micro(tmp_path: Path) -> None:
    """It has no RELU_0_TO_1."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8]) for name in "xy")
    graph = helper.make_graph([helper.make_node("HardSigmoid", ["x"], ["y"], alpha=0.5)], "gate", [x], [y])
    opset = [helper.make_opsetid("", 17)]
    data = helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data)
    model = read_source(tmp_path / "m.onnx", SourceOptions())
    assert "RELU_0_TO_1" not in model.operator_names
    numbers = np.linspace(-3, 3, 8, dtype=np.float32)[None]
    (expected,) = onnxruntime.InferenceSession(data).run(None, {"x": numbers})
    np.testing.assert_array_equal(run_litert_model(write_model(model), [numbers])[0], expected)


def test_channels_last_at_the_input(tmp_path: Path) -> None:
    source, file = separable_net(tmp_path / "m.onnx"), tmp_path / "m.tflite"
    words = ("convert", source, "-o", file, "--shape", "x=1,3,32,32", "--nhwc-inputs")
    assert "float[n,3,32,32]  float32[1,32,32,3]" in tflmgen(*words).out
    image = np.random.default_rng(1).standard_normal((1, 3, 32, 32)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(str(source)).run(None, {"x": image})
    outputs = run_litert_model(file.read_bytes(), [np.ascontiguousarray(image.transpose(0, 2, 3, 1))])
    np.testing.assert_allclose(outputs[0], expected, rtol=1e-4, atol=1e-6)


def test_an_input_that_became_a_constant_is_told(tmp_path: Path) -> None:
    branch(tmp_path / "m.onnx")
    eights = "x=[[1,2,3,4],[5,6,7,8]]"
    done = tflmgen("convert", tmp_path / "m.onnx", "-o", tmp_path / "m.tflite", "--constant", eights)
    assert done.code == 0, done.err
    assert "a constant" in done.out


def test_what_is_no_source_is_refused_and_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = separable_net(Path("m.onnx"))
    before = source.read_bytes()
    Path("bad.onnx").write_bytes(b"\xff" * 64)
    Path("old.tflite").write_bytes(b"old")
    Path("m.txt").touch()
    for words, code, sentence in (
        (("old.tflite",), 2, "old.tflite is a .tflite file already: there is nothing to convert"),
        (("m.txt",), 2, "m.txt cannot be converted"),
        (("m.onnx", "-o", "m.onnx"), 2, "m.onnx: it is read, and would be overwritten"),
        (("m.onnx", "-o", "no/m.tflite"), 1, "there is no folder"),
        (("m.onnx", "--shape", "x=2,4", "-o", "old.tflite"), 1, "input 'x': cannot have the shape 2x4"),
        (("bad.onnx",), 1, "bad.onnx: it is no ONNX file"),
        (("none.onnx",), 1, "none.onnx: there is no such file"),
    ):
        done = tflmgen("convert", *words)
        assert (done.code, sentence in done.err) == (code, True), done.err
    assert {path.name for path in tmp_path.iterdir()} == {"m.onnx", "m.txt", "bad.onnx", "old.tflite"}
    assert source.read_bytes() == before
    assert Path("old.tflite").read_bytes() == b"old"
