"""Warnings of tflmgen quantize, what makes errors of them, and the options that mend what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.commands import tflmgen
from tflmgen.frontend.tflite import ModelBuilder, SubGraphBuilder, read_model, write_model
from tflmgen.ir import DType

SHAPE = (1, 4)


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("good.npz", x=np.linspace(-2, 2, 160, dtype=np.float32).reshape(40, 1, 4))


def write_model_of(operators: list[str]) -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    tensor = graph.tensor("x", DType.FLOAT32, SHAPE)
    graph.inputs = [tensor]
    for name in operators:
        result = graph.tensor(name.lower(), DType.FLOAT32, SHAPE)
        graph.operator(name, [tensor], [result])
        tensor = result
    graph.outputs = [tensor]
    Path("model.tflite").write_bytes(write_model(builder.model()))


def test_a_regression_around_an_offset_is_judged_about_its_mean() -> None:
    """293 + a little: with one int8 scale three values are left, which the last layer's int16 and float mend."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("y", DType.FLOAT32, (1, 1))
    weights = graph.constant("weights", np.array([[0.2, -0.3, 0.4, 0.1]], np.float32))
    graph.operator("FULLY_CONNECTED", [x, weights, graph.constant("bias", np.array([293], np.float32))], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    words = ("quantize", "model.tflite", "--calibration", "good.npz", "-o", "q.tflite")
    (integer,) = tflmgen(*words, "--io", "int8", "--json").json["evaluation"]["outputs"]
    assert integer["sqnr_db"] > 45
    assert integer["noise"]["about_mean_db"] < 15
    assert "y is " in tflmgen(*words, "--io", "int8").out
    (exact,) = tflmgen(*words, "--json").json["evaluation"]["outputs"]
    assert exact["noise"]["worst_db"] > 30


@pytest.mark.parametrize("factor", [1.02, 6.0])
def test_values_beyond_the_ranges_are_a_warning_where_outputs_lose_by_them(factor: float) -> None:
    """Every fourth sample is held out; one of these goes beyond the others, by a step or by all of the range."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("y", DType.FLOAT32, (1, 1))
    graph.operator("FULLY_CONNECTED", [x, graph.constant("weights", np.ones((1, 4), np.float32)), -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    samples = np.random.default_rng(0).uniform(-1, 1, (80, 1, 4)).astype(np.float32)
    samples[3] = factor * np.array([1, -1, 1, 1])
    np.savez("samples.npz", x=samples)
    finished = tflmgen("quantize", "model.tflite", "--calibration", "samples.npz", "--json")
    assert finished.code == 0, finished.err
    assert max(web["held_out_reach"] for web in finished.json["webs"]) > 1
    warned = [text for text in finished.json["warnings"] if "leave the range of the others" in text]
    assert len(warned) == (factor > 2)
    assert all("y is " in text and "x (by " in text for text in warned)


@pytest.mark.parametrize("is_joined", [False, True])
def test_rows_of_joined_heads_have_no_class_that_could_differ(is_joined: bool) -> None:
    """Two elements that hardly differ: which one is larger says nothing where they are a box beside a score."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("y", DType.FLOAT32, (1, 2))
    rows = np.array([[1, -0.7, 0.4, 0.2]], np.float32) + np.array([[0], [1e-3]], np.float32)
    if is_joined:
        heads = [graph.tensor(f"head{number}", DType.FLOAT32, (1, 1)) for number in range(2)]
        for number, head in enumerate(heads):
            weights = graph.constant(f"weights{number}", rows[number : number + 1])
            graph.operator("FULLY_CONNECTED", [x, weights, -1], [head])
        graph.operator("CONCATENATION", heads, [y], {"axis": 1})
    else:
        graph.operator("FULLY_CONNECTED", [x, graph.constant("weights", rows), -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    values = np.random.default_rng(0).normal(0, 1, (40, *SHAPE)).astype(np.float32)
    np.savez("mixed.npz", x=values)
    finished = tflmgen("quantize", "model.tflite", "--calibration", "mixed.npz", "-o", "q.tflite")
    assert finished.code == 0, finished.err
    assert ("the largest element of y" in finished.err + finished.out) is not is_joined


def test_outputs_of_no_use_in_int8_get_wider_webs_at_any_cost() -> None:
    """The energy of a frame, of which LOG makes decibels: rounding to a step is as large as quiet frames."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    rng = np.random.default_rng(0)
    x = graph.tensor("x", DType.FLOAT32, (1, 64))
    bands, squares, sums, y = (graph.tensor(name, DType.FLOAT32, (1, 32)) for name in ("bands", "squares", "sums", "y"))
    weights = graph.constant("weights", rng.normal(0, 0.1, (32, 64)).astype(np.float32))
    graph.operator("FULLY_CONNECTED", [x, weights, -1], [bands])
    graph.operator("MUL", [bands, bands], [squares])
    graph.operator("ADD", [squares, graph.constant("least", np.float32(1e-6))], [sums])
    graph.operator("LOG", [sums], [y])
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    loudness = 10.0 ** rng.uniform(-2, 0, (80, 1, 1))
    np.savez("frames.npz", x=(loudness * rng.normal(0, 1, (80, 1, 64))).astype(np.float32))
    finished = tflmgen("quantize", "model.tflite", "--calibration", "frames.npz", "--json")
    assert finished.code == 0, finished.err
    (output,) = finished.json["evaluation"]["outputs"]
    assert output["noise"]["worst_db"] > 15
    assert any(web["type"] == "int16" for web in finished.json["wider_webs"])


def test_a_loop_keeps_its_trip_counts_by_default() -> None:
    """Newton's square root: its residue is compared with 1e-3, of which int8 of these values has no step."""
    builder = ModelBuilder()
    main, condition, body = (builder.subgraph(name) for name in ("main", "condition", "body"))

    def values(graph: SubGraphBuilder, *names: str) -> list[int]:
        return [graph.tensor(name, DType.FLOAT32, () if name.startswith("gap") else SHAPE) for name in names]

    x, last, root = values(main, "x", "last", "root")
    (gap,) = values(main, "gap")
    first = [x, main.constant("one", np.float32(1)), x]
    main.operator("WHILE", first, [root, gap, last], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    main.inputs, main.outputs = [x], [root]
    y, gap, x = values(condition, "y", "gap", "x")
    goes_on = condition.tensor("goes on", DType.BOOL, ())
    condition.operator("GREATER", [gap, condition.constant("least", np.float32(1e-3))], [goes_on])
    condition.inputs, condition.outputs = [y, gap, x], [goes_on]
    y, gap, x, part, total, better, change, size, gap_after = values(
        body, "y", "gap", "x", "part", "total", "better", "change", "size", "gap_after"
    )
    body.operator("DIV", [x, y], [part])
    body.operator("ADD", [y, part], [total])
    body.operator("MUL", [total, body.constant("half", np.float32(0.5))], [better])
    body.operator("SUB", [better, y], [change])
    body.operator("ABS", [change], [size])
    body.operator("REDUCE_MAX", [size, body.constant("axes", np.array([0, 1], np.int32))], [gap_after])
    body.inputs, body.outputs = [y, gap, x], [better, gap_after, x]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    np.savez("roots.npz", x=np.geomspace(0.5, 50, 160, dtype=np.float32).reshape(40, 1, 4))
    finished = tflmgen("quantize", "model.tflite", "--calibration", "roots.npz", "--json")
    assert finished.code == 0, finished.err
    (decision,) = finished.json["evaluation"]["decisions"]
    assert (decision["name"], decision["differing"]) == ("WHILE", 0)
    assert not any("trip counts" in warning for warning in finished.json["warnings"])


def test_what_stays_mostly_in_float_is_a_warning_with_reasons() -> None:
    write_model_of(["EXP", "SIN", "COS", "TANH"])
    finished = tflmgen("quantize", "model.tflite", "--calibration", "good.npz")
    assert finished.code == 0, finished.err
    assert "warning: 75% of the work stays in float32: TFLite Micro has no int8 kernel of" in finished.out


def test_a_margin_widens_the_outputs_range() -> None:
    write_model_of(["TANH", "ABS"])
    highest = {}
    for margin in ("1", "2", "abs=3"):
        words = ("--calibration", "good.npz", "--io", "int8", "--margin", margin, "-o", "q.tflite")
        finished = tflmgen("quantize", "model.tflite", *words)
        assert finished.code == 0, finished.err
        (output,) = read_model(Path("q.tflite")).subgraphs[0].outputs
        tensor = read_model(Path("q.tflite")).subgraphs[0].tensors[output]
        assert tensor.quantization is not None
        highest[margin] = tensor.quantization.scale * (127 - tensor.quantization.zero_point)
    assert highest["2"] == pytest.approx(2 * highest["1"], rel=0.01)
    assert highest["abs=3"] == pytest.approx(3 * highest["1"], rel=0.01)
    wrong = tflmgen("quantize", "model.tflite", "--calibration", "good.npz", "--margin", "nothing=2")
    assert (wrong.code, "the model has no tensor 'nothing'" in wrong.err) == (2, True)


def test_parts_of_an_output_may_be_outputs_with_a_scale_each() -> None:
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("y", DType.FLOAT32, (1, 8))
    heads = [graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("boxes", "scores")]
    for head, factor in zip(heads, (1000.0, 0.5), strict=True):
        graph.operator("MUL", [x, graph.constant("factor", np.float32(factor))], [head])
    graph.operator("CONCATENATION", heads, [y], {"axis": 1})
    graph.inputs, graph.outputs = [x], [y]
    Path("model.tflite").write_bytes(write_model(builder.model()))
    words = ("quantize", "model.tflite", "--calibration", "good.npz", "--io", "int8", "-o", "q.tflite")
    joined = tflmgen(*words)
    assert "costs some of them" in joined.out
    assert "--split-outputs" in joined.out
    split = tflmgen(*words, "--split-outputs", "--json")
    outputs = split.json["evaluation"]["outputs"]
    assert len(outputs) == 2
    assert all(output["noise"]["worst_db"] > 30 for output in outputs)


@pytest.mark.parametrize("command", [("quantize", "--calibration"), ("build", "--board", "host", "--quantize")])
def test_strict_makes_errors_of_warnings(command: tuple[str, ...]) -> None:
    write_model_of(["TANH", "GELU"])
    words = (command[0], "model.tflite", *command[1:], "good.npz", *(["--no-compile"] if command[0] == "build" else []))
    before = sorted(Path().iterdir())
    finished = tflmgen(*words, "--strict")
    assert finished.code == 1
    assert "--strict: TFLite Micro has no kernel of GELU (int8)" in finished.err
    assert sorted(Path().iterdir()) == before
    relaxed = tflmgen(*words)
    assert relaxed.code == 0
    assert "warning: TFLite Micro has no kernel of GELU (int8)" in relaxed.out
