"""Loads a Keras file within bounds: what a small file declares is never built, and what Keras 2 wrote is known.

A configuration of a kilobyte may declare gigabytes of weights, and a zip archive unpack to them. Keras 3 refuses keys
that Keras 2 wrote into every layer of a kind, although they say what is so anyway.
"""

from __future__ import annotations

import inspect
import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import keras
import numpy as np
from keras.src.backend import Variable

from tflmgen.tensorflow_worker.loaded_source import SourceError
from tflmgen.user_files import DAMAGED_ZIP, MEGABYTE, MODEL_LIMIT, open_regular, read_limited, read_member

CONFIGURATION_LIMIT = 16 * MEGABYTE
"""Bytes of a configuration. A network of 1,000 layers has 1 MB."""

DECLARED_LIMIT = 64 * MEGABYTE
DECLARED_PER_BYTE = 8
"""Bytes of weights that a file may declare: so many, and so many for each byte that it has."""

_CONFIGURATION, _METADATA, _ATTRIBUTE = "config.json", "metadata.json", "model_config"

_ANY = object()
KERAS_2_DEFAULTS: Mapping[str, object] = {
    "time_major": False,
    "implementation": _ANY,
    "groups": 1,
    "kernel_initializer": _ANY,
    "kernel_regularizer": None,
    "kernel_constraint": None,
    "noise_shape": None,
    "trainable": True,
    "seed": _ANY,
    "input_length": _ANY,
    "rng_type": "stateful",
    "query_shape": _ANY,
    "key_shape": _ANY,
    "value_shape": _ANY,
    "softmax_robust_masking": False,
    "renorm": False,
    "renorm_clipping": None,
    "renorm_momentum": _ANY,
    "fused": _ANY,
    "virtual_batch_size": None,
    "adjustment": None,
    "interpolation": "bilinear",
}
"""Keys that Keras 2 wrote into configurations of layers which have no such argument in Keras 3, and the value at which
each says nothing. _ANY: at any value."""


HARD_SIGMOID = "keras_2_hard_sigmoid"
_HARD_SIGMOID = {"module": "builtins", "class_name": "function", "config": HARD_SIGMOID, "registered_name": "function"}
_ACTIVATIONS = ("activation", "recurrent_activation")


def keras_2_hard_sigmoid(x: Any) -> Any:
    """Keras 2's function of the name hard_sigmoid, max(0, min(1, x / 5 + 1/2)); Keras 3's has the slope 1/6."""
    return keras.ops.clip(0.2 * x + 0.5, 0.0, 1.0)


_KERAS_MODULE = re.compile(r"(tf_)?keras(\.\w+)*|builtins")
_FOREIGN_LAYERS = {"TFSMLayer", "TorchModuleWrapper", "FlaxLayer", "JaxLayer"}
"""Layers that read a SavedModel beside the file, or unpickle another framework's module."""


def load_keras(path: Path, objects: Mapping[str, Any]) -> Any:
    """The model of a .keras or .h5 file, not compiled. Raises SourceError for one out of bounds, and Keras' errors."""
    stored = _check_regular(path)
    with TemporaryDirectory() as folder:
        read = _without_obsolete_keys if path.suffix.lower() == ".keras" else _h5_without_obsolete_keys
        file = read(path, Path(folder), objects)
        with _bounded_weights(path, DECLARED_LIMIT + DECLARED_PER_BYTE * stored):
            return keras.models.load_model(
                file, compile=False, custom_objects={HARD_SIGMOID: keras_2_hard_sigmoid, **objects}
            )


def _check_regular(path: Path) -> int:
    """Bytes of the file. Raises SourceError if it is none, or too large."""
    try:
        with open_regular(path, MODEL_LIMIT) as file:
            return file.seek(0, 2)
    except OSError as error:
        raise SourceError(f"it cannot be read: {error.strerror or error}") from None


def _without_obsolete_keys(path: Path, folder: Path, objects: Mapping[str, Any]) -> Path:
    """A .keras file that Keras 3 takes: the file itself, or a copy with another configuration."""
    allowed = DECLARED_LIMIT + DECLARED_PER_BYTE * path.stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
            if unpacked > allowed:
                raise SourceError(f"its archive unpacks to {unpacked:,} bytes; {allowed:,} are read of one of its size")
            texts = {name: read_member(archive, name, CONFIGURATION_LIMIT) for name in (_CONFIGURATION, _METADATA)}
            configuration = _configuration(texts[_CONFIGURATION])
            _check_classes(configuration, objects)
            version = str(_configuration(texts[_METADATA]).get("keras_version"))
            if not _drop_obsolete(configuration, objects, version.startswith("2.")):
                return path
            copy = folder / path.name
            with zipfile.ZipFile(copy, "w") as written:
                for info in archive.infolist():
                    is_changed = info.filename == _CONFIGURATION
                    contents = json.dumps(configuration).encode() if is_changed else archive.read(info)
                    written.writestr(info.filename, contents)
            return copy
    except (KeyError, *DAMAGED_ZIP) as error:
        raise SourceError(f"it is no Keras model: {error}") from None


def _h5_without_obsolete_keys(path: Path, folder: Path, objects: Mapping[str, Any]) -> Path:
    """An HDF5 file that Keras 3 takes: the file itself, or a copy with another configuration."""
    with h5py.File(path, "r") as file:
        if _ATTRIBUTE not in file.attrs:
            return path
        size = file.attrs.get_id(_ATTRIBUTE).get_storage_size()
        if size > CONFIGURATION_LIMIT:
            raise SourceError(f"its configuration has {size:,} bytes; at most {CONFIGURATION_LIMIT:,} are read")
        text, version = file.attrs[_ATTRIBUTE], file.attrs.get("keras_version", b"")
        configuration = _configuration(text.encode() if isinstance(text, str) else bytes(text))
    _check_classes(configuration, objects)
    version = version if isinstance(version, str) else bytes(version).decode()
    if not _drop_obsolete(configuration, objects, version.startswith("2.")):
        return path
    copy = folder / path.name
    copy.write_bytes(read_limited(path, MODEL_LIMIT))
    with h5py.File(copy, "r+") as file:
        file.attrs[_ATTRIBUTE] = np.bytes_(json.dumps(configuration))
    return copy


def _configuration(text: bytes) -> Any:
    """The JSON of a configuration. Raises SourceError."""
    if len(text) > CONFIGURATION_LIMIT:
        raise SourceError(f"its configuration has {len(text):,} bytes; at most {CONFIGURATION_LIMIT:,} are read")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"its configuration is not JSON: {error}") from None


def _parts(configuration: Any) -> Iterator[dict[str, Any]]:
    """All dictionaries in a JSON value."""
    remaining = [configuration]
    while remaining:
        part = remaining.pop()
        remaining += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        if isinstance(part, dict):
            yield part


def _check_classes(configuration: Any, objects: Mapping[str, Any]) -> None:
    """Raises SourceError for a class that is neither Keras' own nor the user's, or that runs or reads something else.

    Keras imports the module that a configuration names.
    """
    for part in _parts(configuration):
        name, module = part.get("class_name"), part.get("module")
        if not isinstance(name, str) or name in objects:
            continue
        if name in _FOREIGN_LAYERS:
            raise SourceError(f"its layer {name} runs other files or code, which a model file may not")
        if isinstance(module, str) and not _KERAS_MODULE.fullmatch(module):
            raise SourceError(
                f"it names the class {name} of '{module}', which is not Keras'",
                "Name the file with the classes of your own: --keras-objects FILE.py",
            )


def _drop_obsolete(configuration: Any, objects: Mapping[str, Any], is_keras_2: bool) -> bool:
    """Changes what Keras 2 wrote in configurations of layers to what Keras 3 takes; whether there was any."""
    before = json.dumps(configuration)
    for part in _parts(configuration):
        name, own = part.get("class_name"), part.get("config")
        if not isinstance(name, str) or name in objects or not isinstance(own, dict):
            continue
        if is_keras_2:
            own |= {key: _HARD_SIGMOID for key in _ACTIVATIONS if own.get(key) == "hard_sigmoid"}
        if name == "Functional" and "engine" in str(part.get("module")):
            part["module"] = "keras.src.models.functional"
        layers = own.get("layers")
        if isinstance(layers, list) and layers and layers[0].get("class_name") == "InputLayer":
            for layer in layers[1:]:
                layer.get("config", {}).pop("batch_input_shape", None)
        kind = getattr(keras.layers, name, None)
        if kind is not None:
            _drop_keys(part, own, kind)
    return json.dumps(configuration) != before


def _drop_keys(part: dict[str, Any], own: dict[str, Any], layer: type[Any]) -> None:
    """Removes Keras 2's keys from one layer's configuration, and its shape where building takes several."""
    if isinstance(own.get("axis"), list) and len(own["axis"]) == 1 and layer is keras.layers.BatchNormalization:
        (own["axis"],) = own["axis"]
    accepted = set(_arguments(layer))
    for key, default in KERAS_2_DEFAULTS.items():
        if key in own and key not in accepted and (default is _ANY or own[key] == default):
            del own[key]
    shapes = [name for name in inspect.signature(layer.build).parameters if name.endswith("_shape")]
    if len(shapes) > 1 and set(part.get("build_config") or {}) == {"input_shape"}:
        del part["build_config"]


def _arguments(layer: type[Any]) -> Iterator[str]:
    """Names of the arguments that a layer's constructor, or one that it passes others on to, takes."""
    for ancestor in layer.__mro__:
        parameters = inspect.signature(vars(ancestor).get("__init__", object.__init__)).parameters
        yield from parameters
        if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
            return


@contextmanager
def _bounded_weights(path: Path, limit: int) -> Iterator[None]:
    """Raises SourceError before a variable is made by which all would have more bytes than the limit."""
    initialize = Variable._initialize_with_initializer
    declared = 0

    def counted(variable: Any, initializer: Any) -> None:
        nonlocal declared
        declared += math.prod(variable._shape) * _bytes_of(variable._dtype)
        if declared > limit:
            rule = f"its layers declare more than {limit:,} bytes of weights, and the file has {path.stat().st_size:,}"
            raise SourceError(rule)
        initialize(variable, initializer)

    Variable._initialize_with_initializer = counted
    try:
        yield
    finally:
        Variable._initialize_with_initializer = initialize


def _bytes_of(dtype: str) -> int:
    return 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize if dtype != "string" else 8
