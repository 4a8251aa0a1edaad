"""Masks of attention, such as -1e9, cost the scores no accuracy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.sampling import sampled
from support.silent_watcher import SilentWatcher
from tflmgen.compare.oracle import tflm_outputs
from tflmgen.frontend.tflite import Model, ModelBuilder, read_model, write_model
from tflmgen.input_sets import Vectors, VectorSet
from tflmgen.ir import DType
from tflmgen.options import QuantizedIo, QuantizeOptions
from tflmgen.quantize import QuantizedFile, observed_build, quantize_file, run_sets
from tflmgen.quantize.evaluation import with_types

SHAPE = (1, 8)
MASKS = (("add", -1e9), ("select", -1e9), ("select", -np.inf), ("input", -1e9))


def masked_softmax(style: str, mask: float) -> Model:
    """softmax of x where keep is 1: "add" adds (1 - keep) * mask, "select" chooses the mask, "input" adds an input."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, keep, y = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("x", "keep", "y"))
    scores = graph.tensor("scores", DType.FLOAT32, SHAPE)
    unity, number = graph.constant("one", np.float32(1)), graph.constant("mask", np.float32(mask))
    if style == "add":
        away, added = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("away", "added"))
        graph.operator("SUB", [unity, keep], [away])
        graph.operator("MUL", [away, number], [added])
        graph.operator("ADD", [x, added], [scores])
    elif style == "select":
        flag = graph.tensor("flag", DType.BOOL, SHAPE)
        graph.operator("GREATER_EQUAL", [keep, unity], [flag])
        graph.operator("SELECT_V2", [flag, x, number], [scores])
    else:
        graph.operator("ADD", [x, keep], [scores])
    graph.operator("SOFTMAX", [scores], [y], {"beta": 1.0})
    graph.inputs, graph.outputs = [x, keep], [y]
    return builder.model()


def quantised(
    model: Model, folder: Path, mask: float | None, deviation: float = 2, io: QuantizedIo = QuantizedIo.FLOAT
) -> QuantizedFile:
    """Quantised with 40 sets of scores; mask: the second input is 0 or this number, else 1 or 0."""
    rng = np.random.default_rng(4)
    keep = (np.arange(8) < rng.integers(3, 9, (40, 1))).astype(np.float32)
    keep = keep if mask is None else (1 - keep) * np.float32(mask)
    arrays = {"x": rng.normal(0, deviation, (40, 8)).astype(np.float32), "keep": keep}
    path = folder / "model.tflite"
    path.write_bytes(write_model(model))
    np.savez(folder / "samples.npz", **{name: array.reshape(40, *SHAPE) for name, array in arrays.items()})  # type: ignore[arg-type]
    return quantize_file(path, folder / "samples.npz", QuantizeOptions(io=io), None, lambda *_: None)


@pytest.mark.parametrize(("io", "style", "mask"), sampled([(io, *mask) for mask in MASKS for io in QuantizedIo], 3))
def test_scores_keep_their_steps(style: str, mask: float, io: QuantizedIo, tmp_path: Path) -> None:
    """In integers from the inputs on; with float inputs, masks are made and added in float32, at an exact end."""
    result = quantised(masked_softmax(style, mask), tmp_path, mask if style == "input" else None, io=io)
    notes = result.quantized.assignment.notes
    assert all(note.is_choice for note in notes) if io is QuantizedIo.FLOAT else not notes
    assert result.evaluation.sqnr_db > 30
    file = tmp_path / "quantised.tflite"
    file.write_bytes(result.quantized.data)
    sets = result.data.held_out
    with observed_build(read_model(file)) as build:
        typed = [with_types(own, build.signatures[0]) for own in sets.sets]
        ours = list(build.run(typed, False, SilentWatcher()))
    for own, theirs in zip(ours, tflm_outputs(file, typed, 1 << 20, 60), strict=True):
        np.testing.assert_array_equal(own[0], theirs[0])


@pytest.mark.parametrize("style", ["add", "input"])
def test_masks_reach_below_scores_that_lie_far_apart(style: str, tmp_path: Path) -> None:
    """The mask is 0, or -0 as the product of a mask and 0 is, where a score counts."""
    result = quantised(masked_softmax(style, -1e9), tmp_path, -1e9 if style == "input" else None, 12, QuantizedIo.INT8)
    assert result.evaluation.sqnr_db > 25


def test_a_sensor_whose_values_are_0_or_large_has_no_masks(tmp_path: Path) -> None:
    """As of an echo's distance in millimetres, 0 where there is none: the values beside 0 are what counts."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = graph.tensor("x", DType.FLOAT32, SHAPE), graph.tensor("y", DType.FLOAT32, (8, 1))
    column, shape = graph.tensor("column", DType.FLOAT32, (8, 1)), graph.constant("shape", np.array([8, 1], np.int32))
    graph.operator("RESHAPE", [x, shape], [column])
    graph.operator("MUL", [column, graph.constant("f", np.linspace(-1, 1, 8, dtype=np.float32).reshape(8, 1))], [y])
    graph.inputs, graph.outputs = [x], [y]
    rng = np.random.default_rng(4)
    distances = rng.uniform(600, 4000, (40, *SHAPE)) * (rng.random((40, *SHAPE)) > 0.3)
    path = tmp_path / "model.tflite"
    path.write_bytes(write_model(builder.model()))
    np.savez(tmp_path / "samples.npz", x=distances.astype(np.float32))
    result = quantize_file(path, tmp_path / "samples.npz", QuantizeOptions(io=QuantizedIo.INT8), None, lambda *_: None)
    assert result.evaluation.sqnr_db > 35


def test_large_values_that_are_no_masks_stay(tmp_path: Path) -> None:
    """x + 1e4 is read as it is: a smaller constant would give another result, which the comparison in float tells."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(name, DType.FLOAT32, SHAPE) for name in ("x", "y"))
    offsets = np.where(np.arange(8) < 4, 0, 1e4).astype(np.float32).reshape(SHAPE)
    graph.operator("ADD", [x, graph.constant("offsets", offsets)], [y])
    graph.inputs, graph.outputs = [x], [y]
    path = tmp_path / "model.tflite"
    path.write_bytes(write_model(builder.model()))
    samples = np.random.default_rng(1).normal(0, 1, (40, *SHAPE)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", x=samples)
    result = quantize_file(path, tmp_path / "samples.npz", QuantizeOptions(io=QuantizedIo.INT8), None, lambda *_: None)
    sets = Vectors(tuple(VectorSet("", 0, (sample,)) for sample in samples[:4]))
    with observed_build(result.quantized.model) as build:
        outputs = run_sets(build, sets).outputs
    for (output,), sample in zip(outputs, samples, strict=False):
        np.testing.assert_allclose(output, sample + offsets, atol=50)


@pytest.mark.parametrize("fill", [-np.inf, -1e9, float(np.finfo(np.float32).min)])
def test_what_a_maximum_is_padded_with_needs_no_steps(fill: float, tmp_path: Path) -> None:
    """Pixels below 0.4, padded as PyTorch pads for MaxPool: all 256 steps are the pixels'."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, padded = graph.tensor("x", DType.FLOAT32, (1, 8, 8, 2)), graph.tensor("padded", DType.FLOAT32, (1, 10, 10, 2))
    y = graph.tensor("y", DType.FLOAT32, (1, 4, 4, 2))
    edges = graph.constant("edges", np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
    graph.operator("PADV2", [x, edges, graph.constant("fill", np.float32(fill))], [padded])
    options = {"padding": 1, "stride_h": 2, "stride_w": 2, "filter_height": 3, "filter_width": 3}
    graph.operator("MAX_POOL_2D", [padded], [y], options)
    graph.inputs, graph.outputs = [x], [y]
    path = tmp_path / "model.tflite"
    path.write_bytes(write_model(builder.model()))
    np.savez(tmp_path / "samples.npz", x=np.random.default_rng(4).uniform(-0.2, 0.4, (40, 1, 8, 8, 2)).astype("f4"))
    result = quantize_file(path, tmp_path / "samples.npz", QuantizeOptions(io=QuantizedIo.INT8), None, lambda *_: None)
    assert result.evaluation.sqnr_db > 45
