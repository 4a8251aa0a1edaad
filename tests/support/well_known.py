"""Networks with the layers of well-known ones and seeded weights, for what layers alone decide: arena, code, stack.

The first five are MLPerf Tiny's and TensorFlow Lite Micro's benchmarks; the others are examples of the latter.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from support.corpus import CORPUS
from support.model_writer import ModelWriter

SAME, VALID = 0, 1
NONE, RELU, RELU6 = 0, 1, 3
LEAST = -128
"""The zero point of values that are never negative."""


class Network:
    """A chain of layers, in int8 or float32; `at` is its last tensor."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "int8", seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._writer = ModelWriter()
        self._graph = self._writer.subgraph("main")
        self._dtype = dtype
        self.at = self._tensor(shape)
        self._graph.inputs = [self.at]

    def shape(self, tensor: int) -> list[int]:
        return list(self._graph.tensors[tensor]["shape"])

    def conv(self, channels: int, kernel: tuple[int, int], stride: int = 1, activation: int = RELU) -> None:
        weights = self._weights((channels, *kernel, self.shape(self.at)[3]), axis=0)
        self._window("CONV_2D", weights, channels, stride, activation)

    def depthwise(self, kernel: tuple[int, int], stride: int = 1, multiplier: int = 1, activation: int = RELU) -> None:
        channels = self.shape(self.at)[3] * multiplier
        weights = self._weights((1, *kernel, channels), axis=3)
        self._window("DEPTHWISE_CONV_2D", weights, channels, stride, activation, depth_multiplier=multiplier)

    def dense(self, units: int, activation: int = NONE) -> None:
        weights = self._weights((units, int(np.prod(self.shape(self.at)[1:]))), axis=0, scales=1)
        self._append("FULLY_CONNECTED", weights, (1, units), activation, fused_activation_function=activation)

    def add(self, other: int) -> None:
        """The last tensor and another one; ReLU."""
        options = {"fused_activation_function": RELU, "pot_scale_int16": True}
        self._append("ADD", [other], tuple(self.shape(self.at)), RELU, first=False, **options)

    def mean(self) -> None:
        """The average of each channel, as a vector."""
        _, height, width, channels = self.shape(self.at)
        size: dict[str, Any] = {"filter_height": height, "filter_width": width, "stride_h": height, "stride_w": width}
        self._append("AVERAGE_POOL_2D", [], (1, 1, 1, channels), self._activation, padding=VALID, **size)

    def reshape(self, *shape: int) -> None:
        constant = self._graph.constant(f"shape{len(self._graph.tensors)}", np.array(shape, np.int32))
        self._append("RESHAPE", [constant], shape, self._activation)

    def softmax(self) -> None:
        self._append("SOFTMAX", [], tuple(self.shape(self.at)), NONE, beta=1.0)
        if self._dtype == "int8":
            self._graph.tensors[self.at]["quantization"] = ([1 / 256], [-128], 0)

    def finish(self) -> bytes:
        self._graph.outputs = [self.at]
        return bytes(self._writer.finish())

    _activation = NONE
    """Of the last tensor."""

    def _tensor(self, shape: tuple[int, ...], activation: int = NONE) -> int:
        name = f"t{len(self._graph.tensors)}"
        if self._dtype == "float32":
            return self._graph.tensor(name, "float32", shape)
        scale, zero_point = (0.15, 0) if activation == NONE else (6 / 255, LEAST)
        return self._graph.tensor(name, "int8", shape, scale=[scale], zero_point=[zero_point])

    def _weights(self, shape: tuple[int, ...], axis: int, scales: int = 0) -> list[int]:
        """The filter and its bias; one scale per channel, or so many in all. Each channel's weights have a sum above 0,
        so that ReLU leaves it alive."""
        channels, name = shape[axis], f"w{len(self._graph.tensors)}"
        reach = 1 / np.sqrt(np.prod(shape) / channels)
        bias = self._rng.normal(size=channels) / 4
        normal = self._rng.normal(size=shape)
        others = tuple(i for i in range(len(shape)) if i != axis)
        normal *= np.where(normal.sum(others, keepdims=True) < 0, -1, 1)
        if self._dtype == "float32":
            weights = self._graph.constant(name, normal * reach, "float32")
            return [weights, self._graph.constant(f"{name}/b", bias, "float32")]
        known = self._graph.tensors[self.at]["quantization"][0]
        steps = (self._rng.uniform(0.7, 1.4, scales or channels) * reach / 50).astype(np.float32)
        values = np.clip(np.rint(normal * 50), -127, 127)
        points = [0] * len(steps)
        weights = self._graph.constant(name, values, "int8", scale=steps, zero_point=points, axis=axis)
        steps = steps * np.float32(known[0])
        biases = self._graph.constant(f"{name}/b", np.rint(bias / steps), "int32", scale=steps, zero_point=points)
        return [weights, biases]

    def _window(
        self, operator: str, weights: list[int], channels: int, stride: int, activation: int, **options: Any
    ) -> None:
        _, height, width, _ = self.shape(self.at)
        shape = (1, -(-height // stride), -(-width // stride), channels)
        options |= {"padding": SAME, "stride_h": stride, "stride_w": stride, "fused_activation_function": activation}
        self._append(operator, weights, shape, activation, dilation_h_factor=1, dilation_w_factor=1, **options)

    def _append(
        self,
        operator: str,
        others: list[int],
        shape: tuple[int, ...],
        activation: int,
        first: bool = True,
        **options: float,
    ) -> None:
        """Appends an operator on the last tensor, which is its first operand or its last; keeps the quantisation of
        what only moves or averages values."""
        result = self._tensor(shape, activation)
        if operator in ("AVERAGE_POOL_2D", "RESHAPE"):
            self._graph.tensors[result]["quantization"] = self._graph.tensors[self.at]["quantization"]
        operands = [self.at, *others] if first else [*others, self.at]
        self._graph.operator(operator, operands, [result], options)
        self.at, self._activation = result, activation


def kws() -> bytes:
    """DS-CNN."""
    network = Network((1, 49, 10, 1))
    network.conv(64, (10, 4), 2)
    for _ in range(4):
        network.depthwise((3, 3))
        network.conv(64, (1, 1))
    network.mean()
    network.reshape(1, 64)
    network.dense(12)
    network.softmax()
    return network.finish()


MOBILENET = ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1))
"""MobileNetV1 with a quarter of the channels: each pair's channels, and its depthwise convolution's stride."""


def _mobilenet(network: Network, activation: int) -> None:
    for channels, stride in MOBILENET:
        network.depthwise((3, 3), stride, activation=activation)
        network.conv(channels, (1, 1), activation=activation)


def vww() -> bytes:
    network = Network((1, 96, 96, 3))
    network.conv(8, (3, 3), 2)
    _mobilenet(network, RELU)
    network.mean()
    network.reshape(1, 256)
    network.dense(2)
    network.softmax()
    return network.finish()


def person_detect() -> bytes:
    network = Network((1, 96, 96, 1))
    network.depthwise((3, 3), 2, multiplier=8, activation=RELU6)
    _mobilenet(network, RELU6)
    network.mean()
    network.conv(2, (1, 1), activation=NONE)
    network.reshape(1, 2)
    network.softmax()
    return network.finish()


def ic_resnet() -> bytes:
    """ResNet-8."""
    network = Network((1, 32, 32, 3))
    network.conv(16, (3, 3))
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        start = network.at
        network.conv(channels, (3, 3), stride)
        network.conv(channels, (3, 3), activation=NONE)
        if stride != 1:
            body, network.at = network.at, start
            network.conv(channels, (1, 1), stride, activation=NONE)
            start, network.at = network.at, body
        network.add(start)
    network.mean()
    network.reshape(1, 64)
    network.dense(10)
    network.softmax()
    return network.finish()


def ad01() -> bytes:
    network = Network((1, 640))
    for units in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        network.dense(units, RELU)
    network.dense(640)
    return network.finish()


def hello_world(dtype: str = "int8") -> bytes:
    network = Network((1, 1), dtype)
    network.dense(16, RELU)
    network.dense(16, RELU)
    network.dense(1)
    return network.finish()


def micro_speech() -> bytes:
    network = Network((1, 1960))
    network.reshape(1, 49, 40, 1)
    network.depthwise((10, 8), 2, multiplier=8)
    network.dense(4)
    network.softmax()
    return network.finish()


def pointwise_network() -> bytes:
    """A large image, and behind it a pointwise layer with more weights than the image has bytes."""
    network = Network((1, 64, 128, 4))
    network.conv(32, (3, 3), stride=32)
    network.conv(128, (1, 1))
    network.conv(384, (1, 1))
    return network.finish()


NETWORKS: dict[str, Callable[[], bytes]] = {
    "mlperf_kws_int8": kws,
    "mlperf_vww_int8": vww,
    "mlperf_ic_resnet_int8": ic_resnet,
    "mlperf_ad01_int8": ad01,
    "tflm_person_detect": person_detect,
    "tflm_hello_world_int8": hello_world,
    "tflm_hello_world_float": lambda: hello_world("float32"),
    "tflm_micro_speech": micro_speech,
}
"""By the real network's name."""

BENCHMARKS = tuple(NETWORKS)[:5]


def well_known(name: str, folder: Path) -> Path:
    """The real network from the corpus, where that is; else the made one, written to `folder`."""
    real = CORPUS / "real" / f"{name}.tflite"
    if real.is_file():
        return real
    path = folder / f"{name}.tflite"
    path.write_bytes(NETWORKS[name]())
    return path
