"""Layers of int8 that are named to train become float with what is behind them, and have the numbers of their codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.trained_model import TrainedReference, check_gradients
from tflmgen.compiler import estimate_model
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import Model, ModelBuilder, write_model
from tflmgen.gradients import derive_training_model
from tflmgen.gradients.training_model import TrainingOptions
from tflmgen.gradients.update_step import StepOptions
from tflmgen.gradients.weight_choice import WeightChoice
from tflmgen.hardware import load_board
from tflmgen.ir import DType, Quantization
from tflmgen.options import BuildOptions, Loss, OptimizerName
from tflmgen.reference import Interpreter

INT8 = DType.INT8
INPUT, HIDDEN, LOGITS = Quantization((0.02,), (3,)), Quantization((0.03,), (-128,)), Quantization((0.05,), (7,))
PROBABILITIES = Quantization((1 / 256,), (-128,))


def quantised_network() -> Model:
    """Two dense layers with a scale per unit, and SOFTMAX, all of int8."""
    builder, rng = ModelBuilder(), np.random.default_rng(2)
    graph = builder.subgraph("main")
    sizes = (("x", 6, INPUT), ("hidden", 8, HIDDEN), ("logits", 4, LOGITS), ("probabilities", 4, PROBABILITIES))
    tensors = [graph.tensor(name, INT8, (1, size), quantization) for name, size, quantization in sizes]
    for place, activation in ((0, 1), (1, 0)):
        (_, depth, before), (name, units, _) = sizes[place : place + 2]
        scales = tuple(float(scale) for scale in rng.uniform(0.005, 0.01, units).astype(np.float32))
        own = Quantization(scales, (0,) * units)
        codes = rng.integers(-127, 128, (units, depth)).astype(np.int8)
        weights = graph.constant(f"{name}/weights", codes, own)
        bias = Quantization(tuple(before.scale * scale for scale in scales), (0,) * units)
        biases = graph.constant(f"{name}/bias", rng.integers(-900, 900, units).astype(np.int32), bias)
        options = {"fused_activation_function": activation}
        graph.operator("FULLY_CONNECTED", [tensors[place], weights, biases], [tensors[place + 1]], options)
    graph.operator("SOFTMAX", tensors[2:3], tensors[3:], {"beta": 1.0})
    graph.inputs, graph.outputs = tensors[:1], tensors[3:]
    return builder.model()


def _trained(model: Model, **choice: Any) -> TrainedReference:
    weights = WeightChoice(**choice)
    step = StepOptions(OptimizerName.SGD, 1.0)
    options = TrainingOptions(Loss.SPARSE_CATEGORICAL_CROSSENTROPY, step, weights)
    return TrainedReference(derive_training_model(model, options))


@pytest.mark.parametrize("choice", [{"last": 1}, {"trainable": ("logits/*",)}, {"last": 2}, {"trainable": ("logits",)}])
def test_named_layers_become_float(choice: dict[str, Any]) -> None:
    model = quantised_network()
    reference, x = _trained(model, **choice), np.random.default_rng(0).integers(-128, 128, (1, 6)).astype(np.int8)
    layers = ("logits",) if choice.get("last") != 2 else ("hidden", "logits")
    assert reference.names == [f"{layer}/{part}" for layer in layers for part in ("weights", "bias")]
    codes = Interpreter(model).invoke(None, [x])[0]
    real = (codes.astype(np.float64) + 128) / 256
    np.testing.assert_allclose(reference.interpreter.invoke("infer", [x])[0], real, atol=0.02)
    check_gradients(reference, [x, np.array([2], np.int32)])


def test_without_a_name_they_stay() -> None:
    with pytest.raises(ModelError, match=r"a loss requires a float32 output; 'probabilities' is int8. .*--last N"):
        _trained(quantised_network())


def test_the_arena_is_that_of_inference_with_the_head(tmp_path: Path) -> None:
    """At most 1.1 times the head's activations and gradients are added."""
    model, target = quantised_network(), load_board("mps3_an547").target
    (tmp_path / "net.tflite").write_bytes(write_model(model))
    inference = estimate_model(tmp_path / "net.tflite", target, BuildOptions())["arena"]["bytes"]
    step = StepOptions(OptimizerName.SGD, 0.1)
    options = TrainingOptions(Loss.SPARSE_CATEGORICAL_CROSSENTROPY, step, WeightChoice(last=1))
    (tmp_path / "trained.tflite").write_bytes(write_model(derive_training_model(model, options).model))
    arena = estimate_model(tmp_path / "trained.tflite", target, BuildOptions())["arena"]["bytes"]
    activations, gradients = 4 * (8 + 4 + 4), 4 * (4 + 4 * 8 + 4)
    assert arena <= inference + 1.1 * (activations + gradients)
