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
from tflmgen.frontend import file_of_source, is_torch_function, read_source, write_model
from tflmgen.options import BuildOptions, OutputOptions
from tflmgen.terminal import Console

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
        return Candidate(source.name, {}, write_model(read_source(source)), TFLITE)
    if source.is_dir() or file_of_source(source) != source:
        with source_file(source, BuildOptions(), SILENT) as (path, _):
            return Candidate(source.name, {}, path.read_bytes(), TFLITE)
    return Candidate(source.name, {}, source.read_bytes(), source.suffix)


def _python_space(path: Path) -> Space:
    text = path.read_text(encoding="utf-8")
    module = space_module(text, str(path))
    for name in ("candidates", "build"):
        if not callable(getattr(module, name, None)):
            raise UsageError(f"{path}: it defines no function {name}()")
    boards, options = getattr(module, "BOARDS", ()), getattr(module, "OPTIONS", ())
    return Space(_candidates(module, text, path), tuple(boards), tuple(options))


def _candidates(module: ModuleType, text: str, path: Path) -> Iterator[Candidate]:
    for number, parameters in enumerate(module.candidates()):
        if not isinstance(parameters, Mapping):
            raise UsageError(f"{path}: candidates() must give dicts of parameters, not {parameters!r}")
        try:
            plain = json.loads(json.dumps(dict(parameters), sort_keys=True))
        except (TypeError, ValueError) as error:
            raise UsageError(f"{path}: JSON cannot write the parameters of candidate {number}: {error}") from None
        label = " ".join(f"{key}={value}" for key, value in plain.items())
        yield Candidate(label, plain, space=text)


@lru_cache(maxsize=4)
def space_module(text: str, name: str = "SPACE.py") -> ModuleType:
    """The module that a Python file's text makes; a process runs each text once."""
    module = ModuleType("tflmgen_space_" + hashlib.sha256(text.encode()).hexdigest()[:12])
    module.__file__ = name
    sys.modules[module.__name__] = module  # dataclasses and pickle look there
    try:
        exec(compile(text, name, "exec"), module.__dict__)
    except Exception as error:
        raise TflmgenError(f"{name}: {type(error).__name__}: {error}") from error
    return module


def function_of(candidate: Candidate, name: str) -> Callable[..., Any] | None:
    """A function of the Python file that a candidate is from; None if there is none."""
    function = getattr(space_module(candidate.space), name, None) if candidate.space else None
    return function if callable(function) else None
