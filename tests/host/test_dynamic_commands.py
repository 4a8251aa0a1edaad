"""Inputs and outputs of varying dimensions through the commands, as the protocol carries them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen
from support.dynamic_axes import floats, vary
from support.dynamic_models import one_graph, open_tensor
from support.model_writer import ModelWriter, SubgraphWriter

SETS = {k: np.arange(2 * rows, dtype=np.float32).reshape(rows, 2) for k, rows in enumerate((1, 4, 2))}


def _twice(g: SubgraphWriter) -> None:
    x, y = open_tensor(g, "x", "float32", [2]), open_tensor(g, "y", "float32", [2])
    g.operator("CONCATENATION", [x, x], [y], {"axis": 0})
    g.inputs, g.outputs = [x], [y]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("m.tflite").write_bytes(one_graph(_twice))
    arrays: dict[str, Any] = {f"s{k}_in_0": x for k, x in SETS.items()}
    np.savez("in.npz", **arrays)
    return Path("m.tflite")


def test_run_takes_the_bounds_of_inputs_from_the_inputs(model: Path) -> None:
    finished = tflmgen("run", model, "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
    assert finished.code == 0, finished.err
    with np.load("out.npz") as outputs:
        for k, x in SETS.items():
            assert np.array_equal(outputs[f"s{k}_out_0"], np.concatenate([x, x]))


def test_inputs_beyond_the_bound(model: Path) -> None:
    words = ("--inputs", "in.npz", "--outputs", "out.npz", "--max-shape", "x=3,2")
    finished = tflmgen("run", model, "--board", "host", *words)
    assert finished.code == 1
    assert "in.npz: array 's1_in_0' is float32[4,2], but input 'x' is float32[<=3,2]" in finished.err


def test_expected_outputs_of_another_shape_differ(model: Path) -> None:
    x = SETS[1]
    np.savez("right.npz", s0_in_0=x, s0_out_0=np.concatenate([x, x]))
    np.savez("wrong.npz", s0_in_0=x, s0_out_0=x)
    assert tflmgen("test", model, "--board", "host", "--vectors", "right.npz").code == 0
    finished = tflmgen("test", model, "--board", "host", "--vectors", "wrong.npz")
    assert finished.code == 1
    assert "expected shape [4, 2], got shape [8, 2]" in finished.out


def test_dimensions_at_any_axis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def build(g: SubgraphWriter) -> None:
        x, y = vary(g, "x", "float32", (-1, 2, -1)), vary(g, "y", "float32", (-1, -1, 2))
        g.operator("TRANSPOSE", [x, g.constant("axes", np.array([2, 0, 1], np.int32))], [y])
        g.inputs, g.outputs = [x], [y]

    Path("m.tflite").write_bytes(one_graph(build))
    sets = [floats(n, 2, m) for n, m in ((2, 3), (4, 1), (1, 5), (0, 2))]
    arrays: dict[str, Any] = {f"s{k}_in_0": x for k, x in enumerate(sets)}
    np.savez("in.npz", **arrays)
    finished = tflmgen("run", "m.tflite", "--board", "host", "--inputs", "in.npz", "--outputs", "out.npz")
    assert finished.code == 0, finished.err
    with np.load("out.npz") as outputs:
        for k, x in enumerate(sets):
            assert np.array_equal(outputs[f"s{k}_out_0"], x.transpose(2, 0, 1))


def test_a_dynamic_input_comes_with_each_hop(tmp_path: Path) -> None:
    """scores = EXP(window) + MEAN(EXP(x)), whose inner EXP overwrites x."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    window, scores, raised = (graph.tensor(name, "float32", [1, 6, 1, 2]) for name in ("window", "scores", "w"))
    x, inner = (graph.tensor(name, "float32", [1, 2], shape_signature=[-1, 2]) for name in ("x", "inner"))
    mean = graph.tensor("mean", "float32", [1, 2])
    graph.operator("EXP", [window], [raised])
    graph.operator("EXP", [x], [inner])
    graph.operator("MEAN", [inner, graph.constant("axis", np.array([0], np.int32))], [mean], {"keep_dims": True})
    graph.operator("ADD", [raised, mean], [scores])
    graph.inputs, graph.outputs = [window, x], [scores]
    model = tmp_path / "raised.tflite"
    model.write_bytes(writer.finish())
    rng = np.random.default_rng(1)
    np.savez(tmp_path / "in.npz", window=rng.normal(size=(1, 6, 1, 2)), x=rng.normal(size=(2, 2)))
    command = ["run", model, "--board", "host", "--inputs", tmp_path / "in.npz", "--max-shape", "x=4,2"]
    outputs = []
    for name, options in (("hops.npz", ("--slide", "window=1,1")), ("whole.npz", ())):
        ran = tflmgen(*command, "--outputs", tmp_path / name, *options)
        assert ran.code == 0, ran
        with np.load(tmp_path / name) as arrays:
            outputs.append(next(iter(arrays.values())))
    np.testing.assert_array_equal(*outputs)
