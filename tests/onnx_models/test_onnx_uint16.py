"""uint16 codes around 32768 are int16 ones, moved; others stay in float, and a note says so."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.random_onnx_compare import compare_model
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite

X = np.random.default_rng(3).standard_normal((1, 2, 6, 6)).astype(np.float32)


def _between_codes(zero: int) -> onnx.ModelProto:
    """A convolution with int8 weights between uint16 conversions."""
    rng = np.random.default_rng(4)
    arrays = {
        "s": np.float32(1e-4),
        "z": np.uint16(zero),
        "w": rng.integers(-127, 128, (3, 2, 3, 3)).astype(np.int8),
        "t": np.float32(0.003),
        "o": np.int8(0),
        "u": np.float32(3e-4),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["w", "t", "o"], ["v"]),
        helper.make_node("Conv", ["r", "v"], ["c"]),
        helper.make_node("QuantizeLinear", ["c", "u", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["d", "u", "z"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 3, 4, 4))]
    known = [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, known)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize(("zero", "is_integer"), [(32768, True), (30000, False)])
def test_codes_around_the_middle_are_int16(zero: int, is_integer: bool) -> None:
    model = _between_codes(zero)
    lowered = to_tflite(model, "m.onnx", OnnxOptions())
    (convolution,) = [op for op in lowered.subgraphs[0].operators if op.name == "CONV_2D"]
    kind = lowered.subgraphs[0].tensors[convolution.inputs[0]].type_name
    assert kind == ("int16" if is_integer else "float32")
    assert (lowered.notes == ()) == is_integer
    assert compare_model(model, {"x": X})[0] == "equal"


def test_codes_that_come_and_go_keep_their_type() -> None:
    parts = [numpy_helper.from_array(np.asarray(a), n) for n, a in (("s", np.float32(0.5)), ("z", np.uint16(32768)))]
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["r"]),
        helper.make_node("Relu", ["r"], ["p"]),
        helper.make_node("QuantizeLinear", ["p", "s", "z"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.UINT16, (1, 4)) for name in ("x", "y"))
    graph = helper.make_graph(nodes, "g", [x], [y], parts)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    assert compare_model(model, {"x": np.array([[0, 32767, 32769, 65535]], np.uint16)}) == ("equal", "")
