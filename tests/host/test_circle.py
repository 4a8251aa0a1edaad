"""Circle files of Samsung's ONE: read as .tflite files are, with INSTANCE_NORM as TFLite's operators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.circle_files import write_circle
from support.commands import tflmgen
from support.corpus import CORPUS, requires_corpus
from tflmgen.frontend import Model, ModelBuilder, read_model
from tflmgen.ir import DType
from tflmgen.reference import Interpreter


def _normalized(name: str = "INSTANCE_NORM", dtype: DType = DType.FLOAT32) -> Model:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(key, dtype, (2, 4, 3, 5)) for key in "xy")
    rng = np.random.default_rng(3)
    gamma, beta = (graph.constant(key, rng.uniform(0.5, 2, 5).astype(np.float32)) for key in ("gamma", "beta"))
    options = {"epsilon": 1e-3, "fused_activation_function": 1} if name == "INSTANCE_NORM" else {}
    graph.operator(name, [x, gamma, beta], [y], options)
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


@pytest.mark.parametrize("old", [False, True])
def test_instance_norm_equals_its_definition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bool) -> None:
    monkeypatch.chdir(tmp_path)
    source = _normalized()
    write_circle(Path("net.circle"), source, old)
    x = np.random.default_rng(5).normal(1, 3, (2, 4, 3, 5)).astype(np.float32)
    np.savez("in.npz", x=x)
    done = tflmgen("run", "net.circle", "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
    assert done.code == 0, done.err
    gamma, beta = (np.frombuffer(source.subgraphs[0].tensors[i].data or b"", np.float32) for i in (2, 3))
    centred = x - x.mean((1, 2), keepdims=True)
    want = np.maximum(centred / np.sqrt(x.var((1, 2), keepdims=True) + 1e-3) * gamma + beta, 0)
    with np.load("out.npz") as data:
        np.testing.assert_allclose(data["y"], want, rtol=1e-5, atol=1e-5)
    assert tflmgen("convert", "net.circle").code == 0
    (result,) = Interpreter(read_model(Path("net.tflite"))).invoke(None, [x])
    np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (_normalized("BCQ_GATHER"), "operator 0 (BCQ_GATHER)"),
        (_normalized(dtype=DType.INT8), "INSTANCE_NORM"),
    ],
)
def test_what_has_no_kernel_is_named(tmp_path: Path, model: Model, sentence: str) -> None:
    path = write_circle(tmp_path / "net.circle", model)
    done = tflmgen("inspect", path)
    assert (done.code, sentence in done.err) == (1, True), done.err


@requires_corpus
@pytest.mark.parametrize("name", ["one_If_001", "one_While_000", "one_While_002"])
def test_control_flow_recipes_of_one_run_from_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_circle(Path("net.circle"), read_model(CORPUS / "one" / f"{name}.tflite"))
    done = tflmgen("test", "net.circle", "--board", "host", "--vectors", CORPUS / "one" / f"{name}.npz")
    assert done.code == 0, done.err
