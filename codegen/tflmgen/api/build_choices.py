"""Build options from Python's values: shapes as tuples, limits as numbers, choices by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import numpy as np

from tflmgen.errors import UsageError
from tflmgen.options import BuildOptions, CheckWeights, Optimize, Option, Validate, declared_options

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PathLike = str | os.PathLike[str]
E = TypeVar("E", bound=Enum)


class CompileOptions(TypedDict, total=False):
    """Keyword arguments of `tflmgen.compile`, all optional; the command line has the same options.

    Attributes:
        optimize: Goal of the generated code. `balanced` by default.
        name: Prefix of all names.
        ram_budget: Generate the fastest code whose arena and state fit into BYTES: 20000, 32K. Takes a number of bytes,
            or a text such as 32K.
        max_slowdown: Generate the smallest arena for at most so many more estimated cycles than the fastest plan's:
            10%. Takes a percentage, or a text such as 10%.
        max_iterations: Return an error once a loop runs more than N times: every loop, or LOOP, the subgraph of its
            body or SUBGRAPH:OPERATOR. Takes a number, or a mapping of loops to numbers.
        max_shape: Upper bound of a dynamic shape: of an input, an output, or SUBGRAPH:TENSOR. Takes a mapping of names
            to shapes.
        max_rows: Upper bound of the first dimension of an output or SUBGRAPH:TENSOR whose rows the data decide. Takes a
            mapping of names to numbers.
        max_dim: Upper bound of every dynamic dimension without --max-shape.
        push_rows: Accept this input row by row, so that it is never stored whole. Takes a sequence.
        slide: Slide the window of this input along an axis: each invoke takes HOP new rows, and computes only what they
            change: features=1,1. Takes a mapping of inputs to axis and hop.
        slide_phases: Slide by a HOP that strides do not divide, too: keep rows of several windows, which takes RAM.
        also: As a further MODEL: one more for the same library. Takes a sequence.
        place: Memory of the board for the arena, state, weights, code or data: arena=dtcm. Takes a mapping of sections
            to memories.
        plugin: A Python file that defines custom operators. Takes a sequence.
        progress_hook: Run the macro TFLMGEN_PROGRESS(step) after each operator, for a watchdog.
        labels: Names of an output's classes, a line each, for a header NAME_labels.h; or 'metadata': those that the
            model's file has. Takes a file, or a mapping of outputs to files.
        check_memory: Put guard bytes beside arena and state; each invoke checks them.
        check_weights: Compare the CRC-32 of the constants in flash at the first invoke (start), or at each (invoke).
            `off` by default.
        reentrant: Let every function take a handle: several instances of the model, each with its own state and arena.
        no_overlap: Keep every output disjoint from its inputs, to see what overlap saves.
        no_range_analysis: Compute dead channels and branches too, which value-range analysis removes by default.
        winograd: Allow Winograd kernels for 3x3 convolutions: fewer multiplications, 3.6 times the weights. Used where
            they are faster and fit the board's flash.
        validate: Evaluate the file and the graph that is compiled on test inputs, and compare: off, about 1 s of CPU
            (quick), or about 2 minutes (full). `quick` by default.
        shape: Shape of an input of a model that is converted, for its dynamic dimensions. Takes a mapping of names to
            shapes.
        constant: Make an input of an ONNX model a constant: a number or a list, axes=[1,2]. Takes a mapping of inputs
            to arrays.
        nhwc_inputs: Take an ONNX model's inputs of four dimensions with channels last (NHWC): nothing is reordered.
        keras_objects: Python file with the classes and functions of your own that a Keras file names.
        quantize: Quantise MODEL first with this calibration data, as `tflmgen quantize` does, to MODEL-int8.tflite.
    """

    optimize: Literal["balanced", "speed", "size", "ram"] | Optimize
    name: str
    ram_budget: int | str | None
    max_slowdown: float | str | None
    max_iterations: int | Mapping[str, int] | None
    max_shape: Mapping[str, Sequence[int]] | None
    max_rows: Mapping[str, int] | None
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
    declared = declared_options(BuildOptions)
    unknown = sorted(set(options) - set(declared))
    if unknown:
        raise UsageError(f"there is no option '{unknown[0]}'. Options: {', '.join(sorted(declared))}")
    return BuildOptions(**{key: _option_value(declared[key], value) for key, value in options.items()})


def _option_value(option: Option, value: Any) -> Any:
    """A Python value as the command line has it. Raises UsageError for what the option does not take."""
    if value is None and option.default is None:
        return None
    if option.python is not None:
        try:
            return option.python.text(value)
        except (TypeError, ValueError, AttributeError):
            raise UsageError(f"{option.name}={value!r} must be {option.python.description}") from None
    if isinstance(option.type, type) and issubclass(option.type, Enum):
        return choice(option.name, value, option.type)
    return _BY_TYPE[option.type](option, value)


def _switch(option: Option, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise UsageError(f"{option.name}={value!r} must be True or False")
    return bool(value)


def _word(option: Option, value: Any) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{option.name}={value!r} must be text")
    return value


def _number(option: Option, value: Any) -> int:
    least = option.min or 0
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise UsageError(f"{option.name}={value!r} must be a number of {least:g} or more")
    return int(value)


def _words(option: Option, values: Any) -> list[str] | None:
    return [str(value) for value in _sequence(option.name, values)] or None


def _paths(option: Option, values: Any) -> list[Path] | None:
    return [path_of(option.name, value) for value in _sequence(option.name, values)] or None


_BY_TYPE: Mapping[Any, Callable[[Option, Any], Any]] = {
    bool: _switch,
    str: _word,
    int | None: _number,
    Path | None: lambda option, value: path_of(option.name, value),
    list[str] | None: _words,
    list[Path] | None: _paths,
}
"""Type of an option -> what takes a Python value of it, or raises UsageError."""


def _sequence(key: str, values: Any) -> Iterable[Any]:
    """The values, which must be a sequence, and no text or path."""
    if isinstance(values, (str, os.PathLike)):
        raise UsageError(f"{key} must be a sequence: {key}=[{str(values)!r}]")
    if not isinstance(values, Iterable):
        raise UsageError(f"{key}={values!r} must be a sequence")
    return values


def choice(key: str, value: object, kind: type[E]) -> E:
    """The member of an enumeration that a text names."""
    try:
        return kind(value)
    except ValueError:
        names = ", ".join(str(member.value) for member in kind)
        raise UsageError(f"{key}={value!r} must be one of {names}") from None


def path_of(key: str, value: Any) -> Path:
    """The path that an argument names. Raises UsageError for what is none."""
    if not isinstance(value, (str, os.PathLike)):
        raise UsageError(f"{key} must be a path, not {type(value).__name__}")
    path = Path(value)
    if "\0" in str(path):
        raise UsageError(f"{str(path)!r} is not a path: it has a null character")
    return path
