"""The one place that knows formats of model files: a path to a Model, by the file's suffix.

Formats other than .tflite are lowered to the same Model. Their packages are imported when a file needs them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.frontend.onnx import OnnxProgram, file_of_source, is_torch_function, onnx_reader
from tflmgen.frontend.tflite import Model, read_model
from tflmgen.options import SourceOptions
from tflmgen.sources.decoder_graph import decoder_model
from tflmgen.sources.llama2_checkpoint import read_llama2
from tflmgen.sources.safetensors_checkpoint import read_safetensors
from tflmgen.user_files import parse_json

ONNX, TORCH = ".onnx", ".pt2"
"""Suffixes of files that are lowered; a .pt2 file is a program of torch.export. So is what a function
returns that is given as net.py:make."""


CIRCLE = ".circle"
"""Suffix of the files of Samsung's ONE, which the reader of .tflite files takes."""

_DECODERS = {".bin": read_llama2, ".safetensors": read_safetensors}
"""Readers of decoders' weights by suffix: checkpoints of llama2.c, and safetensors with their config.json."""

TFLITE_ONLY = SourceOptions()


def is_lowered(path: Path) -> bool:
    """Whether the file is of a format that is lowered to TFLite's."""
    return path.suffix.lower() == ONNX or _is_torch(path)


def _is_torch(path: Path) -> bool:
    return path.suffix.lower() == TORCH or is_torch_function(path)


def is_tflite(path: Path) -> bool:
    """Whether the file is read as it is by TFLite's runtimes: neither lowered nor in another format."""
    return not is_lowered(path) and not has_no_framework(path)


def has_no_framework(path: Path) -> bool:
    """Whether the file is read into a Model with nothing to compare it with: Circle's, llama2.c's and safetensors."""
    return path.suffix.lower() in (CIRCLE, *_DECODERS)


def read_source(path: Path, options: SourceOptions = TFLITE_ONLY, for_training: bool = False, batch: int = 1) -> Model:
    """The Model of a file of any known format. Raises ModelError for a bad file, UsageError for bad options.

    batch         size of the first dimension of a lowered file's inputs where that alone is open
    for_training  nothing is computed at build time of parameters that the source tells
    """
    if not is_lowered(path):
        if options.shape or options.constant or options.nhwc_inputs:
            raise UsageError(
                "--shape, --constant and --nhwc-inputs are for ONNX and PyTorch; a .tflite file has --max-shape"
            )
        decoder = _DECODERS.get(path.suffix.lower())
        return read_model(path) if decoder is None else decoder_model(decoder(path), str(path))
    module = _onnx_module(path)
    shapes, constants = shape_options(options), _constants(options)
    model: Model = module.read_onnx(path, shapes, constants, options.nhwc_inputs, for_training, batch)
    return model


def source_program(path: Path, options: SourceOptions) -> OnnxProgram:
    """The source program of a file that is_lowered, which runs it. Raises ModelError and UsageError."""
    program: OnnxProgram = _onnx_module(path).program_of(path, _constants(options))
    return program


def _constants(options: SourceOptions) -> dict[str, object]:
    return {name: _value(name, text) for name, text in map(_pair, options.constant or ())}


def shape_options(options: SourceOptions) -> dict[str, tuple[int, ...]]:
    """The shapes of --shape by input. Raises UsageError."""
    return {name: _shape(text) for name, text in map(_pair, options.shape or ())}


def source_inputs(path: Path) -> dict[str, bool]:
    """Names of the inputs of a file that is_lowered, in its order, and whether each has dynamic dimensions."""
    module = _onnx_module(path)
    inputs: dict[str, bool] = module.inputs_of(path)
    return inputs


def source_types(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Types of the inputs and of the outputs of a file that is_lowered, by name, as the file declares them."""
    types: tuple[dict[str, str], dict[str, str]] = _onnx_module(path).types_of(path)
    return types


def _onnx_module(path: Path) -> Any:
    """The reader of ONNX files. Raises ModelError if the file is missing, or else a package that it needs."""
    file = file_of_source(path)
    if not file.exists():
        raise ModelError([Problem(Location(str(file)), "there is no such file")])
    extra, packages = ("torch", ("torch", "onnx", "onnxscript")) if _is_torch(path) else ("onnx", ("onnx",))
    for package in packages:
        if find_spec(package) is None:
            rule = f"reading {path.suffix} files needs the package {package}"
            raise ModelError([Problem(Location(str(path)), rule, f"Install it: pip install 'tflmgen[{extra}]'")])
    return onnx_reader()


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"'{text}' is not NAME=VALUE")
    return name, value


def _shape(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in text.replace("x", ",").split(",") if size)
    except ValueError:
        sizes = (0,)
    if any(size < 1 for size in sizes):
        raise UsageError(f"'{text}' is not a shape: requires dimensions of at least 1, as in 1,3,32,32")
    return sizes


def _value(name: str, text: str) -> object:
    try:
        return parse_json(text)
    except ValueError:
        raise UsageError(f"--constant {name}: '{text}' is neither a number nor a list, as in [1,2]") from None
