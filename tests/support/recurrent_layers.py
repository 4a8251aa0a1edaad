"""SVDF and LSTM among the layers whose kernels are counted (cost_samples.py): their weights, biases and states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from support.kernel_harness import Array
from support.model_writer import SubgraphWriter

if TYPE_CHECKING:
    from support.cost_samples import Layer

GATES = 4


def weights_of(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, beyond: bool) -> Array:
    """Bell-shaped; beyond: some are pairs that 16 bits do not hold."""
    if dtype == "float32":
        return rng.normal(0, 1, shape).astype(np.float32)
    weights = np.clip(np.rint(rng.normal(0, 30, shape)), -127, 127).astype(np.int8)
    if beyond:
        rows = weights.reshape(len(weights), -1)
        rows[:, :2] = (-1, -128)[: rows.shape[1]]
    return weights


def svdf(graph: SubgraphWriter, layer: Layer, x: int, y: int, rng: np.random.Generator) -> None:
    batches, filters = layer.size[0], layer.outputs * layer.rank
    first = weights_of(rng, (filters, layer.channels), layer.dtype, layer.beyond)
    held = layer.state if layer.dtype == "int8" else layer.dtype
    if held == "int16":
        times = rng.integers(-30000, 30001, (filters, layer.memory)).astype(np.int16)
    else:
        times = weights_of(rng, (filters, layer.memory), layer.dtype, False)
    points: dict[str, tuple[list[float], list[int]]] = {"int8": ([0.2], [5]), "int16": ([0.003], [0])}
    scale, point = points.get(held, (None, None))
    time_scale = {"int8": 0.02, "int16": 1e-4}.get(held)
    zero = None if scale is None else [0]
    w = graph.constant("w", first, scale=scale and [0.02], zero_point=zero)
    t = graph.constant("t", times, scale=None if time_scale is None else [time_scale], zero_point=zero)
    bias = rng.integers(-200, 200, layer.outputs).astype(np.float32 if layer.dtype == "float32" else np.int32)
    both = None if scale is None or time_scale is None else [scale[0] * time_scale]
    b = graph.constant("b", bias, scale=both, zero_point=zero)
    state = graph.tensor("state", held, [batches, filters * layer.memory], scale, point, variable=True)
    graph.operator("SVDF", [x, w, t, b, state], [y], {"rank": layer.rank, "fused_activation_function": int(layer.relu)})


def lstm(graph: SubgraphWriter, layer: Layer, x: int, y: int, rng: np.random.Generator) -> None:
    """relu: cells are clipped."""
    batches, cells, real = layer.size[0], layer.outputs, layer.dtype == "float32"
    weights = []
    for length in [layer.channels] * GATES + [cells] * GATES:
        values = weights_of(rng, (cells, length), layer.dtype, layer.beyond) * (np.float32(0.3) if real else 1)
        scale = None if real else [float(rng.uniform(0.002, 0.02))]
        weights.append(graph.constant("w", values.astype(np.float32 if real else np.int8), scale=scale))
    biases = []
    for _ in range(GATES):
        bias: Array = rng.normal(0, 1, cells) if real else rng.integers(-200, 200, cells)
        biases.append(graph.constant("b", bias.astype(np.float32 if real else np.int32)))
    known: dict[str, Any] = {} if real else {"scale": [0.01], "zero_point": [3]}
    hidden = graph.tensor("h", layer.dtype, [batches, cells], variable=True, **known)
    known = {} if real else {"scale": [2.0**-11], "zero_point": [0]}
    cell = graph.tensor("cell", layer.dtype if real else "int16", [batches, cells], variable=True, **known)
    absent = [-1]
    inputs = [x, *weights, *3 * absent, *biases, *2 * absent, hidden, cell, *4 * absent]
    options = {"fused_activation_function": 4, "cell_clip": 3.0 if layer.relu else 0.0, "time_major": False}
    graph.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [y], options)
