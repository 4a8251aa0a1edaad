"""Numbers, arrays and comments as C text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, ParamValue

_MIN = {-(2**31): "INT32_MIN", -(2**63): "INT64_MIN"}
_WIDTH = 116
"""Columns of an array's line without its indentation."""
_COLUMNS = 120
"""Columns of a line of code, as .clang-format has it."""


def float_literal(value: float) -> str:
    """The shortest decimal that reads back as the same float."""
    single = np.float32(value)
    if math.isnan(single):
        return "NAN"
    if math.isinf(single):
        return "INFINITY" if single > 0 else "-INFINITY"
    text = repr(float(str(single)))
    return f"{text}f"


def integer_literal(value: int) -> str:
    """A C expression of the value; the suffix or macro gives numbers beyond int32 a type that holds them."""
    if value in _MIN:
        return _MIN[value]
    if not -(2**31) < value < 2**31:
        if value >= 2**63:
            return f"UINT64_C({value})"
        return f"UINT32_C({value})" if 0 < value < 2**32 else f"INT64_C({value})"
    return str(value)


def literal(value: ParamValue) -> str:
    """A field of a params struct; a tuple becomes a braced list."""
    if isinstance(value, tuple):
        return "{" + ", ".join(map(literal, value)) + "}" if value else "{0}"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return float_literal(float(value))
    return integer_literal(int(value))


def array_lines(array: ConstantArray) -> list[str]:
    """The elements of an array in lines of moderate length."""
    stored = _stored(array.dtype)
    if stored.itemsize == 1 and array.dtype is not DType.BOOL:
        return _lines_of_bytes(array.data, stored)
    values: list[Any] = np.frombuffer(array.data, dtype=stored).tolist()
    if array.dtype is DType.FLOAT32:
        texts = [float_literal(v) for v in values]
    elif array.dtype is DType.UINT32:
        texts = [f"0x{v:08x}" for v in values]
    elif array.dtype in (DType.INT32, DType.INT64, DType.UINT64):
        texts = [integer_literal(v) for v in values]
    elif array.dtype is DType.BOOL:
        texts = ["true" if v else "false" for v in values]
    else:
        texts = list(map(str, values))
    per_line = _per_line(texts)
    return [", ".join(texts[i : i + per_line]) + "," for i in range(0, len(texts), per_line)]


def _per_line(texts: Iterable[str]) -> int:
    return max(1, _WIDTH // (max(map(len, texts), default=1) + 2))


def _lines_of_bytes(data: bytes, stored: np.dtype[Any]) -> list[str]:
    """Initialiser lines of one-byte elements, which most constants are: each of 256 texts is made once."""
    texts = [str(value) for value in np.arange(256, dtype=np.uint8).view(stored).tolist()]
    per_line = _per_line(texts[value] for value in set(data))
    return [", ".join([texts[v] for v in data[i : i + per_line]]) + "," for i in range(0, len(data), per_line)]


def _stored(dtype: DType) -> np.dtype[Any]:
    """Element type of an array in flash: half floats and packed nibbles are raw unsigned integers."""
    if dtype is DType.FLOAT16:
        return np.dtype("<u2")
    return np.dtype("|u1") if dtype is DType.INT4 else dtype.numpy


def enumerators(offsets: Sequence[tuple[str, int, str]]) -> list[str]:
    """Lines of an enum, of names, values and comments; the comments in one column."""
    values = [f"{name} = {value}," for name, value, _ in offsets]
    column = max(map(len, values), default=0)
    return [f"{value:{column}} /* {text} */" for value, (_, _, text) in zip(values, offsets, strict=True)]


def wrapped(line: str) -> list[str]:
    """A line of C in lines of at most 120 columns, its call's arguments or its list broken as clang-format does it."""
    call = re.match(r"( *)(?:(?:if \(!)?\w+\(|\.\w+ = {)", line)
    if len(line) <= _COLUMNS or call is None:
        return [line]
    arguments = _split_arguments(line[call.end() :])
    column = call.end()
    lines = [call[0]]
    if column + max(map(len, arguments)) > _COLUMNS:
        column = len(call[1]) + 4
        lines.append(" " * column)
    for argument in arguments:
        if len(lines[-1]) > column and len(lines[-1]) + 1 + len(argument) > _COLUMNS:
            lines.append(" " * column)
        lines[-1] += (" " if len(lines[-1]) > column else "") + argument
    return lines


def _split_arguments(text: str) -> list[str]:
    """The arguments of a call, each with its comma; the last one with the rest of the line."""
    arguments, depth = [""], 0
    for character in text:
        if not (character == " " and not arguments[-1]):
            arguments[-1] += character
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            arguments.append("")
    return arguments


def comment(text: str) -> str:
    """Text that is safe inside a C comment."""
    printable = "".join(c if c.isprintable() and c.isascii() else "?" for c in text.replace("\\", "/"))
    return printable.replace("*/", "* /").replace("/*", "/ *").replace("??/", "?? /")
