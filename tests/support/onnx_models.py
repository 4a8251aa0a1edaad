"""Small ONNX models: a convolutional net, a branch, a counted loop over images, and a loop that a condition ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


def _weights(name: str, *shape: int) -> onnx.TensorProto:
    """Normal numbers that the name seeds: a test has the same model whichever tests came before it."""
    rng = np.random.default_rng(list(name.encode()))
    return numpy_helper.from_array((rng.standard_normal(shape) * 0.2).astype(np.float32), name)


def _conv(
    x: str, y: str, channels: tuple[int, int], kernel: int, stride: int, groups: int = 1
) -> tuple[onnx.NodeProto, onnx.TensorProto]:
    return helper.make_node(
        "Conv",
        [x, f"{y}_w"],
        [y],
        kernel_shape=[kernel] * 2,
        strides=[stride] * 2,
        pads=[kernel // 2] * 4,
        group=groups,
    ), _weights(f"{y}_w", channels[1], channels[0] // groups, kernel, kernel)


def separable_net(path: Path) -> Path:
    """A depthwise-separable net as PyTorch exports it: symmetric padding, strides of 2, a classifier."""
    layers = [
        _conv("x", "a", (3, 8), 3, 2),
        _conv("ra", "b", (8, 8), 3, 1, 8),
        _conv("rb", "c", (8, 16), 1, 1),
        _conv("rc", "d", (16, 16), 3, 2, 16),
    ]
    nodes = [node for node, _ in layers]
    for number, name in enumerate("abcd"):
        nodes.insert(2 * number + 1, helper.make_node("Relu", [name], [f"r{name}"]))
    nodes += [
        helper.make_node("MaxPool", ["rd"], ["p"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
        helper.make_node("GlobalAveragePool", ["p"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "fw"], ["y"], transB=1),
    ]
    weights = [w for _, w in layers] + [_weights("fw", 10, 16)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 32, 32])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, weights)
    return _saved(path, graph)


def flattening_net(path: Path) -> Path:
    """A convolution whose image is flattened channels first before the classifier."""
    node, weights = _conv("x", "c", (3, 8), 3, 2)
    nodes = [
        node,
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("Gemm", ["f", "fw"], ["y"], transB=1),
    ]
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 32, 32])
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])
    return _saved(path, helper.make_graph(nodes, "net", [image], [output], [weights, _weights("fw", 10, 8 * 256)]))


def image_loop(path: Path) -> Path:
    """Five convolutions of an image in a loop."""
    node, weights = _conv("v", "c", (4, 4), 3, 1)
    entry = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), node, helper.make_node("Tanh", ["c"], ["w"])],
        "body",
        [
            entry("i", TensorProto.INT64, []),
            entry("go", TensorProto.BOOL, []),
            entry("v", TensorProto.FLOAT, [1, 4, 8, 8]),
        ],
        [entry("on", TensorProto.BOOL, []), entry("w", TensorProto.FLOAT, [1, 4, 8, 8])],
    )
    loop = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    count = numpy_helper.from_array(np.array(5, np.int64), "n")
    image = entry("x", TensorProto.FLOAT, [1, 4, 8, 8])
    graph = helper.make_graph([loop], "g", [image], [entry("y", TensorProto.FLOAT, [1, 4, 8, 8])], [count, weights])
    return _saved(path, graph)


def branch(path: Path) -> Path:
    """An If on the sum of the input, with a product of matrices in one branch."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4]) for name in "xy")
    bodies = [
        helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["t"])],
            "then",
            [],
            [helper.make_tensor_value_info("t", TensorProto.FLOAT, [2, 4])],
        ),
        helper.make_graph(
            [helper.make_node("Tanh", ["x"], ["e"])],
            "else",
            [],
            [helper.make_tensor_value_info("e", TensorProto.FLOAT, [2, 4])],
        ),
    ]
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1]),
    ]
    zero = numpy_helper.from_array(np.array(0, np.float32), "zero")
    return _saved(path, helper.make_graph(nodes, "branch", [x], [y], [zero, _weights("w", 4, 4)]))


def halving(path: Path) -> Path:
    """A Loop that halves its variable until the sum is at most 1, and counts the iterations."""
    entry = helper.make_tensor_value_info
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["v", "half"], ["w"]),
            helper.make_node("ReduceSum", ["w"], ["s"], keepdims=0),
            helper.make_node("Greater", ["s", "one"], ["on"]),
            helper.make_node("Add", ["k", "one"], ["l"]),
        ],
        "body",
        [
            entry("i", TensorProto.INT64, []),
            entry("go", TensorProto.BOOL, []),
            entry("v", TensorProto.FLOAT, [2, 4]),
            entry("k", TensorProto.FLOAT, []),
        ],
        [entry("on", TensorProto.BOOL, []), entry("w", TensorProto.FLOAT, [2, 4]), entry("l", TensorProto.FLOAT, [])],
    )
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "one"], ["first"]),
        helper.make_node("Loop", ["", "first", "x", "none"], ["y", "count"], body=body),
    ]
    numbers = [
        numpy_helper.from_array(np.array(n, np.float32), name) for name, n in (("half", 0.5), ("one", 1), ("none", 0))
    ]
    outputs = [entry("y", TensorProto.FLOAT, [2, 4]), entry("count", TensorProto.FLOAT, [])]
    return _saved(path, helper.make_graph(nodes, "halving", [entry("x", TensorProto.FLOAT, [2, 4])], outputs, numbers))


def _saved(path: Path, graph: onnx.GraphProto) -> Path:
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)]), path)
    return path
