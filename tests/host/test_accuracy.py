"""`tflmgen accuracy`: a float and a quantised model on labelled samples, classes and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import tflmgen
from support.model_writer import ModelWriter
from support.tools import requires
from tflmgen.compare import class_accuracy, number_accuracy, predicted_classes

pytestmark = requires("cc", "gcc", "clang")

SAMPLES = np.array([[3.0, 1.0], [0.0, 2.0], [1.0, 0.5], [0.2, 0.1]], np.float32)


def scores_model(path: Path, dtype: str) -> Path:
    """Two scores: what the input is, in float32 or in steps of one."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    quantization: Any = {"scale": [1.0], "zero_point": [0]} if dtype == "int8" else {}
    x, y = graph.tensor("x", dtype, [1, 2], **quantization), graph.tensor("y", dtype, [1, 2], **quantization)
    graph.operator("RELU", [x], [y])
    graph.inputs, graph.outputs = [x], [y]
    path.write_bytes(writer.finish())
    return path


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    np.savez("test.npz", x=SAMPLES[:, None], classes=np.array([0, 1, 0, 1]))
    np.save("classes.npy", np.array([0, 1, 0, 1]))
    return [scores_model(Path(f"{dtype}.tflite"), dtype).name for dtype in ("float32", "int8")]


@pytest.mark.parametrize("labels", ["classes", "classes.npy"])
def test_classes_of_two_models(models: list[str], labels: str) -> None:
    """In steps of one, the third sample's scores are 1 and 1, the fourth's 0 and 0: both say class 0."""
    finished = tflmgen("accuracy", *models, "--inputs", "test.npz", "--labels-of", labels, "--json")
    assert finished.code == 0, finished.err
    float_model, quantized = finished.json["models"]
    assert (float_model["top_1"], quantized["top_1"]) == (0.75, 0.75)
    assert float_model["confusion"] == [[2, 0], [1, 1]]
    text = tflmgen("accuracy", *models, "--inputs", "test.npz", "--labels-of", labels).out
    assert "75.00%" in text
    assert "float32.tflite: samples by label (row) and given class (column)" in text


def test_labels_of_a_column(models: list[str]) -> None:
    rows = [f"{a},{b},{label}" for (a, b), label in zip(SAMPLES, [0, 1, 0, 1], strict=True)]
    Path("test.csv").write_text("\n".join(["x[0],x[1],class", *rows]) + "\n")
    words = ("accuracy", *models, "--inputs", "test.csv", "--labels-of", "class", "--real", "--json")
    finished = tflmgen(*words)
    assert finished.code == 0, finished.err
    assert [model["top_1"] for model in finished.json["models"]] == [0.75, 0.75]


def test_numbers(models: list[str]) -> None:
    np.save("numbers.npy", SAMPLES + np.float32(0.5))
    finished = tflmgen("accuracy", models[0], "--inputs", "test.npz", "--labels-of", "numbers.npy", "--json")
    assert finished.code == 0, finished.err
    (model,) = finished.json["models"]
    assert model["errors"]["mean_absolute"] == pytest.approx(0.5)
    assert model["errors"]["largest"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (np.array([0, 1]), "has 4 input sets, and there are 2 labels"),
        (np.array([0, 1, 2, 3]), "labels are 0 to 3, and it has 2 classes"),
        (np.zeros((4, 3), np.float32), "has 2 elements, and a label has 3"),
        (np.array(["a", "b", "c", "d"]), "labels are numbers"),
    ],
)
def test_labels_that_do_not_fit(models: list[str], labels: np.ndarray[Any, Any], reason: str) -> None:
    np.save("labels.npy", labels)
    finished = tflmgen("accuracy", models[0], "--inputs", "test.npz", "--labels-of", "labels.npy")
    assert finished.code in (1, 2)
    assert reason in finished.err


def test_one_score_and_one_class() -> None:
    assert predicted_classes([np.array([0.4]), np.array([0.5])]).tolist() == [0, 1]
    assert predicted_classes([np.array([2], np.int32), np.array([0], np.int32)]).tolist() == [2, 0]


def test_figures() -> None:
    accuracy = class_accuracy(np.array([0, 1, 1]), np.array([0, 0, 1]), 3)
    assert accuracy.top_1 == pytest.approx(2 / 3)
    assert accuracy.recall[:2].tolist() == [0.5, 1.0]
    assert np.isnan(accuracy.recall[2])
    assert accuracy.precision[:2].tolist() == [1.0, 0.5]
    numbers = number_accuracy([np.array([1.0]), np.array([3.0])], [np.array([1.0]), np.array([2.0])])
    assert (numbers.mean_absolute, numbers.largest) == (0.5, 1.0)
    assert numbers.r2 == pytest.approx(-1.0)
