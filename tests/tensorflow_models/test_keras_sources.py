"""Models of Keras: names of their results, and what is said of those that cannot be read. They need TensorFlow."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.tensorflow_conversions import converted
from support.tensorflow_environment import file_beside, interpreter, requires_tensorflow
from tflmgen.conversion.tensorflow_process import TensorFlowProcess
from tflmgen.errors import ModelError

pytestmark = [requires_tensorflow, pytest.mark.xdist_group("tensorflow")]

MODELS = file_beside("tensorflow_models.py")


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("named_results", {"count": (), "y": (3,)}),
        ("named_keras_results", {"count": (1, 1), "y": (1, 2)}),
        ("sequential", {"head": (1, 2)}),
    ],
)
def test_results_keep_their_names(tensorflow: TensorFlowProcess, name: str, shapes: dict[str, tuple[int, ...]]) -> None:
    model = converted(tensorflow, f"{MODELS}:{name}").model
    (signature,) = model.signatures
    tensors = model.subgraphs[signature.subgraph].tensors
    assert {name: tuple(tensors[index].shape) for name, index in signature.outputs} == shapes


def test_keras_models_that_do_not_say_what_their_inputs_are(tensorflow: TensorFlowProcess) -> None:
    with pytest.raises(ModelError, match=r"does not say what its inputs are.*convert FOLDER"):
        converted(tensorflow, f"{MODELS}:Subclass")


def test_a_keras_file_with_python_in_a_layer(tensorflow: TensorFlowProcess, tmp_path: Path) -> None:
    """Keras loads no code unless it is told to: what can be done is said."""
    path = tmp_path / "net.keras"
    subprocess.run([interpreter() or "", str(MODELS), f"python_in_a_layer={path}"], check=True, capture_output=True)
    with pytest.raises(ModelError, match=r"is a Python lambda\. Give a Python file .* loaded with safe_mode=False$"):
        converted(tensorflow, path)


def test_what_a_layer_of_keras_raises_is_said(tensorflow: TensorFlowProcess) -> None:
    """Keras puts the layer's call on the first line, and the reason on the next one."""
    with pytest.raises(ModelError, match=r"calling Activation\.call\(\): threshold\(\) missing 2 required"):
        converted(tensorflow, f"{MODELS}:layer_without_arguments")
