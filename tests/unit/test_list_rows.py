"""Rows that a loop picks and stores, with operators that TFLite Micro has kernels of; others stay in float."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.lstm_models import LstmStyle, lstm_loop
from support.quantize_models import FEATURES, STEPS, recurrent_loop
from support.silent_watcher import SilentWatcher
from tflmgen.compare.oracle import tflm_outputs
from tflmgen.emulators import Vectors, VectorSet
from tflmgen.frontend import Model, ModelBuilder
from tflmgen.ir import DType
from tflmgen.quantize import (
    QuantizationChoice,
    QuantizedModel,
    calibrate,
    observed_build,
    prepare_float,
    quantize_model,
)


def sets(shape: tuple[int, ...]) -> Vectors:
    rng = np.random.default_rng(4)
    return Vectors(tuple(VectorSet("", 0, (rng.normal(size=shape).astype(np.float32),)) for _ in range(12)))


def quantized_in(dtype: DType, model: Model, vectors: Vectors) -> QuantizedModel:
    source = prepare_float(model)
    return quantize_model(source, calibrate(source, vectors), QuantizationChoice(dtype))


def in_int16(model: Model, vectors: Vectors) -> QuantizedModel:
    return quantized_in(DType.INT16, model, vectors)


def gathered(index: np.ndarray, axis: int, shape: tuple[int, ...]) -> Model:
    """tanh of the rows of x[3, 4, 2] at `index` along an axis."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, rows, y = (graph.tensor(n, DType.FLOAT32, s) for n, s in (("x", (3, 4, 2)), ("rows", shape), ("y", shape)))
    graph.operator("GATHER", [x, graph.constant("index", index)], [rows], {"axis": axis})
    graph.operator("TANH", [rows], [y])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def assert_as_in_tflm(quantized: QuantizedModel, vectors: Vectors, folder: Path) -> None:
    path = folder / "q.tflite"
    path.write_bytes(quantized.data)
    theirs = tflm_outputs(path, vectors.sets, 1 << 20, 60, vectors.stateful)
    with observed_build(quantized.model) as build:
        ours = build.run(vectors.sets, vectors.stateful, SilentWatcher())
    for own, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(own[0], other[0])


def test_a_loop_picks_rows_without_float(tmp_path: Path) -> None:
    vectors = sets((STEPS, FEATURES))
    quantized = in_int16(recurrent_loop("GATHER"), vectors)
    assert not quantized.assignment.notes
    assert not quantized.conversions
    assert "GATHER" not in {op.name for graph in quantized.model.subgraphs for op in graph.operators}
    assert_as_in_tflm(quantized, vectors, tmp_path)


@pytest.mark.parametrize(
    ("index", "axis", "shape"),
    [
        (np.array(2, np.int32), 0, (4, 2)),
        (np.array([1], np.int32), 0, (1, 4, 2)),
        (np.array(3, np.int32), 1, (3, 2)),
        (np.array([1], np.int32), 2, (3, 4, 1)),
    ],
)
def test_every_axis_and_shape_of_one_index(
    index: np.ndarray,
    axis: int,
    shape: tuple[int, ...],
    tmp_path: Path,
) -> None:
    vectors = sets((3, 4, 2))
    quantized = in_int16(gathered(index, axis, shape), vectors)
    assert not quantized.assignment.notes
    assert_as_in_tflm(quantized, vectors, tmp_path)


def test_several_rows_stay_in_float() -> None:
    quantized = in_int16(gathered(np.array([2, 0], np.int32), 0, (2, 4, 2)), sets((3, 4, 2)))
    assert [note.reason for note in quantized.assignment.notes] == ["TFLite Micro has no int16 kernel of GATHER"]


@pytest.mark.parametrize("dtype", [DType.INT8, DType.INT16])
@pytest.mark.parametrize("batch", [1, 2])
def test_a_loop_stores_rows_as_tflm_can(dtype: DType, batch: int, tmp_path: Path) -> None:
    style = LstmStyle(result="all", batch=batch)
    vectors = sets((style.length, batch, style.features))
    quantized = quantized_in(dtype, lstm_loop(style), vectors)
    operators = [op.name for graph in quantized.model.subgraphs for op in graph.operators]
    assert operators.count("DYNAMIC_UPDATE_SLICE") == 1
    assert all(-1 not in (t.shape_signature or ()) for graph in quantized.model.subgraphs for t in graph.tensors)
    assert not quantized.conversions
    assert_as_in_tflm(quantized, vectors, tmp_path)
