"""Calibration of tensors with dynamic dimensions: only the elements in use are values of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.quantize_models import f32
from tflmgen.frontend import TensorKey
from tflmgen.frontend.tflite import Model, ModelBuilder, SubGraphBuilder
from tflmgen.input_sets import VectorSet
from tflmgen.ir import DType
from tflmgen.quantize import observed_build
from tflmgen.quantize.layer_inputs import LayerWatcher

F32 = DType.FLOAT32
ROWS = 8
"""Largest number of rows; the sets have fewer."""

WEIGHTS = f32(np.random.default_rng(1).normal(0, 1, (6, 4)))
SETS = tuple(f32(np.random.default_rng(rows).normal(0, 1, (rows, 4))) for rows in (2, 5, 3, 1))


def _layer(graph: SubGraphBuilder, bias: float = 0.0) -> tuple[int, int]:
    """Input x[rows, 4] and y[rows, 6] = relu(x * W + bias)."""
    x = graph.tensor("x", F32, (1, 4), shape_signature=(-1, 4))
    y = graph.tensor("y", F32, (1, 6), shape_signature=(-1, 6))
    constants = graph.constant("w", WEIGHTS), graph.constant("b", np.full(6, bias, np.float32))
    graph.operator("FULLY_CONNECTED", [x, *constants], [y], {"fused_activation_function": 1})
    return x, y


def reduced(name: str, bias: float = 0.0) -> Model:
    """r[6]: a reduction of the layer's rows."""
    builder = ModelBuilder("rows", name="rows.tflite")
    graph = builder.subgraph("main")
    x, y = _layer(graph, bias)
    r = graph.tensor("r", F32, (6,))
    graph.operator(name, [y, graph.constant("axis", np.array([0], np.int32))], [r])
    graph.inputs, graph.outputs = [x], [r]
    return builder.model()


def joined() -> Model:
    """z[2 * rows, 6]: the layer's rows twice, those of the second time negated."""
    builder = ModelBuilder("rows", name="rows.tflite")
    graph = builder.subgraph("main")
    x, y = _layer(graph)
    n, z = (graph.tensor(name, F32, (1, 6), shape_signature=(-1, 6)) for name in "nz")
    graph.operator("NEG", [y], [n])
    graph.operator("CONCATENATION", [y, n], [z], {"axis": 0})
    graph.inputs, graph.outputs = [x], [z]
    return builder.model()


class _Recorder:
    """Keeps each value of the float tensors."""

    def __init__(self, model: Model, change: float = 0.0) -> None:
        self._model, self._change = model, change
        self.values: dict[str, list[NDArray[np.float32]]] = {}

    def wants(self, tensor: TensorKey) -> bool:
        return self._model.subgraphs[tensor[0]].tensors[tensor[1]].dtype is F32

    def tensor(self, tensor: TensorKey, value: NDArray[np.float32]) -> None:
        name = self._model.subgraphs[tensor[0]].tensors[tensor[1]].name
        self.values.setdefault(name, []).append(value.copy())
        if name == "y":
            value += self._change

    def mark(self, event: str, operator: tuple[int, int]) -> None:
        pass


def recorded(
    model: Model, change: float = 0.0
) -> tuple[dict[str, list[NDArray[np.float32]]], list[NDArray[np.float32]]]:
    """The values shown, by tensor name, and the first output of each set."""
    watcher = _Recorder(model, change)
    sets = [VectorSet("", 0, (x,)) for x in SETS]
    with observed_build(model, {(0, 0): (ROWS, 4)}) as build:
        outputs = build.run(sets, False, watcher)
    return watcher.values, [arrays[0] for arrays in outputs]


def layer_rows() -> list[NDArray[np.float32]]:
    return [np.maximum(x @ WEIGHTS.T, 0) for x in SETS]


@pytest.mark.parametrize(
    ("name", "function"), [("REDUCE_MAX", np.max), ("REDUCE_MIN", np.min), ("SUM", np.sum), ("MEAN", np.mean)]
)
def test_rows_that_are_not_in_use_are_not_measured(name: str, function: Callable[..., Any]) -> None:
    values, outputs = recorded(reduced(name))
    for shown, rows in zip(values["y"], layer_rows(), strict=True):
        np.testing.assert_allclose(shown, rows, rtol=1e-5, atol=1e-6)
    for shown, output, rows in zip(values["r"], outputs, layer_rows(), strict=True):
        np.testing.assert_allclose(shown, function(rows, axis=0), rtol=1e-5, atol=1e-6)  # the mean, not the sum before
        np.testing.assert_array_equal(shown, output)


def test_rows_joined_along_the_dynamic_dimension_are_measured() -> None:
    values, outputs = recorded(joined())
    for shown, output, rows in zip(values["z"], outputs, layer_rows(), strict=True):
        np.testing.assert_allclose(shown, np.concatenate([rows, -rows]), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(shown, output)


def test_changes_to_rows_in_use_reach_what_reads_them() -> None:
    _, plain = recorded(reduced("REDUCE_MAX"))
    _, changed = recorded(reduced("REDUCE_MAX"), change=2.0)
    for before, after in zip(plain, changed, strict=True):
        np.testing.assert_allclose(after, before + 2, rtol=1e-6)


def test_layers_with_dynamic_rows_learn_their_inputs() -> None:
    model = reduced("MEAN")
    watcher = LayerWatcher(model)
    with observed_build(model, {(0, 0): (ROWS, 4)}) as build:
        build.run([VectorSet("", 0, (x,)) for x in SETS], False, watcher)
    rows = np.concatenate(SETS)
    (layer,) = watcher.layers
    assert layer.rows == len(rows)
    np.testing.assert_allclose(layer.mean[0], rows.mean(axis=0), rtol=1e-5, atol=1e-6)
