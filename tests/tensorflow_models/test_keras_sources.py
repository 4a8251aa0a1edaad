"""Models of Keras: names of their results, and what is said of those that cannot be read. They need TensorFlow."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import numpy as np
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


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that unusual_files.py writes."""
    folder = tmp_path_factory.mktemp("keras")
    script = file_beside("unusual_files.py")
    subprocess.run([interpreter() or "", str(script), str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("suffix", ["h5", "keras"])
def test_a_file_of_keras_2_means_what_it_meant_there(tensorflow: TensorFlowProcess, written: Path, suffix: str) -> None:
    """Keras 2's hard_sigmoid has the slope 1/5, Keras 3's 1/6; the LSTM and GRU have keys that Keras 3 refuses."""
    model = converted(tensorflow, written / f"layers_of_keras_2.{suffix}").model
    slopes = {
        float(np.frombuffer(tensor.data, np.float32)[0])
        for graph in model.subgraphs
        for tensor in graph.tensors
        if tensor.data is not None and len(tensor.data) == 4 and tensor.type_name == "float32"
    }
    assert np.float32(0.2) in slopes


@pytest.mark.parametrize("suffix", ["h5", "keras"])
def test_a_small_file_declares_no_gigabytes(tensorflow: TensorFlowProcess, written: Path, suffix: str) -> None:
    with pytest.raises(ModelError, match=r"its layers declare more than [\d,]+ bytes of weights, and the file has"):
        converted(tensorflow, written / f"dense.{suffix}")


@pytest.mark.parametrize(
    ("source", "node"),
    [("writer", "WriteFile"), ("text", "WriteFile"), ("printer", "PrintV2"), ("reader.pb", "ReadFile")],
)
def test_a_graph_that_reaches_files(tensorflow: TensorFlowProcess, written: Path, source: str, node: str) -> None:
    with pytest.raises(ModelError, match=rf"\({node}\) reaches files"):
        converted(tensorflow, written / source)
    assert not (written / "written").exists()


def test_an_archive_that_unpacks_to_more_than_it_may(tensorflow: TensorFlowProcess, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "net.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", b" " * 80_000_000)
    with pytest.raises(ModelError, match=r"its archive unpacks to 80,000,000 bytes"):
        converted(tensorflow, tmp_path / "net.keras")


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        ({"module": "subprocess", "class_name": "Popen", "config": {"args": "touch pwned"}}, "of 'subprocess'"),
        (
            {"module": "keras.layers", "class_name": "TFSMLayer", "config": {"filepath": "folder"}},
            "TFSMLayer runs other",
        ),
    ],
)
def test_a_class_that_is_not_keras_own(
    tensorflow: TensorFlowProcess, tmp_path: Path, layer: dict[str, object], reason: str
) -> None:
    with zipfile.ZipFile(tmp_path / "net.keras", "w") as archive:
        archive.writestr("config.json", json.dumps({"class_name": "Sequential", "config": {"layers": [layer]}}))
        archive.writestr("metadata.json", "{}")
    with pytest.raises(ModelError, match=reason):
        converted(tensorflow, tmp_path / "net.keras")
