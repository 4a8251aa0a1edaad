"""Inputs of a CSV file: a row per input set, or a row per step along the outer axes of the input's shape.

Columns stand in the order of the inputs and their elements. A header may name them instead: an input's name, or
NAME[k] for its element k; other columns of such a header are ignored. A header that names no input is a title row.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tflmgen.frontend.tflite import printable
from tflmgen.input_sets.array_file import Array, VectorsError
from tflmgen.input_sets.real_numbers import RealNumbers, takes_real_numbers
from tflmgen.ir import DType
from tflmgen.ir.graph import Port
from tflmgen.user_files import MEGABYTE, open_regular

TABLE_LIMIT = 128 * MEGABYTE
"""Bytes of the largest table that is read: its cells take some 20 times as much memory."""

_DELIMITERS = ",;\t"
_INTEGERS = {DType.BOOL: (0, 1), DType.INT4: (-8, 7)}
"""Least and largest number of types whose NumPy type does not say it."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Cells of one row, and the line of the file on which it ends, from 1."""

    line: int
    cells: list[str]


def csv_sets(path: Path, ports: Sequence[Port], real: RealNumbers | None = None) -> list[tuple[Array, ...]]:
    """Arrays of each input set, in the order of the inputs. Raises VectorsError with the line and the column.

    real  numbers for quantised inputs are real ones, which it quantises; None: they are the input's integers
    """
    rows = _rows(path)
    header = rows[0].cells if rows and not any(map(_is_number, rows[0].cells)) else None
    data = rows if header is None else rows[1:]
    if not data:
        raise VectorsError(f"{path}: no row of numbers")
    width = len(rows[0].cells)
    for row in data:
        if len(row.cells) != width:
            raise VectorsError(
                f"{path}: line {row.line} has {len(row.cells)} columns, and line {rows[0].line} has {width}"
            )
    columns = _columns(path, header, width, ports)
    per_set = _rows_per_set(path, ports, columns)
    if len(data) % per_set:
        raise VectorsError(
            f"{path}: line {data[-1].line}: the last set has {len(data) % per_set} rows, and the model takes {per_set}"
        )
    arrays = [_array(path, data, of_port, port, real) for port, of_port in zip(ports, columns, strict=True)]
    return [tuple(array[k] for array in arrays) for k in range(len(data) // per_set)]


def named_column(path: Path, title: str) -> list[float]:
    """Numbers of the column with a title. Raises VectorsError, and OSError where the file cannot be read."""
    header, *rows = _rows(path) or [_Row(1, [])]
    titles = [cell.strip() for cell in header.cells]
    if titles.count(title) != 1:
        raise VectorsError(f"{path}: it has no column '{printable(title)}', only {', '.join(map(printable, titles))}")
    place = titles.index(title)
    for row in rows:
        if place >= len(row.cells) or not _is_number(row.cells[place]):
            raise VectorsError(f"{path}: line {row.line}: the cell of '{title}' is no number")
    return [float(row.cells[place]) for row in rows]


def _rows(path: Path) -> list[_Row]:
    try:
        with io.TextIOWrapper(open_regular(path, TABLE_LIMIT), encoding="utf-8-sig", newline="") as text:
            first = text.readline()
            text.seek(0)
            delimiter = next((d for d in _DELIMITERS if d in first), ",")
            reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
            return [_Row(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except UnicodeDecodeError as error:
        raise VectorsError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    except csv.Error as error:
        raise VectorsError(f"{path}: not a CSV file: {error}") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _columns(path: Path, header: list[str] | None, width: int, ports: Sequence[Port]) -> list[list[int]]:
    """Columns of each input, in the order of its elements."""
    if header is not None:
        named = [_named(path, header, port) for port in ports]
        if all(named):
            return named
        missing = next(port for port, columns in zip(ports, named, strict=True) if not columns)
        if any(named):
            raise VectorsError(f"{path}: the header has no column '{missing.name}', and other inputs have columns")
    if len(ports) == 1:
        return [list(range(width))]
    sizes = [port.type.elements for port in ports]
    if sum(sizes) != width:
        names = ", ".join(f"'{port.name}' ({size})" for port, size in zip(ports, sizes, strict=True))
        raise VectorsError(
            f"{path}: {width} columns, and the model's inputs have {sum(sizes)} elements: {names}. "
            "Name the inputs in a header, or use .npz"
        )
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [list(range(start, start + size)) for start, size in zip(starts, sizes, strict=True)]


def _named(path: Path, header: list[str], port: Port) -> list[int]:
    """Columns whose title is the input's name, or its name with an element's index, which gives their order."""
    titles = [title.strip() for title in header]
    whole = [column for column, title in enumerate(titles) if title == port.name]
    matches = [(column, re.fullmatch(re.escape(port.name) + r"\[(\d{1,9})\]", t)) for column, t in enumerate(titles)]
    by_index = {int(match[1]): column for column, match in matches if match is not None}
    indexed = sum(match is not None for _, match in matches)
    if indexed and (whole or sorted(by_index) != list(range(indexed))):
        raise VectorsError(f"{path}: line 1: columns of '{port.name}' must be each of [0] to [{indexed - 1}] once")
    return [by_index[k] for k in range(indexed)] or whole


def _rows_per_set(path: Path, ports: Sequence[Port], columns: list[list[int]]) -> int:
    counts = {}
    for port, of_port in zip(ports, columns, strict=True):
        shape = port.type.max_shape
        if len(of_port) not in {math.prod(shape[axis:]) for axis in range(len(shape) + 1)} or not port.type.elements:
            raise VectorsError(
                f"{path}: columns for input '{port.name}' number {len(of_port)}, and it is {port.type}: "
                f"a row holds its {port.type.elements} elements, or those of its last axes"
            )
        counts[port.name] = port.type.elements // len(of_port)
    if len(set(counts.values())) > 1:
        words = ", ".join(f"{count} for '{name}'" for name, count in counts.items())
        raise VectorsError(f"{path}: the inputs take different numbers of rows per set: {words}. Use .npz")
    return next(iter(counts.values()))


def _array(path: Path, rows: Sequence[_Row], columns: list[int], port: Port, real: RealNumbers | None) -> Array:
    """The column's numbers: a first axis of sets, then the input's shape."""
    if real is not None and takes_real_numbers(port):
        stand_in = replace(port, type=replace(port.type, dtype=DType.FLOAT32, quantization=None))
        values = _array(path, rows, columns, stand_in, None)
        if not np.isfinite(values).all():
            raise VectorsError(f"{path}: input '{port.name}' is {port.type}, which has no infinities and no NaN")
        return real.quantized(port, values)
    numbers = [_number(path, row, column, port) for row in rows for column in columns]
    return np.array(numbers, port.type.dtype.numpy).reshape(-1, *port.type.max_shape)


def _number(path: Path, row: _Row, column: int, port: Port) -> float | int:
    cell, dtype = row.cells[column].strip(), port.type.dtype
    where = f"{path}: line {row.line}, column {column + 1}: '{printable(cell[:40])}'"
    if not _is_number(cell):
        raise VectorsError(f"{where} is not a number")
    if dtype.numpy.kind == "f":
        largest = float(np.finfo(dtype.label).max)
        if math.isfinite(float(cell)) and abs(float(cell)) > largest:
            raise VectorsError(f"{where} is beyond {dtype.label}")
        return float(cell)
    least, largest = _INTEGERS.get(dtype) or (int(np.iinfo(dtype.label).min), int(np.iinfo(dtype.label).max))
    value = int(cell) if re.fullmatch(r"[+-]?[0-9]{1,30}", cell) else float(cell)
    if value != value or math.isinf(value) or value != int(value) or not least <= value <= largest:
        hint = ". --real takes real numbers" if takes_real_numbers(port) else ""
        rule = f"is not a whole number from {least} to {largest}: '{port.name}' is {dtype.label}{hint}"
        raise VectorsError(f"{where} {rule}")
    return int(value)
