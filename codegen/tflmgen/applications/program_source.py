"""Source of a command: one model, or several in one library."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from tflmgen.applications.app_file import SUFFIX, read_application
from tflmgen.applications.application_graph import compose
from tflmgen.applications.builtin_table import BUILTINS
from tflmgen.applications.link_models import link
from tflmgen.applications.text_generation import generator_model, is_generator
from tflmgen.errors import UsageError
from tflmgen.frontend.onnx import stem_of_source
from tflmgen.frontend.tflite import Model
from tflmgen.options import BuildOptions
from tflmgen.sources import read_source

Observe = Callable[[Path, Model], object]
"""Told of each model file that is read, and of the Model that it is."""


def _ignored(path: Path, model: Model) -> None:
    del path, model


def read_program(path: Path, options: BuildOptions, observe: Observe = _ignored) -> Model:
    """The Model of a file, or of several that `options.also` links with it.

    Raises ModelError for a bad file, UsageError for bad options.
    """
    if not options.also:
        if options.slide and is_application(path):
            raise UsageError(f"--slide is for models: stages slide by `slide = [axis, rows per call]` in {path}")
        return _read_model(path, options, observe)
    paths = [path, *options.also]
    models = [_read_model(other, options, observe) for other in paths]
    keys = model_keys(paths)
    digest = hashlib.sha256("\n".join(f"{k} {m.sha256}" for k, m in zip(keys, models, strict=True)).encode())
    return link(dict(zip(keys, models, strict=True)), " + ".join(p.name for p in paths), digest.hexdigest())


def is_application(path: Path) -> bool:
    """Whether the file is an application of several stages."""
    return path.suffix.lower() == SUFFIX


def is_timeline(path: Path) -> bool:
    """Whether the file is an application whose calls follow one another in time: all but those that generate text."""
    return is_application(path) and not is_generator(read_application(path))


def _read_model(path: Path, options: BuildOptions, observe: Observe) -> Model:
    def read(file: Path) -> Model:
        model = read_source(file, options)
        observe(file, model)
        return model

    if not is_application(path):
        return read(path)
    app = read_application(path)
    return generator_model(app, read) if is_generator(app) else compose(app, read, BUILTINS)


def library_stem(path: Path, options: BuildOptions) -> str:
    """The name that a library of these models has by default."""
    return "_".join(model_keys([path, *(options.also or ())])) if options.also else stem_of_source(path)


def model_keys(paths: Sequence[Path]) -> tuple[str, ...]:
    """Names of models in one library: those of their files; files of one name get numbers."""
    keys: list[str] = []
    for path in paths:
        stem = re.sub(r"\W", "_", stem_of_source(path))
        key, number = stem, 1
        while key in keys:
            number += 1
            key = f"{stem}_{number}"
        keys.append(key)
    return tuple(keys)
