"""Layers without weights, for the cost models of their kernels: see cost_samples.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.cost_samples import INPUTS
from support.model_writer import SubgraphWriter

RELU6 = 3

SOURCE = INPUTS["int8"]

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Elements:
    """One element at a time of one input, or of two that may be broadcast.

    activation: as TFLite numbers them. Of RELU's outputs, none needs a clamp; of RELU6's, some do.
    """

    operator: str
    inputs: Shapes
    activation: int = 0
    dtype: str = "int8"

    def add_to(self, graph: SubgraphWriter, inputs: list[int], rng: np.random.Generator) -> int:
        del rng
        shape = np.broadcast_shapes(*self.inputs)
        ends = {"LOGISTIC": (1 / 256, -128)}.get(self.operator, (0.1, -128 if self.activation else 3))
        y = graph.tensor("y", "int8", shape, [ends[0]], [ends[1]])
        options = {"fused_activation_function": self.activation} if len(inputs) > 1 else {}
        graph.operator(self.operator, inputs, [y], options)
        return y


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool of an input [1, height, width, channels].

    zeros: behind a PAD by one pixel on each side, which becomes padding that counts.
    """

    operator: str
    size: tuple[int, int]
    channels: int
    taps: tuple[int, int]
    stride: int
    same: bool
    zeros: bool
    activation: int
    dtype: str = "int8"

    @property
    def inputs(self) -> Sequence[tuple[int, ...]]:
        return [(1, *self.size, self.channels)]

    def add_to(self, graph: SubgraphWriter, inputs: list[int], rng: np.random.Generator) -> int:
        del rng
        height, width = self.size
        if self.zeros:
            height, width = height + 2, width + 2
            padded = graph.tensor("padded", "int8", [1, height, width, self.channels], **SOURCE)
            amounts = graph.constant("amounts", np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32))
            graph.operator("PAD", [*inputs, amounts], [padded])
            inputs = [padded]
        shape = [
            -(-s // self.stride) if self.same else (s - t) // self.stride + 1
            for s, t in zip((height, width), self.taps, strict=True)
        ]
        options: dict[str, Any] = {"padding": int(not self.same), "fused_activation_function": self.activation}
        options |= {"stride_h": self.stride, "stride_w": self.stride}
        options |= {"filter_height": self.taps[0], "filter_width": self.taps[1]}
        y = graph.tensor("y", "int8", [1, *shape, self.channels], **SOURCE)
        graph.operator(self.operator, inputs, [y], options)
        return y


def elements(rng: np.random.Generator, operator: str, broadcast: bool) -> Elements:
    """ADD, SUB or MUL of tensors of one shape, or one of which is broadcast; or a function of one element."""
    last = int(rng.integers(1, 70))
    shape = int(rng.integers(1, 8)), int(rng.integers(1, 8)), last
    activation = int(rng.choice([0, 0, 1, RELU6]))
    if operator == "LOGISTIC":
        return Elements(operator, (shape,))
    if not broadcast:
        return Elements(operator, (shape, shape), activation)
    other = [(1, 1, last), (shape[0], shape[1], 1), (shape[0], 1, last), (1, 1, 1), (1, shape[1], 1)]
    shapes = shape, other[int(rng.integers(len(other)))]
    return Elements(operator, shapes if rng.random() < 0.5 else shapes[::-1], activation)


def pool(rng: np.random.Generator, operator: str) -> Pool:
    taps = [(2, 2), (2, 2), (3, 3), (3, 3), (5, 4), (1, 4), (7, 7)][int(rng.integers(7))]
    channels = int(rng.choice([4, 8, 12, 16, 20, 32, 36, 40, 64]))
    if rng.random() < 0.4:
        channels += int(rng.integers(1, 4))
    size = tuple(int(t + rng.integers(0, 12)) for t in taps)
    zeros = bool(rng.random() < 0.3)
    same = not zeros and bool(rng.random() < 0.6)
    stride = int(rng.choice([1, 2, 2, 3]))
    activation = int(rng.choice([0, 1, RELU6]))
    return Pool(operator, (size[0], size[1]), channels, taps, stride, same, zeros, activation)
