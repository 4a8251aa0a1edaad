"""Build options from Python's values: shapes as tuples, limits as numbers, choices by name."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import numpy as np

from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions, CheckWeights, Optimize, Validate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PathLike = str | os.PathLike[str]
E = TypeVar("E", bound=Enum)


class CompileOptions(TypedDict, total=False):
    """Keyword arguments of `tflmgen.compile`, all optional; the command line has the same options.

    Attributes:
        optimize: Goal of the generated code: `balanced` (the default), `speed`, `size` or `ram`.
        name: Prefix of all generated names; by default the file's name.
        ram_budget: Most bytes of arena and state, as a number or a text like `32K`.
        max_slowdown: The smallest arena for at most so many per cent more cycles than the fastest plan has.
        max_iterations: Most iterations of every loop, or of loops by the name of their body.
        max_shape: Bounds of dynamic shapes, by input, output or `SUBGRAPH:TENSOR`.
        max_dim: Bound of every other dynamic dimension.
        push_rows: Inputs that arrive row by row.
        slide: Inputs whose windows slide: axis and rows per hop.
        slide_phases: Keep rows of several windows where the hop is no multiple of the strides.
        also: Further models of the same library.
        place: Memory of the board for `arena`, `state`, `weights`, `code` or `data`.
        plugin: Python files with custom operators.
        progress_hook: Run a macro after each operator, for a watchdog.
        labels: Names of classes: a text file with a line per class, by output where there are several; or `metadata`.
        check_memory: Put guard bytes beside arena and state.
        check_weights: When the constants in flash are checked: `off`, `start` or `invoke`.
        reentrant: Every C function takes a handle, so that there may be several instances of the model.
        no_overlap: Keep outputs apart from inputs.
        no_range_analysis: Compute dead channels and branches, too.
        winograd: Allow Winograd kernels.
        validate: How much of the build is compared with the file: `off`, `quick` (the default) or `full`.
        shape: Shapes of inputs of a model that is converted.
        constant: Values of inputs of an ONNX model that become constants.
        nhwc_inputs: An ONNX model's inputs come with channels last.
        keras_objects: Python file with the classes and functions of your own that a Keras file names.
        quantize: Calibration data (.npz): the model is quantised to int8 first.
    """

    optimize: Literal["balanced", "speed", "size", "ram"] | Optimize
    name: str
    ram_budget: int | str | None
    max_slowdown: float | str | None
    max_iterations: int | Mapping[str, int] | None
    max_shape: Mapping[str, Sequence[int]] | None
    max_dim: int | None
    push_rows: Sequence[str]
    slide: Mapping[str, tuple[int, int]] | None
    slide_phases: bool
    also: Sequence[PathLike] | None
    place: Mapping[str, str] | None
    plugin: Sequence[PathLike]
    progress_hook: bool
    labels: PathLike | Mapping[str, PathLike] | None
    check_memory: bool
    check_weights: Literal["off", "start", "invoke"] | CheckWeights
    reentrant: bool
    no_overlap: bool
    no_range_analysis: bool
    winograd: bool
    validate: Literal["off", "quick", "full"] | Validate
    shape: Mapping[str, Sequence[int]] | None
    constant: Mapping[str, ArrayLike] | None
    nhwc_inputs: bool
    keras_objects: PathLike | None
    quantize: PathLike | None


def build_options(options: CompileOptions) -> BuildOptions:
    """The options as those of the command line. Raises UsageError for an unknown one, or an unknown choice."""
    unknown = sorted(set(options) - set(CompileOptions.__annotations__))
    if unknown:
        known = ", ".join(sorted(CompileOptions.__annotations__))
        raise UsageError(f"there is no option '{unknown[0]}'. Options: {known}")
    values: dict[str, Any] = dict(options)
    for key, kind in (("optimize", Optimize), ("check_weights", CheckWeights), ("validate", Validate)):
        if key in values:
            values[key] = choice(key, values[key], kind)
    _check_kinds(values)
    for key, (form, texts) in _TEXTS.items():
        if values.get(key) is not None:
            try:
                values[key] = texts(values[key])
            except (TypeError, ValueError, AttributeError):
                raise UsageError(f"{key}={values[key]!r} must be {form}") from None
    if isinstance(values.get("max_slowdown"), (int, float)):
        values["max_slowdown"] = f"{values['max_slowdown']:g}%"
    if values.get("max_dim") is not None:
        values["max_dim"] = int(values["max_dim"])
    if values.get("ram_budget") is not None:
        values["ram_budget"] = str(values["ram_budget"])
    values["plugin"] = _several("plugin", options.get("plugin", ()), Path)
    values["also"] = _several("also", options.get("also") or (), Path)
    values["push_rows"] = _several("push_rows", options.get("push_rows", ()), str)
    for key in ("quantize", "keras_objects"):
        if values.get(key) is not None:
            values[key] = path_of(key, values[key])
    return BuildOptions(**values)


def _check_kinds(values: Mapping[str, Any]) -> None:
    """Raises UsageError for a name that is no text, or a switch that is no bool."""
    if not isinstance(values.get("name", ""), str):
        raise UsageError(f"name={values['name']!r} must be text")
    for field in fields(BuildOptions):
        if isinstance(field.default, bool) and not isinstance(values.get(field.name, False), (bool, np.bool_)):
            raise UsageError(f"{field.name}={values[field.name]!r} must be True or False")
    bound = values.get("max_dim")
    if bound is not None and (isinstance(bound, bool) or not isinstance(bound, (int, np.integer)) or bound < 1):
        raise UsageError(f"max_dim={bound!r} must be a number of 1 or more")


def _shapes(shapes: Mapping[str, Sequence[int]]) -> list[str]:
    return [f"{name}={','.join(str(operator.index(size)) for size in shape)}" for name, shape in shapes.items()]


def _constants(constants: Mapping[str, ArrayLike]) -> list[str]:
    return [f"{name}={json.dumps(np.asarray(value).tolist())}" for name, value in constants.items()]


def _labels(labels: PathLike | Mapping[str, PathLike]) -> list[str]:
    if isinstance(labels, Mapping):
        return [f"{output}={file}" for output, file in labels.items()]
    return [os.fspath(labels)]


def _windows(slide: Mapping[str, tuple[int, int]]) -> list[str]:
    return [f"{name}={axis},{hop}" for name, (axis, hop) in slide.items()]


def _memories(place: Mapping[str, str]) -> list[str]:
    return [f"{section}={memory}" for section, memory in place.items()]


def _limits(limits: int | Mapping[str, int]) -> list[str]:
    by_loop = limits if isinstance(limits, Mapping) else {"": limits}
    return [f"{loop}={limit}" if loop else str(limit) for loop, limit in by_loop.items()]


_TEXTS: Mapping[str, tuple[str, Callable[[Any], list[str]]]] = {
    "max_shape": ("a mapping of names to shapes", _shapes),
    "shape": ("a mapping of names to shapes", _shapes),
    "slide": (
        "a mapping of inputs to axis and hop",
        _windows,
    ),
    "constant": ("a mapping of inputs to arrays", _constants),
    "labels": ("a file, or a mapping of outputs to files", _labels),
    "place": ("a mapping of sections to memories", _memories),
    "max_iterations": ("a number, or a mapping of loops to numbers", _limits),
}
"""Option -> what Python's value is, and the texts of the command line that it becomes."""


def choice(key: str, value: object, kind: type[E]) -> E:
    """The member of an enumeration that a text names."""
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(str(member.value) for member in kind)
        raise UsageError(f"{key}={value!r} must be one of {names}") from None


def _several(key: str, values: Iterable[Any], kind: type[Any]) -> list[Any] | None:
    """A list of texts or paths; None if it is empty."""
    if isinstance(values, (str, os.PathLike)):
        raise UsageError(f"{key} must be a sequence: {key}=[{str(values)!r}]")
    if not isinstance(values, Iterable):
        raise UsageError(f"{key}={values!r} must be a sequence")
    return [path_of(key, value) if kind is Path else kind(value) for value in values] or None


def path_of(key: str, value: Any) -> Path:
    """The path that an argument names. Raises UsageError for what is none."""
    if not isinstance(value, (str, os.PathLike)):
        raise UsageError(f"{key} must be a path, not {type(value).__name__}")
    path = Path(value)
    if "\0" in str(path):
        raise UsageError(f"{str(path)!r} is not a path: it has a null character")
    return path
