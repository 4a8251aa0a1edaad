"""Reading an operator's options: each helper returns a checked field or raises ValueError with a sentence."""

from __future__ import annotations

import math
import struct

from tflmgen.kernels.specification.operator import Options

GREATEST_FLOAT = (2 - 2**-23) * 2.0**127
"""The greatest finite float32."""


def present(options: Options | None) -> Options:
    """The options. Raises ValueError if the operator has none."""
    if options is None:
        raise ValueError("the operator's options are missing")
    return options


def positive(options: Options, field: str, default: int = 0) -> int:
    """An integer field of at least 1. Raises ValueError for any other value."""
    value = int(options.get(field, default))
    if value < 1:
        raise ValueError(f"{field} is {value}, but must be at least 1")
    return value


def integer(options: Options, field: str, least: int, greatest: int) -> int:
    """A required integer field of custom options. Raises ValueError if it is missing or out of range."""
    value = options.get(field)
    if not isinstance(value, int):
        raise ValueError(f"the custom options lack {field}" if value is None else f"{field} is not an integer")
    if not least <= value <= greatest:
        raise ValueError(f"{field} is {value}, but must be from {least} to {greatest}")
    return int(value)


def flag(options: Options, field: str) -> bool:
    """A required Boolean field of custom options. Raises ValueError if it is missing or no Boolean."""
    value = options.get(field)
    if not isinstance(value, int):
        raise ValueError(f"the custom options lack {field}" if value is None else f"{field} is no Boolean")
    return bool(value)


def real(options: Options, field: str) -> float:
    """A required number of custom options, rounded to float32. Raises ValueError if it is missing or no number."""
    value = options.get(field)
    if not isinstance(value, int | float):
        raise ValueError(f"the custom options lack {field}" if value is None else f"{field} is no number")
    if not math.isfinite(value) or abs(value) > GREATEST_FLOAT:
        raise ValueError(f"{field} is {value}, which is no float32")
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded
