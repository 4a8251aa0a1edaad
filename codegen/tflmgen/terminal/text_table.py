"""Tables of plain text within a width: columns are hidden by priority, names shortened in the middle, text wrapped."""

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
"""Rich style of a cell by the word before its first colon; used on a terminal without NO_COLOR."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    numeric    right-aligned
    priority   1: always shown; where there is no room, columns of the largest numbers are hidden first
    min_width  characters to which longer cells may be cut; None: never. Cells are cut in the middle
    wraps      cells are broken into lines at spaces instead of being cut
    """

    title: str = ""
    numeric: bool = False
    priority: int = 1
    min_width: int | None = None
    wraps: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, and rows with one cell of plain text per column. Empty titles are not printed."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Sequence[str]]


Line = list[tuple[str, str]]
"""One line of output: (text, Rich style) pieces from left to right."""


def table_lines(table: Table, width: int | None) -> Iterator[Line]:
    """Lines of the table, each at most `width` characters wide; None: as wide as the cells need.

    The last line names the hidden columns. A table whose columns of priority 1 need more than `width` exceeds it.
    """
    cells = [[printable_text(cell) for cell in row] for row in table.rows]
    natural = [max([text_width(row[i]) for row in cells], default=0) for i in range(len(table.columns))]
    indices = _columns_that_fit(table.columns, natural, width)
    columns = [table.columns[i] for i in indices]
    widths = _widths(columns, [natural[i] for i in indices], width)
    if table.title:
        yield [(printable_text(table.title), "")]
        yield []
    if any(column.title for column in columns):
        titles = [textwrap.wrap(column.title, w) for column, w in zip(columns, widths, strict=True)]
        yield from _row_lines(titles, columns, widths)
        yield [(GAP.join("-" * w for w in widths), "")]
    for row in cells:
        parts = [_fitted(row[i], column, w) for i, column, w in zip(indices, columns, widths, strict=True)]
        yield from _row_lines(parts, columns, widths, [_style(row[i]) for i in indices])
    hidden = [column.title for i, column in enumerate(table.columns) if i not in indices]
    if hidden:
        for text in textwrap.wrap(f"(--wide: {', '.join(hidden)})", width or 80, break_long_words=False):
            yield [(text, "")]


def printable_text(text: str) -> str:
    """The text with unprintable characters as escapes: names come from model files and must not control a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """Lines of text, tabs kept, each printable as printable_text() makes it."""
    return "\n".join("\t".join(map(printable_text, line.split("\t"))) for line in text.split("\n"))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def text_width(text: str) -> int:
    """Width of the text in terminal columns: 2 per wide character, 0 per combining one."""
    return sum(map(_columns_of, text))


def _count_within(characters: Iterable[str], width: int) -> int:
    """Number of leading characters that fit into `width` terminal columns."""
    return sum(total <= width for total in accumulate(map(_columns_of, characters)))


def _style(cell: str) -> str:
    return STYLES.get(cell.partition(":")[0], "")


def _minimum(column: Column, natural: int) -> int:
    """Smallest width of a column whose widest cell takes `natural` terminal columns."""
    cells = natural if column.min_width is None else min(natural, column.min_width)
    return max([cells, *map(len, column.title.split())])


def _columns_that_fit(columns: Sequence[Column], natural: Sequence[int], width: int | None) -> list[int]:
    indices = list(range(len(columns)))
    while width is not None and _total([_minimum(columns[i], natural[i]) for i in indices]) > width:
        least_important = max(indices, key=lambda i: (columns[i].priority, i))
        if columns[least_important].priority == 1:
            break
        indices.remove(least_important)
    return indices


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _widths(columns: Sequence[Column], natural: Sequence[int], width: int | None) -> list[int]:
    """Widths of the columns. Spare width goes to the narrowest of the shortened columns, then to wrapped titles."""
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
    """Lines of a cell within `width` terminal columns."""
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
    """Lines of a table row without trailing blanks. Without `styles` the row is the header."""
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
