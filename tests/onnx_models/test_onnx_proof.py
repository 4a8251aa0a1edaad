"""`convert` compares what it makes of an ONNX model with ONNX Runtime, or with ONNX's own evaluator."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.commands import tflmgen
from support.onnx_models import branch, halving, image_loop, separable_net
from support.onnx_nodes import node_tests
from support.onnx_quantized import LAYERS, random_layer
from tflmgen.conversion import convert_lowered, source_conversion
from tflmgen.errors import ModelError
from tflmgen.frontend.onnx import lowerings
from tflmgen.options import SourceOptions
from tflmgen.sources import source_program

IMAGE = "x=1,3,32,32"
MODELS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "convolutional net": (separable_net, IMAGE),
    "If": (branch, "x=2,4"),
    "Loop, counted": (image_loop, "x=1,4,8,8"),
    "Loop, by condition": (halving, "x=2,4"),
}
BRANCHES = {"If": [2, 2], "Loop, counted": [2, 2], "Loop, by condition": [2, 2]}


def _ignored(_: str) -> None:
    return None


def _proof_text(path: Path, tolerance: float = 1e-4) -> str:
    return convert_lowered(path, SourceOptions(), None, tolerance, _ignored).proof.text


def _saved(path: Path, *nodes: onnx.NodeProto, shape: tuple[int, ...] = (2, 3)) -> Path:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_empty_tensor_value_info("y")]
    graph = helper.make_graph(nodes, "net", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), path)
    return path


@pytest.mark.parametrize("name", MODELS)
def test_a_model_equals_onnx_runtime_on_all_its_branches(name: str, tmp_path: Path) -> None:
    build, shape = MODELS[name]
    done = tflmgen("convert", build(tmp_path / "m.onnx"), "-o", tmp_path / "m.tflite", "--shape", shape, "--json")
    assert done.code == 0, done.err
    proof = json.loads(done.out)["proof"]
    assert (proof["runner"], proof["compared"], proof["branches"]) == ("ONNX Runtime", True, BRANCHES.get(name, [0, 0]))
    assert proof["equal"] >= 10
    assert proof["errors"][0]["relative_error"] < 1e-4


@pytest.mark.parametrize("option", [("--nhwc-inputs",), ("--constant", "x=[[1,2,3,4],[5,6,7,8]]")])
def test_inputs_come_to_onnx_runtime_as_it_has_them(option: tuple[str, ...], tmp_path: Path) -> None:
    source = separable_net(tmp_path / "m.onnx") if len(option) == 1 else branch(tmp_path / "m.onnx")
    shape = ("--shape", IMAGE) if len(option) == 1 else ()
    done = tflmgen("convert", source, "-o", tmp_path / "m.tflite", *shape, *option)
    assert "Compared with ONNX Runtime: 12 input sets equal" in done.out or "1 input sets equal" in done.out, done.err


def test_what_differs_is_refused_with_its_first_tensor_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lowering that is wrong for large values, at the second of three nodes."""
    monkeypatch.setitem(lowerings.LOWERINGS, "Relu", lowerings.LOWERINGS["HardSigmoid"])
    nodes = [helper.make_node(op, [a], [b], f"{op}_node") for op, a, b in (("Abs", "x", "p"), ("Relu", "p", "q"))]
    path = _saved(tmp_path / "m.onnx", *nodes, helper.make_node("Neg", ["q"], ["y"], "Neg_node"))
    with pytest.raises(ModelError, match=r"output 'y' differs by .* the first tensor that differs is 'Relu_node:"):
        _proof_text(path)


def test_calibration_data_are_compared_too_and_the_tolerance_is_the_users(tmp_path: Path) -> None:
    path = _saved(tmp_path / "m.onnx", helper.make_node("Exp", ["x"], ["y"]))
    np.savez(tmp_path / "cal.npz", x=np.full((3, 2, 3), 1.5, np.float32))
    words = ("convert", path, "-o", tmp_path / "m.tflite")
    done = tflmgen(*words, "--calibration", tmp_path / "cal.npz", "--json")
    assert json.loads(done.out)["proof"]["equal"] > json.loads(tflmgen(*words, "--json").out)["proof"]["equal"]
    done = tflmgen(*words, "--tolerance", "1e-12")
    assert "within the rounding of float32" in done.out
    assert "(1e-12 allowed)" in done.out


def test_options_of_tensorflows_sources_are_none_of_onnx(tmp_path: Path) -> None:
    done = tflmgen("convert", separable_net(tmp_path / "m.onnx"), "--keep", tmp_path / "kept")
    assert (done.code, "--keep, --plugin and --keras-objects are for TensorFlow's sources" in done.err) == (2, True)


@pytest.mark.parametrize("kind", ["FULLY_CONNECTED", "LOOKUP of Sigmoid", "AVERAGE_POOL_2D/DEPTHWISE_CONV_2D"])
def test_quantised_operators_may_round_otherwise_but_no_more(kind: str, tmp_path: Path) -> None:
    model = random_layer(kind, 0)
    model = model[0] if isinstance(model, tuple) else model
    onnx.save(model, tmp_path / "m.onnx")
    assert "Compared with ONNX Runtime" in _proof_text(tmp_path / "m.onnx")


@pytest.mark.sweep
@pytest.mark.parametrize("kind", LAYERS)
def test_quantised_layers_raise_no_false_alarm(kind: str, tmp_path: Path) -> None:
    for seed in range(4):
        model = random_layer(kind, seed)
        onnx.save(model[0] if isinstance(model, tuple) else model, tmp_path / "m.onnx")
        assert "Compared with ONNX Runtime" in _proof_text(tmp_path / "m.onnx")


def test_a_quantised_layer_with_one_other_weight_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A weight moved by half of its range is more than rounding."""
    layer = random_layer("FULLY_CONNECTED", 0)
    model = layer[0] if isinstance(layer, tuple) else layer
    onnx.save(model, tmp_path / "m.onnx")
    weights = next(t for t in model.graph.initializer if t.data_type == TensorProto.INT8 and len(t.dims) == 2)
    array = onnx.numpy_helper.to_array(weights).copy()
    array[0, 0] += 64 if array[0, 0] < 0 else -64
    weights.CopyFrom(onnx.numpy_helper.from_array(array, weights.name))
    onnx.save(model, tmp_path / "other.onnx")
    other = source_program(tmp_path / "other.onnx", SourceOptions())
    monkeypatch.setattr(source_conversion, "source_program", lambda *_: other)
    with pytest.raises(ModelError, match="the converted model is not the source"):
        _proof_text(tmp_path / "m.onnx")


NODE_TESTS = {
    "test_cosh_example": "beyond float32",
    "test_dynamicquantizelinear": "the scale of zeros",
    "test_maxunpool_export_with_output_shape": "stores to one place",
    "test_nonzero_example": "more rows than declared",
    "test_pow_types_int32_int32": "powers beyond int32",
    "test_scatter_elements_with_axis": "stores to one place",
}


@pytest.mark.parametrize("name", NODE_TESTS)
def test_what_onnx_leaves_open_is_no_difference(name: str, tmp_path: Path) -> None:
    case = next(test for test in node_tests() if test.name == name)
    onnx.save(case.model, tmp_path / "m.onnx")
    arrays = {entry.name: array for entry, array in zip(case.model.graph.input, case.inputs, strict=True)}
    constants = [f"{n}={json.dumps(a.tolist())}" for n, a in arrays.items() if n in ("output_shape", "scales")]
    options = SourceOptions(constant=constants or None)
    proof = convert_lowered(tmp_path / "m.onnx", options, None, 1e-4, _ignored).proof
    assert proof.equal >= 1
    assert not proof.unsupported


STUBS = {
    "raise ImportError": "Compared with onnx's evaluator on 12 sets: 12 input sets equal",
    "import os; os.kill(os.getpid(), 11)": r"Not compared: ONNX crashed \(SIGSEGV\)",
    "import sys; sys.exit('broken')": "Not compared: ONNX does not run it: broken",
}


@pytest.mark.parametrize("stub", STUBS)
def test_a_runtime_that_lacks_or_breaks(stub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("onnxruntime.py").write_text(stub)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    path = _saved(tmp_path / "m.onnx", helper.make_node("Sin", ["x"], ["y"]))
    assert re.match(STUBS[stub], _proof_text(path))
