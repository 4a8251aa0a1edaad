"""Tables of plain text within a width: columns leave by priority, names are shortened in the middle, text wraps."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

GAP = "  "
ELLIPSIS = "…"
HEADER = "bold"

STYLES = {"ok": "green", "WRONG": "bold red", "differs": "bold red"}
"""What a cell that begins with such a word looks like, on a terminal and without NO_COLOR."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    numeric   right-aligned
    priority  1: always shown; of the others the largest numbers leave first where there is no room
    least     characters to which longer cells may be cut down: in the middle, or where `wraps` into lines at spaces
    """

    title: str = ""
    numeric: bool = False
    priority: int = 1
    least: int | None = None
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, and rows of as many cells of plain text. Titles, its own and those of columns, may be left out."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str]]


Line = list[tuple[str, str]]
"""Pieces of text, each with its style."""


def table_lines(table: Table, width: int | None) -> Iterator[Line]:
    """The table in lines of `width` characters at most, in as many as it takes without a width.

    The last line names the columns for which there was no room. A table whose first columns alone need more than
    `width` is as wide as they are.
    """
    cells = [[_printable(cell) for cell in row] for row in table.rows]
    natural = [max([text_width(row[i]) for row in cells], default=0) for i in range(len(table.columns))]
    shown = _columns_that_fit(table.columns, natural, width)
    columns = [table.columns[i] for i in shown]
    widths = _widths(columns, [natural[i] for i in shown], width)
    if table.title:
        yield [(_printable(table.title), "")]
        yield []
    if any(column.title for column in columns):
        titles = [textwrap.wrap(column.title, w) for column, w in zip(columns, widths, strict=True)]
        yield from _row_lines(titles, columns, widths)
        yield [(GAP.join("-" * w for w in widths), "")]
    for row in cells:
        parts = [_fitted(row[i], column, w) for i, column, w in zip(shown, columns, widths, strict=True)]
        yield from _row_lines(parts, columns, widths, [_style(row[i]) for i in shown])
    hidden = [column.title for i, column in enumerate(table.columns) if i not in shown]
    if hidden:
        for text in textwrap.wrap(f"(--wide: {', '.join(hidden)})", width or 80, break_long_words=False):
            yield [(text, "")]


def _printable(text: str) -> str:
    """The text with characters that would move the cursor, or do worse, as escapes: names come from models."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def text_width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return sum(map(_columns_of, text))


def _count_within(characters: Iterable[str], width: int) -> int:
    """How many of the characters take `width` columns at most."""
    return sum(total <= width for total in accumulate(map(_columns_of, characters)))


def _style(cell: str) -> str:
    return STYLES.get(cell.partition(":")[0], "")


def _minimum(column: Column, natural: int) -> int:
    """The smallest width of a column whose cells take `natural`."""
    cells = natural if column.least is None else min(natural, column.least)
    return max([cells, *map(len, column.title.split())])


def _columns_that_fit(columns: Sequence[Column], natural: Sequence[int], width: int | None) -> list[int]:
    shown = list(range(len(columns)))
    while width is not None and _total([_minimum(columns[i], natural[i]) for i in shown]) > width:
        last = max(shown, key=lambda i: (columns[i].priority, i))
        if columns[last].priority == 1:
            break
        shown.remove(last)
    return shown


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _widths(columns: Sequence[Column], natural: Sequence[int], width: int | None) -> list[int]:
    """What `width` leaves goes to the narrowest of the columns that are cut down, then to titles of several lines."""
    full = [max(cells, len(column.title)) for cells, column in zip(natural, columns, strict=True)]
    if width is None:
        return full
    widths = [_minimum(column, cells) for cells, column in zip(natural, columns, strict=True)]
    while _total(widths) < width and (growing := [i for i, w in enumerate(widths) if w < natural[i]]):
        widths[min(growing, key=lambda i: widths[i])] += 1
    for i in sorted(range(len(widths)), key=lambda i: full[i] - widths[i]):
        if _total(widths) + full[i] - widths[i] <= width:
            widths[i] = full[i]
    return widths


def _fitted(cell: str, column: Column, width: int) -> list[str]:
    """A cell's lines."""
    if text_width(cell) <= width:
        return [cell]
    if column.wraps:
        return textwrap.wrap(cell, width, break_on_hyphens=False)
    head = width // 2
    tail = width - head - len(ELLIPSIS)
    return [cell[: _count_within(cell, head)] + ELLIPSIS + cell[len(cell) - _count_within(reversed(cell), tail) :]]


def _row_lines(
    cells: Sequence[Sequence[str]], columns: Sequence[Column], widths: Sequence[int], styles: Sequence[str] = ()
) -> Iterator[Line]:
    """A row's lines, without blanks at their ends; without styles it is the header."""
    for k in range(max(map(len, cells), default=0)):
        line: Line = []
        for i, (column, width) in enumerate(zip(columns, widths, strict=True)):
            text = cells[i][k] if k < len(cells[i]) else ""
            blanks = " " * (width - text_width(text))
            before, after = (blanks, "") if column.numeric else ("", blanks)
            line += [(before, ""), (text, styles[i] if styles else HEADER), (after + GAP, "")]
        while line and not line[-1][0].strip():
            line.pop()
        yield line
