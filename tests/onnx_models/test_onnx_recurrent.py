"""LSTM, GRU and RNN with activations that take coefficients equal ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.onnx_quantized import exact_session
from tflmgen.frontend.onnx.onnx_file import read_onnx
from tflmgen.reference import Interpreter

TIME, FEATURES, HIDDEN = 5, 3, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.mark.parametrize(
    ("operator", "activations", "alphas", "betas"),
    [
        ("GRU", ["Sigmoid", "LeakyRelu"], [0.3], []),
        ("GRU", ["Sigmoid", "LeakyRelu", "HardSigmoid", "Elu"], [0.3, 0.1, 0.7], [0.4]),
        ("LSTM", ["HardSigmoid", "Softplus", "Elu"], [0.3, 0.7], [0.4]),
        ("RNN", ["Tanh", "ScaledTanh"], [0.9], [0.5]),
        ("RNN", ["ThresholdedRelu"], [0.2], []),
    ],
)
def test_a_coefficient_belongs_to_the_next_activation_that_takes_one(
    operator: str, activations: list[str], alphas: list[float], betas: list[float], tmp_path: Path
) -> None:
    random = np.random.default_rng(3)
    directions = 2 if len(activations) > {"LSTM": 3, "GRU": 2, "RNN": 1}[operator] else 1
    gates = GATES[operator] * HIDDEN
    weights = {"w": (directions, gates, FEATURES), "r": (directions, gates, HIDDEN), "b": (directions, 2 * gates)}
    coefficients: dict[str, Any] = {"activation_alpha": alphas} | ({"activation_beta": betas} if betas else {})
    node = helper.make_node(
        operator,
        ["x", *weights],
        ["y"],
        hidden_size=HIDDEN,
        direction="bidirectional" if directions == 2 else "forward",
        activations=activations,
        **coefficients,
    )
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [TIME, 1, FEATURES])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [TIME, directions, 1, HIDDEN])],
        [numpy_helper.from_array(random.standard_normal(shape, np.float32), name) for name, shape in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    x = random.standard_normal((TIME, 1, FEATURES), np.float32)
    (expected,) = exact_session(model).run(None, {"x": x})
    (result,) = Interpreter(read_onnx(tmp_path / "m.onnx", {}, {}, False)).invoke(None, [x])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
