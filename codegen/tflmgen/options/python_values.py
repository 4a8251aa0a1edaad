"""Values that Python callers give for options whose command line has texts: mappings for NAME=VALUE, numbers."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PythonValue:
    """A kind of values that Python callers give.

    description  noun phrase for messages and the reference
    text         the command line's text or texts for a value; raises TypeError, ValueError or AttributeError for others
    """

    description: str
    text: Callable[[Any], str | list[str]]


def _shapes(shapes: Mapping[str, Sequence[int]]) -> list[str]:
    return [f"{name}={','.join(str(operator.index(size)) for size in shape)}" for name, shape in shapes.items()]


def _windows(slide: Mapping[str, tuple[int, int]]) -> list[str]:
    return [f"{name}={axis},{hop}" for name, (axis, hop) in slide.items()]


def _arrays(constants: Mapping[str, Any]) -> list[str]:
    import numpy as np

    return [f"{name}={json.dumps(np.asarray(value).tolist())}" for name, value in constants.items()]


def _labels(labels: Any) -> list[str]:
    if isinstance(labels, Mapping):
        return [f"{output}={file}" for output, file in labels.items()]
    return [os.fspath(labels)]


def _memories(place: Mapping[str, str]) -> list[str]:
    return [f"{section}={memory}" for section, memory in place.items()]


def _limits(limits: int | Mapping[str, int]) -> list[str]:
    by_loop = limits if isinstance(limits, Mapping) else {"": limits}
    return [f"{loop}={limit}" if loop else str(limit) for loop, limit in by_loop.items()]


def _percentage(value: float | str) -> str:
    if not isinstance(value, (int, float, str)):
        raise TypeError
    return value if isinstance(value, str) else f"{value:g}%"


def _rows(limits: Mapping[str, int]) -> list[str]:
    return [f"{name}={rows}" for name, rows in limits.items()]


ROWS = PythonValue("a mapping of names to numbers", _rows)
SHAPES = PythonValue("a mapping of names to shapes", _shapes)
WINDOWS = PythonValue("a mapping of inputs to axis and hop", _windows)
ARRAYS = PythonValue("a mapping of inputs to arrays", _arrays)
LABELS = PythonValue("a file, or a mapping of outputs to files", _labels)
MEMORIES = PythonValue("a mapping of sections to memories", _memories)
LIMITS = PythonValue("a number, or a mapping of loops to numbers", _limits)
PERCENTAGE = PythonValue("a percentage, or a text such as 10%", _percentage)
BYTES = PythonValue("a number of bytes, or a text such as 32K", str)
