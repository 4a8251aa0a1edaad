"""Training steps of several samples: models whose file leaves the batch open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflmgen
from support.trained_model import TrainedReference, dense_model
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite import Model, ModelBuilder, write_model
from tflmgen.gradients import TrainingModel, derive_training_model, parse_training_options
from tflmgen.ir import DType
from tflmgen.options import Loss, TrainOptions

BATCH = 4


def open_network(windows: bool) -> Model:
    """Images of 4 x 3 become [batch, -1] by the batch of their SHAPE, as Keras' Flatten does, then 3 classes.

    windows  with a convolution before that
    """
    rng, builder = np.random.default_rng(1), ModelBuilder()
    graph = builder.subgraph("main")

    def opened(name: str, *sizes: int) -> int:
        return graph.tensor(name, DType.FLOAT32, (1, *sizes), shape_signature=(-1, *sizes))

    def weights(name: str, *shape: int) -> int:
        return graph.constant(name, rng.standard_normal(shape).astype(np.float32))

    x = image = opened("x", 4, 3, 2)
    if windows:
        image = opened("image", 4, 3, 2)
        steps = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
        operands = [x, weights("filter", 2, 3, 3, 2), weights("offset", 2)]
        graph.operator("CONV_2D", operands, [image], {"padding": 0, "fused_activation_function": 1, **steps})
    sizes, batch, shape = (
        graph.tensor(name, DType.INT32, dims) for name, dims in (("d", (4,)), ("n", ()), ("s", (2,)))
    )
    bounds = [graph.constant(f"{name}", np.array([value], np.int32)) for name, value in (("from", 0), ("to", 1))]
    graph.operator("SHAPE", [image], [sizes], {"out_type": 2})
    graph.operator("STRIDED_SLICE", [sizes, *bounds, bounds[1]], [batch], {"shrink_axis_mask": 1})
    rest = graph.constant("rest", np.int32(24))
    graph.operator("PACK", [batch, rest], [shape], {"values_count": 2, "axis": 0})
    flat, y = opened("flat", 24), opened("y", 3)
    graph.operator("RESHAPE", [image, shape], [flat])
    graph.operator("FULLY_CONNECTED", [flat, weights("w", 3, 24), weights("b", 3)], [y])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def trained(model: Model, **options: Any) -> TrainingModel:
    loss = Loss.SPARSE_CATEGORICAL_CROSSENTROPY
    return derive_training_model(model, parse_training_options(TrainOptions(loss=loss, learning_rate="0.1", **options)))


@pytest.mark.parametrize("windows", [False, True])
def test_a_step_is_the_mean_over_the_batch(windows: bool) -> None:
    model, rng = open_network(windows), np.random.default_rng(2)
    single, several = TrainedReference(trained(model)), TrainedReference(trained(model, batch=BATCH))
    x, y = rng.standard_normal((BATCH, 4, 3, 2)), rng.integers(0, 3, BATCH).astype(np.int32)
    first, losses = single.weights, []
    changes = {name: np.zeros(weight.shape) for name, weight in first.items()}
    for sample, label in zip(x, y, strict=True):
        single.weights_become(first)
        losses.append(single.run("train", [sample[None], label[None]]))
        changes = {name: change + single.weights[name] - first[name] for name, change in changes.items()}
    np.testing.assert_allclose(several.run("train", [x, y]), np.mean(losses), rtol=1e-9)
    for name, weight in several.weights.items():
        np.testing.assert_allclose(weight - first[name], changes[name] / BATCH, rtol=1e-7, atol=1e-12)


def test_the_c_of_a_batch_computes_the_same(tmp_path: Path) -> None:
    several, rng = trained(open_network(True), batch=BATCH), np.random.default_rng(3)
    (tmp_path / "batch.tflite").write_bytes(write_model(several.model))
    reference = TrainedReference(several)
    x, y = rng.standard_normal((BATCH, 4, 3, 2)).astype(np.float32), rng.integers(0, 3, BATCH).astype(np.int32)
    with tflmgen.compile(tmp_path / "batch.tflite").session() as session:
        for _ in range(3):
            loss = session.run({"x": x, "y": y}, "train")["loss"]
            np.testing.assert_allclose(loss, reference.run("train", [x, y]), rtol=1e-5)


def test_litert_runs_the_file_of_a_batch() -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is the reference")
    several, rng = trained(open_network(False), batch=BATCH, portable=True), np.random.default_rng(4)
    interpreter = litert.Interpreter(model_content=write_model(several.model))
    train, reference = interpreter.get_signature_runner("train"), TrainedReference(several)
    x, y = rng.standard_normal((BATCH, 4, 3, 2)).astype(np.float32), rng.integers(0, 3, BATCH).astype(np.int32)
    for _ in range(3):
        np.testing.assert_allclose(train(x=x, y=y)["loss"], reference.run("train", [x, y]), rtol=1e-5)


def test_a_fixed_batch_stays() -> None:
    trained(dense_model(), batch=2)
    with pytest.raises(ModelError, match=r"--batch 3: its inputs have a batch that is fixed: \[2, 3\]"):
        trained(dense_model(), batch=3)
