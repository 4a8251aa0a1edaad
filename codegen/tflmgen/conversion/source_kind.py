"""Sources that TensorFlow reads: Keras files, SavedModel folders, frozen graphs, and functions of Python files."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.frontend.onnx import is_torch_function
from tflmgen.user_files import MODEL_LIMIT, open_regular

_KINDS = {".keras": "keras", ".h5": "keras", ".hdf5": "keras", ".pb": "graph", ".pbtxt": "graph"}
_STARTS = {".keras": (b"PK",), ".h5": (b"\x89HDF",), ".hdf5": (b"\x89HDF",)}
TITLES = {
    "keras": "Keras model",
    "graph": "frozen GraphDef",
    "saved_model": "SavedModel",
    "python": "Python function",
}


@dataclass(frozen=True, slots=True)
class TensorFlowSource:
    """A source of TensorFlow's. `function`: the name in a Python file; `path` as the user gave it."""

    path: Path
    kind: str
    function: str = ""

    @property
    def stem(self) -> str:
        """Name of what is made of it, without suffix."""
        return self.function or self.path.resolve().stem if self.kind != "saved_model" else self.path.resolve().name

    @property
    def title(self) -> str:
        """Kind of the source, as messages name it."""
        return TITLES[self.kind]


def tensorflow_source(path: Path) -> TensorFlowSource | None:
    """The source at a path if it is TensorFlow's, by its suffix; None if it is another format's.

    Raises ModelError for one that is absent, or is not what its suffix says.
    """
    if is_torch_function(path):
        return None
    file, colon, function = str(path).rpartition(":")
    if colon and file.lower().endswith(".py"):
        if not function.isidentifier():
            raise _error(path, f"'{function}' is no name of a function", "Give FILE.py:FUNCTION")
        return _checked(TensorFlowSource(Path(file), "python", function))
    if path.suffix.lower() == ".py":
        raise _error(path, "a Python file needs the name of a function", f"Give {path}:FUNCTION")
    if path.is_dir():
        if not any((path / name).exists() for name in ("saved_model.pb", "saved_model.pbtxt")):
            raise _error(path, "it is a directory without a saved_model.pb", "Give a file, or a SavedModel's folder")
        return TensorFlowSource(path, "saved_model")
    if path.name in ("saved_model.pb", "saved_model.pbtxt"):
        raise _error(path, "it is part of a SavedModel", f"Give the folder: {path.parent}")
    kind = _KINDS.get(path.suffix.lower())
    return None if kind is None else _checked(TensorFlowSource(path, kind))


def _checked(source: TensorFlowSource) -> TensorFlowSource:
    path = source.path
    try:
        with open_regular(path, MODEL_LIMIT) as file:
            start = file.read(8)
    except FileNotFoundError:
        raise _error(path, "there is no such file") from None
    except OSError as error:
        raise _error(path, f"it cannot be read: {error.strerror}") from None
    if not start:
        raise _error(path, "the file is empty")
    starts = _STARTS.get(path.suffix.lower())
    if starts and not start.startswith(starts):
        container = "a zip archive" if path.suffix.lower() == ".keras" else "an HDF5 file"
        raise _error(path, f"it is no Keras model: it is not {container}")
    if starts and path.suffix.lower() == ".keras" and not zipfile.is_zipfile(path):
        raise _error(path, "it is no Keras model: it is not a zip archive, or not the whole of one", "Get it again")
    return source


def _error(path: Path, rule: str, advice: str = "") -> ModelError:
    return ModelError([Problem(Location(str(path)), rule, advice)])
