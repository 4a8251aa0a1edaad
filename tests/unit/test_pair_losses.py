"""Losses of two outputs."""

from __future__ import annotations

import numpy as np
import pytest
from support.trained_model import check_gradients, dense_model, trained_reference
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import Model, ModelBuilder
from tflmgen.ir import DType
from tflmgen.options import Loss


def twins() -> Model:
    """Rows of two inputs by one matrix: two outputs."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    inputs = [graph.tensor(name, DType.FLOAT32, (3, 4)) for name in ("x1", "x2")]
    outputs = [graph.tensor(name, DType.FLOAT32, (3, 2)) for name in ("y1", "y2")]
    weights = graph.constant("w", np.random.default_rng(3).standard_normal((2, 4)).astype(np.float32))
    for x, y in zip(inputs, outputs, strict=True):
        graph.operator("FULLY_CONNECTED", [x, weights, -1], [y])
    graph.inputs, graph.outputs = inputs, outputs
    return builder.model()


def test_the_contrastive_loss_is_of_two_outputs() -> None:
    rng, target = np.random.default_rng(4), np.array([1.0, 0, 0])
    reference = trained_reference(twins(), Loss.CONTRASTIVE)
    inputs = [0.3 * rng.standard_normal((3, 4)), 0.3 * rng.standard_normal((3, 4)), target]
    distance = np.linalg.norm((inputs[0] - inputs[1]) @ reference.weights["w"].T, axis=1)
    assert distance.min() < 1 < distance.max()
    expected = target * distance**2 + (1 - target) * np.maximum(1 - distance, 0) ** 2
    np.testing.assert_allclose(reference.run("evaluate", inputs), expected.mean(), rtol=1e-6)
    check_gradients(reference, inputs)
    with pytest.raises(ModelError, match="the loss is of two outputs"):
        trained_reference(dense_model(), Loss.CONTRASTIVE)
    with pytest.raises(ModelError, match="the loss is of one output"):
        trained_reference(twins(), Loss.MSE)


def test_the_cosine_of_two_outputs_needs_no_target() -> None:
    reference, rng = trained_reference(twins(), Loss.COSINE), np.random.default_rng(6)
    inputs = [rng.standard_normal((3, 4)), rng.standard_normal((3, 4))]
    left, right = (x @ reference.weights["w"].T for x in inputs)
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    expected = -((left * right).sum(axis=1) / lengths).mean()
    np.testing.assert_allclose(reference.run("evaluate", inputs), expected, rtol=1e-6)
    check_gradients(reference, inputs)
