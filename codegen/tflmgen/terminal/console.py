"""Output of the commands: tables, lines and progress for people, or JSON for programs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from tflmgen.errors import TflmgenError
from tflmgen.options import OutputOptions
from tflmgen.terminal.text_table import Line, Table, printable_lines, printable_text, table_lines

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

BETWEEN = 10.0
"""Seconds from the beginning of a command to its first line, and from line to line."""
_LONG = 1.0
"""Seconds that a piece of work takes before a line names it."""


@dataclass
class ProgressLines:
    """Lines of one command, over all its pieces of work. written: time of the last line, at first of the beginning."""

    written: float = field(default_factory=time.monotonic)

    @contextmanager
    def work(self, text: str) -> Iterator[WorkProgress]:
        """A piece of work, on which lines report while the body runs."""
        work = WorkProgress(text)
        ended = threading.Event()
        thread = threading.Thread(target=self._report, args=(work, ended), daemon=True)
        thread.start()
        try:
            yield work
        finally:
            ended.set()
            thread.join()

    def _report(self, work: WorkProgress, ended: threading.Event) -> None:
        if hasattr(signal, "pthread_sigmask"):  # Ctrl-C is for the main thread, which may wait in a system call
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while not ended.wait(max(self.written + BETWEEN, work.began + _LONG) - time.monotonic()):
            self.written = time.monotonic()
            try:
                print(work.line, file=sys.stderr, flush=True)
            except (OSError, ValueError):  # nobody reads any more: the work goes on
                return


@dataclass
class WorkProgress:
    """State of a task: its name, and its finished and total parts; total 0: unknown."""

    text: str
    done: int = 0
    total: int = 0
    began: float = field(default_factory=time.monotonic)

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None:
        """Says what is being done now."""
        self.text, self.done, self.total = text, done, total

    @property
    def line(self) -> str:
        """The text, the share that is done, and the seconds so far."""
        share = f", {100 * min(max(self.done, 0), self.total) // self.total} %" if self.total else ""
        return f"{printable_text(self.text)}{share}, {time.monotonic() - self.began:.0f} s"


_BAR = 20
"""Width of a bar in characters: text of 50 fits beside it in 80 columns."""


class Progress(Protocol):
    """Receiver of progress: the current task and, where known, its finished and total parts."""

    def __call__(self, text: str, done: int = 0, total: int = 0) -> None: ...


class WarningsError(TflmgenError):
    """Warnings that are errors, because of --strict; a line each."""


@dataclass(frozen=True)
class Console:
    """Standard output of one command: text unless --quiet or --json, JSON with --json; progress on standard error."""

    options: OutputOptions

    @property
    def shows_text(self) -> bool:
        """Whether lines and tables are shown: neither with --quiet nor with --json."""
        return not (self.options.quiet or self.options.json)

    def line(self, text: str) -> None:
        """Prints `text` and a line end, without control characters that a terminal would obey."""
        if self.shows_text:
            print(printable_lines(text))

    def refuse_warnings(self, warnings: Iterable[str]) -> None:
        """Raises WarningsError with --strict if there are warnings: to be called before anything is written."""
        listed = list(warnings)
        if self.options.strict and listed:
            raise WarningsError("\n".join(f"--strict: {text}" for text in listed))

    def warnings(self, warnings: Iterable[str]) -> None:
        """Prints warnings, a line each; see `refuse_warnings`."""
        listed = list(warnings)
        self.refuse_warnings(listed)
        for text in listed:
            self.line(f"warning: {text}")

    def table(self, table: Table) -> None:
        """Prints a table and an empty line, as wide as the terminal; nothing with --quiet or --json."""
        if self.shows_text:
            for line in (*table_lines(table, self._width), []):
                self._print(line)

    def json(self, value: Any) -> None:
        """Prints the command's result with --json; does nothing otherwise."""
        if self.options.json:
            print(json.dumps(value, indent=2))

    @contextmanager
    def progress(self, text: str) -> Iterator[Progress]:
        """Shows `text` and the elapsed time on a terminal while the body runs, and clears the line afterwards.

        Yields a function that replaces the text, and shows a bar where it is told how much of all is done. Elsewhere
        long work has a line on standard error every few seconds.
        """
        if not self.shows_text:
            yield no_progress
            return
        if not sys.stderr.isatty():
            with self._progress_lines.work(text) as work:
                yield work
            return
        from rich.console import Console as RichConsole
        from rich.progress import Progress as Line
        from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        with Line(*columns, console=RichConsole(stderr=True), transient=True) as line:
            task = line.add_task(printable_text(text))

            def update(text: str, done: int = 0, total: int = 0) -> None:
                line.update(task, description=(f"{bar(done, total)} " if total else "") + printable_text(text))

            yield update

    @cached_property
    def _progress_lines(self) -> ProgressLines:
        return ProgressLines()

    @property
    def _width(self) -> int | None:
        """Width of tables in characters: $COLUMNS, else the terminal's; None (unlimited) for pipes and --wide."""
        if self.options.wide:
            return None
        columns_variable = os.environ.get("COLUMNS", "")
        if columns_variable.isdecimal() and int(columns_variable):
            return int(columns_variable)
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
    """Prints one problem on standard error, without control characters that a terminal would obey."""
    print(printable_lines(text), file=sys.stderr)


def bar(done: int, total: int) -> str:
    """A bar of `_BAR` characters, of which as many are filled as parts are done."""
    filled = _BAR * min(max(done, 0), total) // total
    return "#" * filled + "-" * (_BAR - filled)


def no_progress(text: str, done: int = 0, total: int = 0) -> None:
    """A Progress that nobody sees."""
    del text, done, total
