"""A model as Python has it - a path, bytes, a Keras model - as a file that tflmgen compiles."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tflmgen.api.build_choices import path_of
from tflmgen.conversion import tensorflow_source
from tflmgen.errors import Location, ModelError, Problem, TflmgenError, UsageError
from tflmgen.frontend.onnx import stem_of_source
from tflmgen.options import BuildOptions, ConvertOptions, QuantizeOptions
from tflmgen.terminal import Console
from tflmgen.user_files import check_writable, write_whole

if TYPE_CHECKING:
    from tflmgen.quantize import QuantizedFile

DEFAULT_NAME = "model"
"""Name of a model that is bytes, unless the user gives one."""

MAX_FILE_NAME = 60
"""Most characters of such a file's name: file systems have 255 bytes, four for a character."""

_ZIP, _HDF5, _ONNX = b"PK\x03\x04", b"\x89HDF", b"\x08"
"""First bytes of files: archives (Keras), HDF5 (older Keras), and ONNX, whose first field is its version."""

_KERAS = frozenset({"keras", "tf_keras"})
"""Packages whose models have save()."""


@contextmanager
def source_file(source: object, options: BuildOptions, console: Console) -> Iterator[tuple[Path, BuildOptions]]:
    """The file to compile, while the context lasts, and the options that remain for it.

    What is no path is written to a temporary folder; so is what a source of TensorFlow's becomes, and a quantised
    model. Errors name the source as the user did. Raises UsageError for an object that is no model.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tflmgen-")))
        stack.enter_context(_named_without(folder))
        path = _written(source, folder, options.name)
        path, options = _converted(path, folder, options, console)
        yield _quantized(path, folder, options, console)


def _written(source: object, folder: Path, name: str) -> Path:
    if isinstance(source, (str, os.PathLike)):
        return path_of("source", source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        path = folder / f"{_file_name(name)}{_suffix(data)}"
        path.write_bytes(data)
        return path
    packages = {cls.__module__.partition(".")[0] for cls in type(source).__mro__}
    model: Any = source
    if packages & _KERAS and hasattr(model, "save"):
        path = folder / f"{_file_name(name or getattr(model, 'name', ''))}.keras"
        model.save(path)
        return path
    raise UsageError(f"a model is a path, the bytes of a file or a Keras model, not {type(source).__name__}")


def _file_name(name: str) -> str:
    """A name for a file in a folder of tflmgen's, whatever the user's name of the model has: slashes, 300 letters."""
    return re.sub(r"[^\w. -]", "_", name)[:MAX_FILE_NAME] or DEFAULT_NAME


def _suffix(data: bytes) -> str:
    """Suffix of the format that bytes are of, by how they begin."""
    if data[4:8] == b"CIR0":
        return ".circle"
    suffixes = {_ZIP: ".keras", _HDF5: ".h5", _ONNX: ".onnx"}
    # A FlatBuffer may begin with any byte: its identifier decides.
    is_flatbuffer = data[4:8] == b"TFL3"
    return next((s for start, s in suffixes.items() if data.startswith(start) and not is_flatbuffer), ".tflite")


def _converted(path: Path, folder: Path, options: BuildOptions, console: Console) -> tuple[Path, BuildOptions]:
    source = tensorflow_source(path)
    if source is None:
        return path, options
    from tflmgen.actions import converted

    target = folder / f"{source.stem}.tflite"
    converted(source, target, ConvertOptions(plugin=options.plugin), options, console)
    return target, options.without_source


def _quantized(path: Path, folder: Path, options: BuildOptions, console: Console) -> tuple[Path, BuildOptions]:
    if options.quantize is None:
        return path, options
    target, _ = quantize_to(folder, path, options, console)
    return target, replace(options.without_source, quantize=None)


def quantize_to(
    folder: Path, path: Path, options: BuildOptions, console: Console, compiles: bool = True
) -> tuple[Path, QuantizedFile]:
    """Quantises a model with the calibration data of `options` to a file in `folder`: its path, and what came of it.

    compiles  the file is compiled then. Loops that are LSTM layers become one operator whose state is zero at the start
              of each invoke, as the loop's is, in a file of another name: TensorFlow Lite has no such state
    """
    from tflmgen.actions import quantization_warnings
    from tflmgen.quantize import is_quantized_file, quantize_file

    assert options.quantize is not None
    choices = QuantizeOptions(fuse_lstm=compiles)
    target = folder / f"{stem_of_source(path)}-{choices.activations.value}.tflite"
    fused = target.with_stem(f"{target.stem}-fused")
    for file in (target, fused):
        check_writable(file)
        if file.exists() and not is_quantized_file(file):
            other = f"tflmgen quantize {path} --calibration {options.quantize} -o OTHER.tflite"
            raise UsageError(f"{file} is in the way of what {path.name} becomes. Name another: {other}")
    with console.progress(f"Quantising {path.name}") as progress:
        result = quantize_file(path, options.quantize, choices, None, progress, options, keeps_state=not compiles)
    console.refuse_warnings(quantization_warnings(result))
    target = fused if result.quantized.fused else target
    write_whole(target, result.quantized.data)
    return target, result


@contextmanager
def _named_without(folder: Path) -> Iterator[None]:
    """Leaves the temporary folder out of what errors say."""
    prefix = f"{folder}{os.sep}"
    try:
        yield
    except ModelError as error:
        raise ModelError(_renamed(problem, prefix) for problem in error.problems) from error.__cause__
    except TflmgenError as error:
        error.args = tuple(part.replace(prefix, "") if isinstance(part, str) else part for part in error.args)
        raise


def _renamed(problem: Problem, prefix: str) -> Problem:
    where: Location = replace(problem.where, model=problem.where.model.replace(prefix, ""))
    return Problem(where, problem.rule.replace(prefix, ""), problem.advice.replace(prefix, ""))
