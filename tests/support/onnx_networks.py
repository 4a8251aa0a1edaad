"""Small networks of known architectures as float ONNX models with random weights, as PyTorch exports them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
CLASSES = 10


@dataclass(slots=True)
class Network:
    """A model in the making: nodes and weights."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[onnx.TensorProto] = field(default_factory=list)

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], f"{op}_{name}", **attributes))
        return name

    def constant(self, array: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def random(self, *shape: int) -> str:
        """Weights that keep the variance of what they multiply; the first dimension counts outputs."""
        terms = int(np.prod(shape[1:]))
        return self.constant((self.rng.standard_normal(shape) * (2 / terms) ** 0.5).astype(np.float32))

    def bias(self, size: int) -> str:
        return self.constant((self.rng.standard_normal(size) * 0.1).astype(np.float32))

    def conv(self, x: str, channels: tuple[int, int], size: int = 3, stride: int = 1, groups: int = 1) -> str:
        weights = self.random(channels[1], channels[0] // groups, size, size)
        pads = [size // 2] * 4
        steps = {"strides": [stride] * 2, "pads": pads, "group": groups, "kernel_shape": [size] * 2}
        return self.node("Conv", x, weights, self.bias(channels[1]), **steps)

    def relu(self, x: str) -> str:
        return self.node("Relu", x)

    def linear(self, x: str, depth: int, units: int) -> str:
        return self.node("Gemm", x, self.random(units, depth), self.bias(units), transB=1)

    def classifier(self, x: str, channels: int) -> str:
        flat = self.node("Flatten", self.node("GlobalAveragePool", x))
        return self.linear(flat, channels, CLASSES)


def separable(n: Network) -> str:
    x = n.relu(n.conv("x", (3, 8), 3, 2))
    for stride in (1, 2):
        x = n.relu(n.conv(x, (8, 8), 3, stride, 8))
        x = n.relu(n.conv(x, (8, 8), 1))
    return n.classifier(x, 8)


def inverted_residuals(n: Network) -> str:
    limits = n.constant(np.float32(0)), n.constant(np.float32(6))
    x = n.node("Clip", n.conv("x", (3, 8), 3, 2), *limits)
    for _ in range(2):
        wide = n.node("Clip", n.conv(x, (8, 24), 1), *limits)
        wide = n.node("Clip", n.conv(wide, (24, 24), 3, 1, 24), *limits)
        x = n.node("Add", x, n.conv(wide, (24, 8), 1))
    return n.classifier(x, 8)


def squeeze_and_excite(n: Network) -> str:
    x = n.node("HardSwish", n.conv("x", (3, 16), 3, 2))
    gate = n.relu(n.conv(n.node("GlobalAveragePool", x), (16, 4), 1))
    gate = n.node("HardSigmoid", n.conv(gate, (4, 16), 1), alpha=1 / 6, beta=0.5)
    x = n.node("HardSwish", n.conv(n.node("Mul", x, gate), (16, 8), 1))
    return n.classifier(x, 8)


def residual(n: Network) -> str:
    x = n.relu(n.conv("x", (3, 8), 3, 2))
    for _ in range(2):
        x = n.relu(n.node("Add", x, n.conv(n.relu(n.conv(x, (8, 8))), (8, 8))))
    down = n.node("Add", n.conv(x, (8, 16), 1, 2), n.conv(n.relu(n.conv(x, (8, 16), 3, 2)), (16, 16)))
    return n.classifier(n.relu(down), 16)


def fire(n: Network) -> str:
    x = n.relu(n.conv("x", (3, 8), 3, 2))
    x = n.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    for _ in range(2):
        low = n.relu(n.conv(x, (8, 4), 1))
        x = n.node("Concat", n.relu(n.conv(low, (4, 4), 1)), n.relu(n.conv(low, (4, 4))), axis=1)
    return n.classifier(n.relu(n.conv(x, (8, 12), 1)), 12)


def shuffle(n: Network) -> str:
    x = n.relu(n.conv("x", (3, 8), 3, 2))
    left, right = n.node("Slice", x, *_range(n, 0, 4)), n.node("Slice", x, *_range(n, 4, 8))
    right = n.relu(n.conv(n.conv(right, (4, 4), 3, 1, 4), (4, 4), 1))
    x = n.node("Concat", left, right, axis=1)
    x = n.node("Reshape", x, n.constant(np.array([1, 2, 4, 8, 8])))
    x = n.node("Reshape", n.node("Transpose", x, perm=[0, 2, 1, 3, 4]), n.constant(np.array([1, 8, 8, 8])))
    return n.classifier(n.relu(n.conv(x, (8, 8), 1)), 8)


def _range(n: Network, start: int, stop: int) -> tuple[str, str, str]:
    return n.constant(np.array([start])), n.constant(np.array([stop])), n.constant(np.array([1]))


def inception(n: Network) -> str:
    x = n.relu(n.conv("x", (3, 8), 3, 2))
    pooled = n.node("AveragePool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1])
    parts = [n.conv(x, (8, 4), 1), n.conv(n.relu(n.conv(x, (8, 4), 1)), (4, 4), 5), n.conv(pooled, (8, 4), 1)]
    return n.classifier(n.relu(n.node("Concat", *parts, axis=1)), 12)


def autoencoder(n: Network) -> str:
    x = n.relu(n.conv(n.relu(n.conv("x", (3, 8), 3, 2)), (8, 8), 3, 2))
    x = n.relu(n.node("ConvTranspose", x, n.random(8, 8, 2, 2), n.bias(8), strides=[2, 2]))
    return n.node("Sigmoid", n.node("ConvTranspose", x, n.random(8, 3, 2, 2), n.bias(3), strides=[2, 2]))


def segmentation(n: Network) -> str:
    high = n.relu(n.conv("x", (3, 8), 3, 2))
    low = n.relu(n.conv(high, (8, 8), 3, 2))
    wide = n.node("Resize", low, "", n.constant(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    return n.conv(n.relu(n.conv(n.node("Concat", high, wide, axis=1), (16, 8))), (8, 4), 1)


def perceptron(n: Network) -> str:
    x = n.node("Flatten", n.node("AveragePool", "x", kernel_shape=[4, 4], strides=[4, 4]))
    x = n.relu(n.linear(x, 48, 32))
    x = n.node("Tanh", n.node("Add", n.node("MatMul", x, n.random(32, 32)), n.bias(32)))
    return n.node("Softmax", n.linear(x, 32, CLASSES), axis=-1)


NETWORKS: dict[str, Callable[[Network], str]] = {
    "MobileNet": separable,
    "MobileNetV2": inverted_residuals,
    "MobileNetV3": squeeze_and_excite,
    "ResNet": residual,
    "SqueezeNet": fire,
    "ShuffleNet": shuffle,
    "Inception": inception,
    "autoencoder": autoencoder,
    "U-Net": segmentation,
    "perceptron": perceptron,
}
"""Architecture -> what adds its nodes and names the output. The input x is an image of 16 x 16 in RGB."""

SHAPE = (1, 3, 16, 16)


def network(name: str) -> onnx.ModelProto:
    """A network with random weights; always the same for a name."""
    n = Network(np.random.default_rng([*name.encode()]))
    output = NETWORKS[name](n)
    entry = helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)
    graph = helper.make_graph(n.nodes, name, [entry], [helper.make_empty_tensor_value_info(output)], n.weights)
    opset = [helper.make_opsetid("", OPSET)]
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opset, ir_version=8))
