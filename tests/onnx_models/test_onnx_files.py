"""Parts of an .onnx file: external data, model-local functions, operator sets, initialisers as inputs."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from support.commands import tflmgen
from tflmgen.options import SourceOptions
from tflmgen.sources import read_source

INFO = helper.make_tensor_value_info
X = np.random.default_rng(5).standard_normal((2, 6)).astype(np.float32)
WEIGHTS = np.random.default_rng(6).standard_normal((6, 40)).astype(np.float32)


def _model(nodes: list[onnx.NodeProto], opset: int = 18, **graph_parts: list[onnx.ValueInfoProto]) -> onnx.ModelProto:
    inputs = [INFO("x", TensorProto.FLOAT, [2, 6]), *graph_parts.get("inputs", [])]
    weights = [numpy_helper.from_array(WEIGHTS, "w")]
    graph = helper.make_graph(nodes, "g", inputs, [INFO("y", TensorProto.FLOAT, ["a", "b"])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def _outputs(path: Path, folder: Path, **arrays: NDArray[np.float32]) -> NDArray[np.float32]:
    np.savez(folder / "in.npz", allow_pickle=False, **arrays)
    words = ("--inputs", folder / "in.npz", "--outputs", folder / "out.npz", "--board", "host")
    done = tflmgen("run", path, *words)
    assert done.code == 0, done.err
    with np.load(folder / "out.npz") as outputs:
        return np.asarray(outputs["s0_out_0"])


def _compared(path: Path, folder: Path, **more: NDArray[np.float32]) -> None:
    """tflmgen's output is ONNX Runtime's."""
    (expected,) = onnxruntime.InferenceSession(str(path)).run(None, {"x": X, **more})
    feeds = {f"s0_in_{place}": array for place, array in enumerate((X, *more.values()))}
    np.testing.assert_allclose(_outputs(path, folder, **feeds), expected, rtol=1e-5, atol=1e-6)


def _external(path: Path) -> Path:
    model = _model([helper.make_node("MatMul", ["x", "w"], ["y"])])
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=64)
    return path


def test_external_data(tmp_path: Path) -> None:
    path = _external(tmp_path / "m.onnx")
    assert (tmp_path / "weights.bin").stat().st_size >= WEIGHTS.nbytes
    _compared(path, tmp_path)


def test_external_data_belong_to_the_content(tmp_path: Path) -> None:
    path = _external(tmp_path / "m.onnx")
    before = read_source(path, SourceOptions()).sha256
    data = tmp_path / "weights.bin"
    data.write_bytes(data.read_bytes()[:-4] + np.float32(7).tobytes())
    assert read_source(path, SourceOptions()).sha256 != before


def test_missing_external_data_are_named(tmp_path: Path) -> None:
    path = _external(tmp_path / "m.onnx")
    (tmp_path / "weights.bin").unlink()
    done = tflmgen("inspect", path)
    assert done.code == 1
    assert "its external data cannot be read" in done.err
    assert "weights.bin" in done.err


@pytest.mark.parametrize("kind", ["absolute", "above", "symbolic link", "pipe"])
def test_external_data_lie_in_the_models_folder_and_are_files(kind: str, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    path, secret = tmp_path / "models" / "m.onnx", tmp_path / "secret.bin"
    _external(path)
    secret.write_bytes((path.parent / "weights.bin").read_bytes())
    data = path.parent / "weights.bin"
    data.unlink()
    if kind == "symbolic link":
        data.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(data)
    location = {"absolute": str(secret), "above": "../secret.bin"}.get(kind, "weights.bin")
    model = onnx.load(str(path), load_external_data=False)
    model.graph.initializer[0].external_data[0].value = location
    path.write_bytes(model.SerializeToString())
    done = tflmgen("inspect", path)
    assert (done.code, "its external data cannot be read" in done.err) == (1, True), done.err or done.out


def test_external_data_that_are_too_short_are_an_error(tmp_path: Path) -> None:
    path = _external(tmp_path / "m.onnx")
    (tmp_path / "weights.bin").write_bytes(b"1234")
    done = tflmgen("inspect", path)
    assert done.code == 1, done.out
    assert "m.onnx: " in done.err


def test_model_local_functions_and_functions_in_functions(tmp_path: Path) -> None:
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    scaled = helper.make_function(
        "own", "Scaled", ["a"], ["b"],
        [
            helper.make_node("Constant", [], ["k"], value_float=0.5),
            helper.make_node("Mul", ["a", "k"], ["b"]),
        ],
        opsets[:1],
    )  # fmt: skip
    node = helper.make_node("LeakyRelu", ["s"], ["d"])
    node.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    outer = helper.make_function(
        "own", "Leaky", ["c"], ["d"], [helper.make_node("Scaled", ["c"], ["s"], domain="own"), node], opsets, ["slope"]
    )
    nodes = [
        helper.make_node("Leaky", ["x"], ["l"], domain="own", slope=0.25),
        helper.make_node("Leaky", ["l"], ["m"], domain="own", slope=2.0),
        helper.make_node("MatMul", ["m", "w"], ["y"]),
    ]
    model = _model(nodes)
    model.opset_import.append(opsets[1])
    model.functions.extend([scaled, outer])
    onnx.save(model, tmp_path / "m.onnx")
    _compared(tmp_path / "m.onnx", tmp_path)


@pytest.mark.parametrize("opset", [7, 9, 10, 11, 12, 13, 18, onnx.defs.onnx_opset_version()])
def test_operator_sets(opset: int, tmp_path: Path) -> None:
    """Axes, splits and pads moved from attributes to operands: in 10 Slice, in 11 Pad and Clip, in 13 sums."""
    numbers = {
        name: numpy_helper.from_array(np.array(value, np.int64), name)
        for name, value in {"starts": [1], "ends": [5], "axes": [1], "halves": [2, 2], "pads": [0, 1, 0, 1]}.items()
    }
    limits = [numpy_helper.from_array(np.array(n, np.float32), name) for name, n in (("low", -0.5), ("high", 0.75))]
    if opset < 10:
        part = helper.make_node("Slice", ["x"], ["a"], starts=[1], ends=[5], axes=[1])
    else:
        part = helper.make_node("Slice", ["x", "starts", "ends", "axes"], ["a"])
    if opset < 11:
        padded = helper.make_node("Pad", ["a"], ["b"], pads=[0, 1, 0, 1])
        clipped = helper.make_node("Clip", ["b"], ["c"], min=-0.5, max=0.75)
    else:
        padded = helper.make_node("Pad", ["a", "pads"], ["b"])
        clipped = helper.make_node("Clip", ["b", "low", "high"], ["c"])
    if opset < 13:
        total = helper.make_node("ReduceSum", ["c"], ["d"], axes=[1], keepdims=0)
        wide = helper.make_node("Unsqueeze", ["d"], ["y"], axes=[1])
    else:
        total = helper.make_node("ReduceSum", ["c", "axes"], ["d"], keepdims=0)
        wide = helper.make_node("Unsqueeze", ["d", "axes"], ["y"])
    model = _model([part, padded, clipped, total, wide], opset)
    read = {name for node in model.graph.node for name in node.input}
    del model.graph.initializer[:]
    model.graph.initializer.extend([t for t in (*numbers.values(), *limits) if t.name in read])
    onnx.save(model, tmp_path / "m.onnx")
    _expected_of_reference(tmp_path / "m.onnx", tmp_path)


def _expected_of_reference(path: Path, folder: Path) -> None:
    """tflmgen's output is that of ONNX's reference evaluator, which knows operator sets newer than ONNX Runtime's."""
    (expected,) = ReferenceEvaluator(str(path)).run(None, {"x": X})
    assert isinstance(expected, np.ndarray)
    np.testing.assert_allclose(_outputs(path, folder, s0_in_0=X), expected, rtol=1e-5, atol=1e-6)


def test_an_older_operator_set_is_refused(tmp_path: Path) -> None:
    onnx.save(_model([helper.make_node("Relu", ["x"], ["y"])], 6), tmp_path / "m.onnx")
    done = tflmgen("inspect", tmp_path / "m.onnx")
    assert done.code == 1
    assert "it has version 6 of the operator set, but 7 to" in done.err


def test_an_initialiser_that_is_an_input_is_a_constant(tmp_path: Path) -> None:
    model = _model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], inputs=[INFO("w", TensorProto.FLOAT, list(WEIGHTS.shape))]
    )
    onnx.save(model, tmp_path / "m.onnx")
    assert [name for name, _ in read_source(tmp_path / "m.onnx", SourceOptions()).signatures[0].inputs] == ["x"]
    _compared(tmp_path / "m.onnx", tmp_path)


def test_a_weight_without_a_value_stays_an_operand(tmp_path: Path) -> None:
    model = _model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], inputs=[INFO("w", TensorProto.FLOAT, list(WEIGHTS.shape))]
    )
    del model.graph.initializer[:]
    onnx.save(model, tmp_path / "m.onnx")
    _compared(tmp_path / "m.onnx", tmp_path, w=WEIGHTS)


@pytest.mark.parametrize(
    ("domain", "operator", "advice"),
    [
        ("com.microsoft", "FusedConv", "ONNX Runtime's optimisations write such operators: give the model before them"),
        ("ai.onnx.ml", "CastMap", "See docs/use/onnx-operators.md"),
    ],
)
def test_an_operator_of_another_domain_is_named_with_it(
    domain: str, operator: str, advice: str, tmp_path: Path
) -> None:
    node = helper.make_node(operator, ["x"], ["y"], domain=domain, name="n")
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3]) for name in ("x", "y")]
    graph = helper.make_graph([node], "g", value[:1], value[1:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), tmp_path / "m.onnx")
    done = tflmgen("inspect", tmp_path / "m.onnx")
    assert done.code == 1
    sentence = f"node 'n' ({operator}): is an operator of {domain} that tflmgen has no lowering for. {advice}"
    assert sentence in " ".join(done.err.split())
