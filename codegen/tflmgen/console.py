"""What the commands print: tables, lines and progress for people, or JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tflmgen.option_groups import OutputOptions

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

PLAIN_WIDTH = 160
"""Columns of a table where the output is no terminal: nothing is to be cut off."""


STYLES = {"ok": "green", "WRONG": "bold red"}
"""What a cell that begins with such a word looks like, on a terminal and without NO_COLOR."""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns by title; a title that ends in '>' has its column right-aligned. Cells are plain text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Console:
    """Text to standard output unless `quiet` or `json`; JSON to it where `json`; progress to a terminal."""

    options: OutputOptions

    @property
    def shows_text(self) -> bool:
        return not (self.options.quiet or self.options.json)

    def line(self, text: str) -> None:
        """One line of text, as it is."""
        if self.shows_text:
            print(text)

    def table(self, table: Table) -> None:
        if self.shows_text:
            self._stdout.print(_rich_table(table))

    def json(self, value: Any) -> None:
        """The command's result, printed where --json asks for it."""
        if self.options.json:
            print(json.dumps(value, indent=2))

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[str], None]]:
        """While the body runs, a terminal shows what it does and how long it has taken.

        The value is a function that changes the text. Nothing is left behind.
        """
        if not self.shows_text or not sys.stderr.isatty():
            yield _ignore
            return
        from rich.console import Console as RichConsole
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Progress(*columns, console=RichConsole(stderr=True), transient=True) as shown:
            task = shown.add_task(what)
            yield lambda text: shown.update(task, description=text)

    @cached_property
    def _stdout(self) -> RichConsole:
        from rich.console import Console as RichConsole

        width = None if sys.stdout.isatty() else PLAIN_WIDTH
        return RichConsole(width=width, highlight=False, markup=False, emoji=False)


def error_line(text: str) -> None:
    """One problem, on standard error."""
    print(text, file=sys.stderr)


def _ignore(_: str) -> None:
    pass


def _rich_table(table: Table) -> Any:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(title=Text(table.title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for title in table.columns:
        justify: Any = "right" if title.endswith(">") else "left"
        shown.add_column(Text(title.rstrip(">")), justify=justify, overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(cell, style=STYLES.get(cell.partition(":")[0], "")) for cell in row))
    return shown
