"""Random small nets in ONNX, of kinds that quantisers meet: layers, heads, units of inputs and outputs, branches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Array = NDArray[np.float32]

HEADS = ("regression", "offset", "classes", "joined", "score", "cosine")
"""What comes behind the layers: numbers; numbers around an offset; SOFTMAX; heads of two ranges in one output; the mean
squared error of a reconstruction; the cosine of the angle to a constant."""

UNITS = ("normal", "raw")
"""Inputs of unit variance, or each channel in units of its own, normalised by the net."""


@dataclass
class _Net:
    rng: np.random.Generator
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, values: Any) -> str:
        array, name = np.asarray(values), f"c{len(self.constants)}"
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def dense(self, x: str, size: int, outputs: int, gain: float = 1.0) -> str:
        weights = self.rng.normal(0, gain / np.sqrt(size), (size, outputs))
        product = self.node("MatMul", x, self.constant(weights))
        return self.node("Add", product, self.constant(self.rng.normal(0, 0.1, outputs)))

    def convolution(self, x: str, channels: int, outputs: int) -> str:
        weights = self.rng.normal(0, np.sqrt(2 / (3 * channels)), (outputs, channels, 3))
        bias = self.constant(self.rng.normal(0, 0.1, outputs))
        return self.node("Conv", x, self.constant(weights), bias, pads=[1, 1], strides=[1])

    def activation(self, x: str) -> str:
        return self.node(str(self.rng.choice(["Relu", "Relu", "Tanh", "Sigmoid"])), x)


def random_net(seed: int) -> tuple[onnx.ModelProto, Array, str]:
    """A net, 300 samples of its input `x`, and its kind."""
    rng = np.random.default_rng(seed)
    net, head, units = _Net(rng), HEADS[seed % len(HEADS)], UNITS[seed // len(HEADS) % len(UNITS)]
    channels, steps = int(rng.integers(3, 7)), int(rng.choice([8, 12, 16]))
    samples = rng.normal(0, 1, (300, channels, steps)) + rng.normal(0, 1, (300, channels, 1))
    x = "x"
    if units == "raw":
        scales, offsets = 10.0 ** rng.uniform(-2, 2, (channels, 1)), 10.0 ** rng.uniform(0, 3, (channels, 1))
        samples = samples * scales + offsets
        x = net.node("Div", net.node("Sub", x, net.constant(offsets)), net.constant(scales))
    if rng.integers(2):
        width = int(rng.integers(6, 17))
        features = net.activation(net.convolution(x, channels, width))
        for _ in range(int(rng.integers(0, 3))):
            following = net.activation(net.convolution(features, width, width))
            features = net.node("Add", features, following) if rng.integers(2) else following
        features, size = net.node("GlobalAveragePool", features), width
    else:
        features, size = x, channels * steps
    features = net.node("Reshape", features, net.constant(np.array([1, size])))
    for _ in range(int(rng.integers(1, 4))):
        width = int(rng.integers(8, 33))
        features, size = net.activation(net.dense(features, size, width, 1.5)), width
    if rng.integers(4) == 0:
        features = _branch(net, features, size)
    y = _head(net, head, features, size)
    output = helper.make_tensor_value_info(y, TensorProto.FLOAT, None)
    port = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, steps])
    graph = helper.make_graph(net.nodes, "net", [port], [output], net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model), samples.astype(np.float32), f"{head}, {units}"


def _branch(net: _Net, x: str, size: int) -> str:
    """One of two layers, by the sign of the sum of x less a typical one."""
    total = net.node("ReduceSum", x, net.constant(np.array([1])), keepdims=0)
    positive = net.node("Greater", net.node("Squeeze", total), net.constant(np.float32(size / 4)))
    branches = []
    for side in ("then", "else"):
        weights = numpy_helper.from_array(
            net.rng.normal(0, 1.5 / np.sqrt(size), (size, size)).astype(np.float32), f"w_{side}"
        )
        product = helper.make_node("MatMul", [x, f"w_{side}"], [f"product_{side}"])
        bounded = helper.make_node("Tanh", [f"product_{side}"], [f"y_{side}"])
        info = helper.make_tensor_value_info(f"y_{side}", TensorProto.FLOAT, [1, size])
        branches.append(helper.make_graph([product, bounded], side, [], [info], [weights]))
    return net.node("If", positive, then_branch=branches[0], else_branch=branches[1])


def _head(net: _Net, head: str, x: str, size: int) -> str:
    outputs = int(net.rng.integers(1, 6))
    if head == "regression":
        return net.dense(x, size, outputs)
    if head == "offset":
        scales, offsets = 10.0 ** net.rng.uniform(-1, 1, outputs), 10.0 ** net.rng.uniform(1, 3, outputs)
        scaled = net.node("Mul", net.dense(x, size, outputs), net.constant(scales))
        return net.node("Add", scaled, net.constant(offsets))
    if head == "classes":
        return net.node("Softmax", net.dense(x, size, outputs + 2, 3.0), axis=-1)
    if head == "joined":
        boxes = net.node("Mul", net.dense(x, size, 4), net.constant(np.float32(100)))
        return net.node("Concat", boxes, net.node("Sigmoid", net.dense(x, size, outputs)), axis=-1)
    if head == "score":
        difference = net.node("Sub", net.dense(net.activation(net.dense(x, size, 4)), 4, size), x)
        return net.node("ReduceMean", net.node("Mul", difference, difference), axes=[1], keepdims=1)
    embedded = net.dense(x, size, 12)
    squares = net.node("ReduceSum", net.node("Mul", embedded, embedded), net.constant(np.array([1])), keepdims=1)
    unit = net.node("Div", embedded, net.node("Sqrt", net.node("Add", squares, net.constant(np.float32(1e-6)))))
    other = net.rng.normal(0, 1, (1, 12))
    aligned = net.node("Mul", unit, net.constant(other / np.linalg.norm(other)))
    return net.node("ReduceSum", aligned, net.constant(np.array([1])), keepdims=1)
