"""Candidates of a keyword spotter (DS-CNN): depthwise-separable convolutions of several widths and depths.

tflmgen sweep examples/sweep/ds_cnn_space.py -o ds_cnn.parquet --report ds_cnn.html

Memory and time of an int8 network hardly depend on its weights, so that these are random: only networks that fit are
worth training. The score stands for accuracy until then; replace score() by the validation accuracy of a training.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tflmgen.frontend.tflite import ModelBuilder, SubGraphBuilder, write_model
from tflmgen.ir import DType, Quantization

BOARDS = ["nucleo_f446re"]
WIDTHS, DEPTHS, KERNELS = range(8, 73, 8), range(1, 9), (3, 5)
FRAMES, FEATURES, CLASSES = 49, 10, 12
SAME, RELU = 0, 1


def candidates() -> Iterator[dict[str, int]]:
    for width in WIDTHS:
        for depth in DEPTHS:
            for kernel in KERNELS:
                yield {"width": width, "depth": depth, "kernel": kernel}


def build(width: int, depth: int, kernel: int) -> bytes:
    """The .tflite file: a convolution, `depth` separable blocks of `width` channels, a mean, and a layer of classes."""
    builder = ModelBuilder("DS-CNN with random weights", "ds_cnn")
    graph = builder.subgraph("main")
    layers = _Layers(graph, np.random.default_rng(width * 1000 + depth * 10 + kernel))
    x = layers.activations("features", (1, FRAMES, FEATURES, 1))
    graph.inputs = [x]
    x, shape = layers.convolution(x, (1, FRAMES, FEATURES, 1), width, (10, 4), 2)
    for _ in range(depth):
        x = layers.depthwise(x, shape, kernel)
        x, shape = layers.convolution(x, shape, width, (1, 1), 1)
    pooled = layers.activations("pooled", (1, width))
    graph.operator("MEAN", [x, graph.constant("axes", np.array([1, 2], np.int32))], [pooled], {"keep_dims": False})
    graph.outputs = [layers.dense(pooled, width, CLASSES)]
    builder.signature("serving_default", 0, [("features", graph.inputs[0])], [("scores", graph.outputs[0])])
    return write_model(builder.model())


def score(parameters: Mapping[str, int], row: Mapping[str, Any], path: Path) -> float:
    """Logarithm of the number of weights: a stand-in for accuracy, which grows with it."""
    del row, path
    width, depth, kernel = parameters["width"], parameters["depth"], parameters["kernel"]
    return math.log10(40 * width + depth * width * (width + kernel * kernel) + CLASSES * width)


class _Layers:
    """Adds int8 layers with random weights to a graph."""

    def __init__(self, graph: SubGraphBuilder, random: np.random.Generator) -> None:
        self._graph, self._random, self._number = graph, random, 0

    def activations(self, name: str, shape: tuple[int, ...]) -> int:
        self._number += 1
        return self._graph.tensor(f"{name}{self._number}", DType.INT8, shape, Quantization((0.05,), (-128,)))

    def convolution(
        self, x: int, shape: tuple[int, ...], width: int, size: tuple[int, int], stride: int
    ) -> tuple[int, tuple[int, ...]]:
        out = (1, -(-shape[1] // stride), -(-shape[2] // stride), width)
        y = self.activations("convolved", out)
        operands = [x, *self._weights((width, *size, shape[3]), 0)]
        options = {"padding": SAME, "stride_w": stride, "stride_h": stride, "fused_activation_function": RELU}
        self._graph.operator("CONV_2D", operands, [y], options)
        return y, out

    def depthwise(self, x: int, shape: tuple[int, ...], kernel: int) -> int:
        y = self.activations("filtered", shape)
        operands = [x, *self._weights((1, kernel, kernel, shape[3]), 3)]
        options = {"padding": SAME, "stride_w": 1, "stride_h": 1, "depth_multiplier": 1}
        self._graph.operator("DEPTHWISE_CONV_2D", operands, [y], {**options, "fused_activation_function": RELU})
        return y

    def dense(self, x: int, inputs: int, outputs: int) -> int:
        y = self.activations("scores", (1, outputs))
        self._graph.operator("FULLY_CONNECTED", [x, *self._weights((outputs, inputs), None)], [y])
        return y

    def _weights(self, shape: tuple[int, ...], axis: int | None) -> list[int]:
        """Filter and bias; axis: of the channels that have a scale each."""
        channels = shape[0 if axis is None else axis]
        number = 1 if axis is None else channels
        scales = tuple(float(s) for s in self._random.uniform(0.002, 0.01, number))
        values = self._random.integers(-127, 128, shape, np.int8)
        zeros = (0,) * number
        self._number += 1
        filters = self._graph.constant(f"filter{self._number}", values, Quantization(scales, zeros, axis or 0))
        biases = self._random.integers(-500, 500, channels).astype(np.int32)
        scaled = Quantization(tuple(0.05 * s for s in scales), zeros)
        return [filters, self._graph.constant(f"bias{self._number}", biases, scaled)]
