"""Clip, Max and Min of codes take no detour by int32: nothing for the whole range, else one operator in int8 each."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.random_onnx_compare import compare_model
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite

X = (np.random.default_rng(2).standard_normal((1, 4, 6, 6)) * 2).astype(np.float32)
CASES: list[tuple[str, type[np.integer[Any]], int, int, int, list[str]]] = [
    ("Clip", np.int8, 0, -128, 127, []),
    ("Clip", np.uint8, 128, 0, 255, []),
    ("Clip", np.int8, 0, -127, 127, ["MAXIMUM"]),
    ("Clip", np.int8, 3, -8, 7, ["MAXIMUM", "MINIMUM"]),
    ("Clip", np.uint8, 100, 20, 255, ["MAXIMUM"]),
    ("Clip", np.uint8, 0, 3, 90, ["MAXIMUM", "MINIMUM"]),
    ("MaxMin", np.int8, 0, -8, 7, ["MAXIMUM", "MINIMUM"]),
    ("MaxMin", np.uint8, 128, 0, 200, ["MINIMUM"]),
]


@pytest.mark.parametrize(("op", "dtype", "zero", "low", "high", "extremes"), CASES)
def test_bounds_of_codes(
    op: str, dtype: type[np.integer[Any]], zero: int, low: int, high: int, extremes: list[str]
) -> None:
    arrays = {"s": np.float32(0.03), "z": dtype(zero), "low": dtype(low), "high": dtype(high)}
    steps = [("Clip", ["q", "low", "high"], "c")]
    if op == "MaxMin":
        steps = [("Max", ["q", "low"], "m"), ("Min", ["m", "high"], "c")]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        *(helper.make_node(name, operands, [result]) for name, operands, result in steps),
        helper.make_node("DequantizeLinear", ["c", "s", "z"], ["d"]),
        helper.make_node("MaxPool", ["d"], ["p"], kernel_shape=[2, 2]),
        helper.make_node("QuantizeLinear", ["p", "s", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["r", "s", "z"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, X.shape)]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 4, 5, 5))]
    known = [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    assert compare_model(onnx.shape_inference.infer_shapes(model), {"x": X}) == ("equal", "")
    operators = to_tflite(model, "m.onnx", OnnxOptions()).subgraphs[0].operators
    assert [operator.name for operator in operators if operator.name in ("CAST", "MAXIMUM", "MINIMUM")] == extremes
