"""examples/learn: a classifier learns a new person's samples as it does in TensorFlow, here and on a Cortex-M4."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflmgen
from numpy.typing import NDArray
from support.repository import ROOT
from support.tools import requires_compiler, requires_qemu
from tflmgen.frontend.tflite import read_model, write_model
from tflmgen.gradients import derive_training_model, parse_training_options
from tflmgen.options import Loss, OptimizerName, TrainOptions

Array = NDArray[Any]
FOLDER = ROOT / "examples" / "learn"
UNIT = 32
STOPS = (0, 20, 100)
POINTS = 0.005
"""Accuracy that is at most lost against TensorFlow."""


@pytest.fixture(scope="module")
def arrays() -> dict[str, Array]:
    with np.load(FOLDER / "exercises.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="module")
def learning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that the page's command writes."""
    options = TrainOptions(loss=Loss.SPARSE_CATEGORICAL_CROSSENTROPY, optimizer=OptimizerName.ADAM)
    trained = derive_training_model(read_model(FOLDER / "exercises.tflite"), parse_training_options(options))
    path = tmp_path_factory.mktemp("learning") / "learn.tflite"
    path.write_bytes(write_model(trained.model))
    return path


def real(sample: Array) -> Array:
    return sample[None].astype(np.float32) / UNIT


def learn(session: Any, arrays: dict[str, Array], first: int, end: int) -> list[float]:
    """Losses of steps with samples from `first` to before `end`."""
    inputs = [{"x": real(arrays["learn"][k]), "y": arrays["labels"][k : k + 1].astype(np.int32)} for k in range(end)]
    return [float(session.run(step, "train")["loss"]) for step in inputs[first:]]


def count_right(session: Any, arrays: dict[str, Array]) -> int:
    """How many of the samples for tests are classified right."""
    right = 0
    for sample, label in zip(arrays["test"], arrays["test_labels"], strict=True):
        (logits,) = session.run({"x": real(sample)}, "infer").values()
        right += int(np.argmax(logits) == label)
    return right


def test_the_new_person_is_learned_as_in_tensorflow(learning: Path, arrays: dict[str, Array]) -> None:
    losses: list[float] = []
    right = []
    with tflmgen.compile(learning, "host").session() as session:
        for stop in STOPS:
            losses += learn(session, arrays, len(losses), stop)
            right.append(count_right(session, arrays))
    np.testing.assert_allclose(losses, arrays["losses"], rtol=1e-3, atol=1e-5)
    assert (arrays["correct"] - right <= POINTS * len(arrays["test"])).all()
    assert right[0] < right[1] < right[2]


@pytest.mark.emulator
@requires_compiler
@requires_qemu
def test_a_cortex_m4_learns_the_same(learning: Path, arrays: dict[str, Array]) -> None:
    with tflmgen.compile(learning, "mps2_an386").session() as session:
        losses = learn(session, arrays, 0, STOPS[1])
    np.testing.assert_allclose(losses, arrays["losses"][: STOPS[1]], rtol=1e-3, atol=1e-5)
