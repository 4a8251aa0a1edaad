"""Commands on .onnx files: shapes and constants from vectors, errors that name the node, missing packages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.commands import tflmgen
from support.tools import requires_compiler, requires_qemu

INFO = helper.make_tensor_value_info


def _saved(path: Path, nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], output: str = "y") -> Path:
    graph = helper.make_graph(nodes, "g", inputs, [INFO(output, TensorProto.FLOAT, ["a", "b"])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def _sum(path: Path) -> Path:
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], name="total")
    return _saved(path, [node], [INFO("x", TensorProto.FLOAT, ["n", 3]), INFO("axes", TensorProto.INT64, [1])])


def test_run_takes_shapes_and_axes_from_the_first_set(tmp_path: Path) -> None:
    model, x = _sum(tmp_path / "sum.onnx"), np.arange(6, dtype=np.float32).reshape(2, 3)
    np.savez(tmp_path / "in.npz", s0_in_0=x, s0_in_1=np.array([1]), s1_in_0=x + 1, s1_in_1=np.array([1]))
    words = ["run", str(model), "--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "out.npz")]
    done = tflmgen(*words, "--board", "host")
    assert done.code == 0, done.err
    assert "input 'axes' determines a shape: it is the constant [1]" in done.out
    with np.load(tmp_path / "out.npz") as outputs:
        np.testing.assert_array_equal(outputs["s1_out_0"], (x + 1).sum(1, keepdims=True))


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_bench_takes_them_too(tmp_path: Path) -> None:
    model, x = _sum(tmp_path / "sum.onnx"), np.ones((2, 3), np.float32)
    np.savez(tmp_path / "in.npz", s0_in_0=x, s0_in_1=np.array([1]))
    words = ("--board", "mps2_an386", "--emulator", "qemu", "--inputs", tmp_path / "in.npz")
    done = tflmgen("bench", model, *words, "--json")
    assert done.code == 0, done.err
    assert "input 'axes' determines a shape: it is the constant [1], as in the first set" in done.json["notes"]
    assert done.json["sets"][0]["instructions"] > 0


def test_sets_that_differ_in_such_an_input_are_refused(tmp_path: Path) -> None:
    model, x = _sum(tmp_path / "sum.onnx"), np.zeros((2, 3), np.float32)
    np.savez(tmp_path / "in.npz", s0_in_0=x, s0_in_1=np.array([1]), s1_in_0=x, s1_in_1=np.array([0]))
    words = ["run", str(model), "--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "out.npz")]
    done = tflmgen(*words, "--board", "host")
    assert done.code == 1
    assert "set 1 has [0] for the input 'axes'" in done.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "node 'total' (ReduceSum): needs its axes at build time, which the input 'axes'"),
        (["--shape", "x=2,3"], "node 'total' (ReduceSum): needs its axes at build time, which the input 'axes'"),
        (["--shape", "x=2,4", "--constant", "axes=[0]"], "input 'x': cannot have the shape 2x4"),
        (["--constant", "axes=1"], "--constant axes: its shape is [], but the model has int64[1]"),
        (["--shape", "z=2,4"], "--shape names 'z', which is none of its inputs: x, axes"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, options: list[str], sentence: str) -> None:
    done = tflmgen("inspect", _sum(tmp_path / "sum.onnx"), *options)
    assert done.code == 1
    assert sentence in done.err


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"\xff" * 64)
    done = tflmgen("inspect", tmp_path / "bad.onnx")
    assert done.code == 1
    assert "bad.onnx: it is no ONNX file" in done.err


def test_options_of_onnx_models_are_no_options_of_tflite_files(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(b"")
    assert tflmgen("inspect", tmp_path / "m.tflite", "--shape", "x=1").code == 2
