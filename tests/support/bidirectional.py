"""Models of one bidirectional recurrent layer, at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.conv_cases import pick
from support.model_writer import ModelWriter
from support.native import Array

STEPS = 3
Rng = np.random.Generator


@dataclass(frozen=True)
class Layer:
    """A model of one bidirectional layer, and its input for each of STEPS invocations."""

    data: bytes
    inputs: list[Array]
    time_major: bool


class Writer:
    """Tensors of one layer, in the order of its inputs."""

    def __init__(self, rng: Rng, hybrid: bool, open_axis: int | None = None) -> None:
        """open_axis: the one of the input and the outputs that is known at run time only."""
        self.writer = ModelWriter()
        self.graph = self.writer.subgraph("main")
        self.rng, self.hybrid, self._open_axis = rng, hybrid, open_axis

    def source(self, *shape: int) -> int:
        self.graph.inputs = [self.graph.tensor("in", "float32", shape, shape_signature=self._signature(shape))]
        return self.graph.inputs[0]

    def _signature(self, shape: Sequence[int]) -> list[int] | None:
        if self._open_axis is None:
            return None
        return [-1 if axis == self._open_axis else size for axis, size in enumerate(shape)]

    def weights(self, *shape: int) -> int:
        if not self.hybrid:
            return self.array(*shape)
        values = self.rng.integers(-127, 128, shape)
        return self.graph.constant("w", values, "int8", [float(self.rng.uniform(0.005, 0.02))], [0])

    def array(self, *shape: int) -> int:
        return self.graph.constant("a", self.rng.normal(size=shape).astype(np.float32), "float32")

    def state(self, *shape: int) -> int:
        index = self.graph.tensor("state", "float32", shape)
        self.graph.tensors[index]["is_variable"] = True
        return index

    def finish(
        self, operator: str, inputs: list[int], units: tuple[int, int], lead: tuple[int, int], options: dict[str, Any]
    ) -> bytes:
        shapes = [(*lead, sum(units))] if options["merge_outputs"] else [(*lead, n) for n in units]
        outputs = [
            self.graph.tensor(f"out{i}", "float32", shape, shape_signature=self._signature(shape))
            for i, shape in enumerate(shapes)
        ]
        self.graph.operator(operator, inputs, outputs, options)
        self.graph.outputs = outputs
        return bytes(self.writer.finish())


def layer(rng: Rng, operator: str, hybrid: bool, open_time: bool = False) -> Layer:
    """open_time: the number of steps is known at run time only."""
    batches, steps, channels = (int(n) for n in rng.integers(1, 6, 3))
    options: dict[str, Any] = {"time_major": bool(rng.integers(2)), "merge_outputs": bool(rng.integers(2))}
    if hybrid and operator == "BIDIRECTIONAL_SEQUENCE_RNN":
        options["time_major"] = False  # LiteRT runs one that is time-major once for each of its steps.
    if operator == "BIDIRECTIONAL_SEQUENCE_LSTM" and options["merge_outputs"] and not options["time_major"]:
        batches = 1  # LiteRT writes the state of the second batch where it is not.
    if hybrid:
        options["asymmetric_quantize_inputs"] = bool(rng.integers(2))
    lead = (steps, batches) if options["time_major"] else (batches, steps)
    writer = Writer(rng, hybrid, (0 if options["time_major"] else 1) if open_time else None)
    source = writer.source(*lead, channels)
    if operator == "BIDIRECTIONAL_SEQUENCE_RNN":
        options["fused_activation_function"] = int(pick(rng, 1, 3, 4))
        inputs, units = [source], (int(rng.integers(1, 6)), int(rng.integers(1, 6)))
        for n in units:
            inputs += [writer.weights(n, channels), writer.weights(n, n), writer.array(n), writer.state(batches, n)]
        inputs += [-1, -1, -1]
    else:
        options |= {"fused_activation_function": 4, "cell_clip": float(pick(rng, 0.0, 0.7)), "proj_clip": 0.0}
        # LiteRT demands sides of one size.
        cells, projected = int(rng.integers(1, 6)), bool(rng.integers(2))
        outputs = int(rng.integers(1, 6)) if projected else cells
        shape = Shape(channels, cells, outputs, projected)
        sides = [i for _ in range(2) for i in lstm_side(rng, writer, shape)]
        states = [writer.state(batches, n) for _ in range(2) for n in (outputs, cells)]
        inputs, units = [source, *sides, *states, *[-1] * 9], (outputs, outputs)
    data = writer.finish(operator, inputs, units, lead, options)
    return Layer(
        data, [rng.normal(size=(*lead, channels)).astype(np.float32) for _ in range(STEPS)], options["time_major"]
    )


@dataclass(frozen=True)
class Shape:
    """One side of an LSTM."""

    channels: int
    cells: int
    outputs: int
    projected: bool


def lstm_side(rng: Rng, writer: Writer, shape: Shape) -> list[int]:
    """17 inputs of an LSTM, those of the input gate missing where it is coupled."""
    peepholes, first = bool(rng.integers(2)), int(rng.integers(2))
    inputs = [-1] * first + [writer.weights(shape.cells, shape.channels) for _ in range(4 - first)]
    inputs += [-1] * first + [writer.weights(shape.cells, shape.outputs) for _ in range(4 - first)]
    inputs += [writer.weights(shape.cells) if peepholes and i >= first else -1 for i in range(3)]
    inputs += [-1] * first + [writer.array(shape.cells) for _ in range(4 - first)]
    return inputs + ([writer.weights(shape.outputs, shape.cells), -1] if shape.projected else [-1, -1])
