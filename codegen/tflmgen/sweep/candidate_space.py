"""The candidates of a sweep: model files, or a Python file that makes models from parameters."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tflmgen.api import source_file
from tflmgen.errors import TflmgenError, UsageError
from tflmgen.frontend.onnx import file_of_source, is_torch_function
from tflmgen.frontend.tflite import write_model
from tflmgen.options import BuildOptions, OutputOptions
from tflmgen.sources import TFLITE_ONLY, read_compared
from tflmgen.terminal import Console
from tflmgen.user_files import MODEL_LIMIT, read_limited, read_text_limited

Parameters = Mapping[str, Any]
"""Names and values of what a candidate is made from; JSON writes them."""

PYTHON, TFLITE = ".py", ".tflite"
SILENT = Console(OutputOptions(quiet=True))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model of a sweep, as what makes it: bytes of a file, or the text of a Python file and its parameters.

    label   what reports show: the file's name, or the parameters
    suffix  of the file, which tells its format
    """

    label: str
    parameters: Parameters
    data: bytes = b""
    suffix: str = ""
    space: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of what makes the model, hexadecimal."""
        words = [self.space, json.dumps(self.parameters, sort_keys=True)] if self.space else [self.suffix]
        return hashlib.sha256("\0".join(words).encode() + self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Space:
    """Candidates, with the boards and options that their file names, if it does."""

    candidates: Iterable[Candidate]
    boards: tuple[str, ...] = ()
    options: tuple[Mapping[str, Any], ...] = ()


def read_space(sources: Sequence[Path]) -> Space:
    """The candidates of models, or of one Python file with candidates() and build(). Raises UsageError.

    A model is a file, a SavedModel's folder, or a function as net.py:make; what is no file is converted here.
    """
    if len(sources) == 1 and sources[0].suffix == PYTHON:
        return _python_space(sources[0])
    if any(path.suffix == PYTHON for path in sources):
        raise UsageError("a sweep takes one Python file, or model files")
    return Space(list(map(_model, sources)))


def _model(source: Path) -> Candidate:
    if is_torch_function(source):
        return Candidate(source.name, {}, write_model(read_compared(source, TFLITE_ONLY)[0]), TFLITE)
    if source.is_dir() or file_of_source(source) != source:
        with source_file(source, BuildOptions(), SILENT) as (path, _):
            return Candidate(source.name, {}, path.read_bytes(), TFLITE)
    return Candidate(source.name, {}, read_limited(source, MODEL_LIMIT), source.suffix)


def _python_space(path: Path) -> Space:
    try:
        text = read_text_limited(path)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    module = space_module(text, str(path))
    for name in ("candidates", "build"):
        if not callable(getattr(module, name, None)):
            raise UsageError(f"{path}: it defines no function {name}()")
    boards = _listed(module, "BOARDS", path, str, "names of boards")
    options = _listed(module, "OPTIONS", path, Mapping, "dicts of keyword arguments")
    plain = tuple(_plain(choice, f"{path}: JSON cannot write OPTIONS") for choice in options)
    return Space(_candidates(module, text, path), boards, plain)


def _listed(module: ModuleType, name: str, path: Path, kind: type[Any], meaning: str) -> tuple[Any, ...]:
    """A list that the file may define. Raises UsageError for what is none, or has members of another kind."""
    values = getattr(module, name, ())
    is_list = isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping))
    members = tuple(values) if is_list else ()
    if not is_list or not all(isinstance(member, kind) for member in members):
        raise UsageError(f"{path}: {name} must be a list of {meaning}, not {values!r}")
    return members


def _plain(values: Mapping[Any, Any], problem: str) -> dict[str, Any]:
    """The values as JSON has them. Raises UsageError, which begins with `problem`, where it has no such values."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(values), sort_keys=True))
    except (TypeError, ValueError) as error:
        raise UsageError(f"{problem}: {error}") from None
    return plain


def _candidates(module: ModuleType, text: str, path: Path) -> Iterator[Candidate]:
    for number, parameters in enumerate(_user_candidates(module, path)):
        if not isinstance(parameters, Mapping):
            raise UsageError(f"{path}: candidates() must give dicts of parameters, not {parameters!r}")
        plain = _plain(parameters, f"{path}: JSON cannot write the parameters of candidate {number}")
        label = " ".join(f"{key}={value}" for key, value in plain.items())
        yield Candidate(label, plain, space=text)


def _user_candidates(module: ModuleType, path: Path) -> Iterator[Any]:
    """Values of the user's candidates(), which may raise anything."""
    try:
        yield from module.candidates()
    except (Exception, SystemExit) as error:
        raise TflmgenError(f"{path}: candidates(): {type(error).__name__}: {error}") from error


@lru_cache(maxsize=4)
def space_module(text: str, name: str = "SPACE.py") -> ModuleType:
    """The module that a Python file's text makes; a process runs each text once."""
    module = ModuleType("tflmgen_space_" + hashlib.sha256(text.encode()).hexdigest()[:12])
    module.__file__ = name
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    try:
        exec(compile(text, name, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise TflmgenError(f"{name}: {type(error).__name__}: {error}") from error
    return module


def function_of(candidate: Candidate, name: str) -> Callable[..., Any] | None:
    """A function of the Python file that a candidate is from; None if there is none."""
    function = getattr(space_module(candidate.space), name, None) if candidate.space else None
    return function if callable(function) else None
