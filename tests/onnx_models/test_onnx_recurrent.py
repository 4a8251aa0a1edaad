"""LSTM, GRU and RNN with activations that take coefficients equal ONNX Runtime; LSTM layers become one operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.onnx_quantized import exact_session
from tflmgen.frontend import import_variants
from tflmgen.frontend.onnx.onnx_file import read_onnx
from tflmgen.ir.graph import Op, walk
from tflmgen.reference import Interpreter
from tflmgen.reference.module_interpreter import ModuleInterpreter

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


LAYER = {"w": (1, 4 * HIDDEN, FEATURES), "r": (1, 4 * HIDDEN, HIDDEN), "b": (1, 8 * HIDDEN)}
RESULTS = {"y": (TIME, 1, 2, HIDDEN), "h": (1, 2, HIDDEN), "c": (1, 2, HIDDEN)}


def lstm_layer(path: Path, weights: list[str], results: list[str]) -> onnx.ModelProto:
    """A layer on two sequences, of which a part of the results is read."""
    random = np.random.default_rng(5)
    node = helper.make_node("LSTM", ["x", *weights], list(RESULTS), hidden_size=HIDDEN)
    graph = helper.make_graph(
        [node],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [TIME, 2, FEATURES])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, RESULTS[name]) for name in results],
        [numpy_helper.from_array(random.standard_normal(LAYER[name], np.float32), name) for name in weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    onnx.save(model, path)
    return model


@pytest.mark.parametrize("weights", [["w", "r", "b"], ["w", "r"]], ids=["biases", "none"])
@pytest.mark.parametrize("results", [["y"], ["h"], ["y", "h"]], ids="".join)
def test_a_layer_is_one_operator_with_the_weights_of_the_input(
    weights: list[str], results: list[str], tmp_path: Path
) -> None:
    """The product in front of the loop becomes a part of the operator, and unread results none of the model's."""
    model = lstm_layer(tmp_path / "m.onnx", weights, results)
    _, fused = import_variants(read_onnx(tmp_path / "m.onnx", {}, {}, False))
    nodes = [node.operator for node in walk(fused.functions[0].body) if isinstance(node, Op)]
    assert nodes.count("UNIDIRECTIONAL_SEQUENCE_LSTM") == 1
    x = np.random.default_rng(6).standard_normal((TIME, 2, FEATURES), np.float32)
    ours = ModuleInterpreter(fused).invoke(fused.signatures[0], [x])
    for own, theirs in zip(ours, exact_session(model).run(None, {"x": x}), strict=True):
        np.testing.assert_allclose(own, theirs, rtol=1e-5, atol=1e-6)


def test_a_layer_whose_cells_are_read_stays_a_loop(tmp_path: Path) -> None:
    lstm_layer(tmp_path / "m.onnx", ["w", "r"], ["h", "c"])
    assert len(import_variants(read_onnx(tmp_path / "m.onnx", {}, {}, False))) == 1
