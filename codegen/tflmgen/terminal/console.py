"""What the commands print: tables, lines and progress for people, or JSON for programs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tflmgen.options import OutputOptions
from tflmgen.terminal.text_table import Line, Table, table_lines

if TYPE_CHECKING:
    from rich.console import Console as RichConsole


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
            for line in (*table_lines(table, self._width), []):
                self._print(line)

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

    @property
    def _width(self) -> int | None:
        """Columns for tables: COLUMNS, else the terminal's; None, which is all that they take, elsewhere."""
        if self.options.wide:
            return None
        chosen = os.environ.get("COLUMNS", "")
        if chosen.isdecimal() and int(chosen):
            return int(chosen)
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def _print(self, line: Line) -> None:
        if not sys.stdout.isatty():
            print("".join(text for text, _ in line))
            return
        from rich.text import Text

        self._terminal.print(Text.assemble(*line), soft_wrap=True)

    @cached_property
    def _terminal(self) -> RichConsole:
        from rich.console import Console as RichConsole

        return RichConsole(highlight=False, markup=False, emoji=False)


def error_line(text: str) -> None:
    """One problem, on standard error."""
    print(text, file=sys.stderr)


def _ignore(_: str) -> None:
    pass
