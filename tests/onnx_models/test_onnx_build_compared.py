"""Every command that reads an ONNX model asks what it means, and says who was asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import tflmgen as api
from onnx import TensorProto, helper
from support.commands import tflmgen
from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.onnx.all_lowerings import LOWERINGS
from tflmgen.sources import compared_source, onnx_source

NAMED = r"m\.onnx: the converted model is not the source as ONNX Runtime runs it: .* first tensor that differs is 'R:"


def _model(path: Path, op: str = "Relu") -> Path:
    nodes = [helper.make_node("Abs", ["x"], ["p"], "A"), helper.make_node(op, ["p"], ["y"], "R")]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 3))]
    graph = helper.make_graph(nodes, "net", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(compared_source, "_UNSUPPORTED", {})


@pytest.fixture
def wrong_relu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lowering that is wrong for large values."""
    monkeypatch.setitem(LOWERINGS, "Relu", LOWERINGS["HardSigmoid"])


@pytest.fixture
def without_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub" / "onnxruntime.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "stub"))


def _words(command: str, path: Path) -> list[object]:
    samples, out = path.with_name("x.npz"), path.with_name("out")
    np.savez(samples, x=np.ones((4, 2, 3), np.float32))
    return {
        "build": ["build", path, "--board", "host", "--no-compile", "-o", out],
        "export": ["export", path, "--board", "host", "--format", "plain", "-o", out],
        "run": ["run", path, "--board", "host", "--inputs", samples, "--outputs", out],
        "test": ["test", path, "--board", "host"],
        "bench": ["bench", path, "--board", "mps2_an386"],
        "fit": ["fit", path],
        "inspect": ["inspect", path, "--board", "host"],
        "pareto": ["inspect", path, "--board", "host", "--pareto"],
        "quantize": ["quantize", path, "--calibration", samples, "-o", path.with_name("q.tflite")],
        "several": ["build", path, path, "--board", "host", "--no-compile", "-o", out],
    }[command]


@pytest.mark.parametrize(
    "command", ["build", "export", "run", "test", "bench", "fit", "inspect", "pareto", "quantize", "several"]
)
def test_a_command_refuses_what_differs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def differ(*_: object) -> None:
        raise ModelError([Problem(Location("m.onnx"), "is not the source")])

    monkeypatch.setattr(compared_source, "prove_lowered", differ)
    done = tflmgen(*_words(command, _model(tmp_path / "m.onnx")))
    assert (done.code, "m.onnx: is not the source" in done.err) == (1, True), done.err or done.out
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "q.tflite").exists()


@pytest.mark.usefixtures("wrong_relu")
def test_the_python_api_refuses_it_too_and_names_the_node(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=NAMED):
        api.compile(_model(tmp_path / "m.onnx"))


def test_the_line_says_who_was_asked_and_the_answer_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = _words("build", _model(tmp_path / "m.onnx"))
    line = "m.onnx: compared with ONNX Runtime: 12 input sets equal"
    assert line in tflmgen(*words).out
    monkeypatch.setattr(compared_source, "prove_lowered", None)
    assert line in tflmgen(*words).out


def test_a_build_of_a_converted_file_quotes_the_comparison(tmp_path: Path) -> None:
    file = tmp_path / "c.tflite"
    tflmgen("convert", _model(tmp_path / "m.onnx"), "-o", file)
    line = "c.tflite: converted from m.onnx, compared with ONNX Runtime: 12 input sets equal"
    assert line in tflmgen("build", file, "--board", "host", "--no-compile", "-o", tmp_path / "out").out


@pytest.mark.usefixtures("wrong_relu")
def test_without_validation_nobody_is_asked_and_the_line_says_so(tmp_path: Path) -> None:
    done = tflmgen(*_words("build", _model(tmp_path / "m.onnx")), "--validate", "off")
    assert (done.code, "m.onnx: not compared: nobody was asked what it means" in done.out) == (0, True)


@pytest.mark.usefixtures("wrong_relu", "without_runtime")
def test_onnxs_evaluator_is_no_authority(tmp_path: Path) -> None:
    done = tflmgen(*_words("build", _model(tmp_path / "m.onnx")))
    assert done.code == 0
    assert "compared with onnx's evaluator on 12 sets: 0 input sets equal, 12 differ" in done.out
    assert "warning: the converted model is not the source as onnx's evaluator runs it" in done.out


@pytest.mark.usefixtures("without_runtime")
def test_onnxs_evaluator_has_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's last node takes the evaluator far longer than it gets; the answer is what was done till then."""
    monkeypatch.setattr(onnx_source, "EVALUATOR_SECONDS", 0.0)
    (part,) = [text for text in api.compile(_model(tmp_path / "m.onnx", "Sin")).plan.proofs if "m.onnx" in text]
    assert "onnx's evaluator" in part
    assert "12 input sets" not in part
