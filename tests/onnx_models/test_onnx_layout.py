"""NCHW becomes NHWC once for a whole program: convolutional nets, loops and branches keep one order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from support.native import Invocation, build_native, run_native
from tflmgen.compiler import compile_model
from tflmgen.ir import Op, Target, walk
from tflmgen.options import BuildOptions

RNG = np.random.default_rng(3)


def _weights(name: str, *shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array((RNG.standard_normal(shape) * 0.2).astype(np.float32), name)


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


def _net(path: Path) -> Path:
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
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def _operators(path: Path, **options: object) -> list[str]:
    made = compile_model(path, Target(core="host"), BuildOptions(shape=["x=1,3,32,32"], **options))  # type: ignore[arg-type]
    return [node.operator for f in made.module.functions for node in walk(f.body) if isinstance(node, Op)]


def test_a_convolutional_net_is_reordered_at_its_input_alone(tmp_path: Path) -> None:
    operators = _operators(_net(tmp_path / "net.onnx"))
    assert operators.count("TRANSPOSE") == 1
    assert operators[0] == "TRANSPOSE"
    assert not {"PAD", "PADV2"} & set(operators)


def test_with_channels_last_at_the_input_nothing_is_reordered(tmp_path: Path) -> None:
    operators = _operators(_net(tmp_path / "net.onnx"), nhwc_inputs=True)
    assert not {"TRANSPOSE", "PAD", "PADV2"} & set(operators)


def test_both_orders_compute_what_onnx_runtime_does(tmp_path: Path) -> None:
    path = _net(tmp_path / "net.onnx")
    image = RNG.standard_normal((1, 3, 32, 32)).astype(np.float32)
    expected = onnxruntime.InferenceSession(str(path)).run(None, {"x": image})[0]
    made = [
        compile_model(
            path, Target(core="host"), BuildOptions(name=f"n{nhwc:d}", shape=["x=1,3,32,32"], nhwc_inputs=nhwc)
        )
        for nhwc in (False, True)
    ]
    program = build_native({made.name: made.sources for made in made})
    calls = [Invocation(0, 0, (image,)), Invocation(1, 0, (np.ascontiguousarray(image.transpose(0, 2, 3, 1)),))]
    for outputs in run_native(program, calls, [m.module.signatures for m in made]):
        np.testing.assert_allclose(outputs[0], expected, rtol=1e-4, atol=1e-6)


def test_a_loop_over_images_keeps_channels_last(tmp_path: Path) -> None:
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
    path = tmp_path / "loop.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    made = compile_model(path, Target(core="host"), BuildOptions())
    inside = [n.operator for f in made.module.functions for n in walk(f.body) if isinstance(n, Op)]
    assert inside.count("TRANSPOSE") == 2
    array = RNG.standard_normal((1, 4, 8, 8)).astype(np.float32)
    expected = onnxruntime.InferenceSession(str(path)).run(None, {"x": array})[0]
    program = build_native({made.name: made.sources})
    outputs = run_native(program, [Invocation(0, 0, (array,))], [made.module.signatures])[0]
    np.testing.assert_allclose(outputs[0], expected, rtol=1e-4, atol=1e-6)
