"""The C of training steps: losses and errors on this computer, step by step, beside the reference in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflmgen
from property.test_gradients import window_model
from support.trained_model import TrainedReference, dense_model
from support.training_models import recurrent_network, separable_network
from tflmgen.errors import TflmgenError
from tflmgen.frontend.tflite import Model, write_model
from tflmgen.gradients import derive_training_model, parse_training_options
from tflmgen.options import Loss, OptimizerName, TrainOptions


@pytest.mark.parametrize(("seed", "optimizer"), [(0, "sgd"), (3, "momentum"), (4, "adam"), (7, "rmsprop")])
def test_steps_of_layers_with_windows(seed: int, optimizer: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    model, shape = window_model(rng)
    options = TrainOptions(loss=Loss.MSE, optimizer=OptimizerName(optimizer), learning_rate="0.01")
    trained = derive_training_model(model, parse_training_options(options))
    (tmp_path / "steps.tflite").write_bytes(write_model(trained.model))
    reference = TrainedReference(trained)
    outputs = model.subgraphs[0].tensors[model.subgraphs[0].outputs[0]].shape
    with tflmgen.compile(tmp_path / "steps.tflite").session() as session:
        for _ in range(5):
            x, y = (rng.standard_normal(size).astype(np.float32) for size in (shape, outputs))
            loss = session.run({"x": x, "y": y}, "train")["loss"]
            np.testing.assert_allclose(loss, reference.run("train", [x, y]), rtol=1e-4)


@pytest.mark.parametrize(("make", "limits"), [(separable_network, {"kept_limit": 6000}), (recurrent_network, {})])
def test_steps_that_compute_again(make: Callable[[int], Model], limits: dict[str, Any], tmp_path: Path) -> None:
    """Losses of five steps, the reference of the step that keeps all values."""
    model = make(8)
    options = parse_training_options(TrainOptions(loss=Loss.SPARSE_CATEGORICAL_CROSSENTROPY, learning_rate="0.05"))
    limited = derive_training_model(model, replace(options, loop_limit=0, **limits))
    assert limited.kept.again > 0
    (tmp_path / "steps.tflite").write_bytes(write_model(limited.model))
    reference, rng = TrainedReference(derive_training_model(model, options)), np.random.default_rng(0)
    shape = model.subgraphs[0].tensors[model.subgraphs[0].inputs[0]].shape
    with tflmgen.compile(tmp_path / "steps.tflite").session() as session:
        for label in (0, 1, 2, 3, 1):
            x, y = rng.standard_normal(shape).astype(np.float32), np.array([label], np.int32)
            loss = session.run({"x": x, "y": y}, "train")["loss"]
            np.testing.assert_allclose(loss, reference.run("train", [x, y]), rtol=1e-4)


def test_a_bad_label_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    options = parse_training_options(TrainOptions(loss=Loss.SPARSE_CATEGORICAL_CROSSENTROPY))
    (tmp_path / "labels.tflite").write_bytes(write_model(derive_training_model(dense_model(), options).model))
    x, good = np.ones((2, 3), np.float32), np.array([0, 1], np.int32)
    with tflmgen.compile(tmp_path / "labels.tflite").session() as session:
        before = session.run(x, "infer")["y"]
        with pytest.raises(TflmgenError, match="TFLMGEN_ERROR_ARGUMENT"):
            session.run({"x": x, "y": np.array([0, 4], np.int32)}, "train")
        assert (session.run(x, "infer")["y"] == before).all()
        session.run({"x": x, "y": good}, "train")
        assert (session.run(x, "infer")["y"] != before).any()
        session.reset()
        assert (session.run(x, "infer")["y"] == before).all()
