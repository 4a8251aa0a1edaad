"""Progress where no terminal is: now and then a line on standard error says what is being done."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tflmgen.terminal.text_table import printable_text

BETWEEN = 10.0
"""Seconds from the beginning of a command to its first line, and from line to line."""
_LONG = 1.0
"""Seconds that a piece of work takes before a line names it."""


@dataclass
class ProgressLines:
    """Lines of one command, over all its pieces of work. written: time of the last line, at first of the beginning."""

    written: float = field(default_factory=time.monotonic)

    @contextmanager
    def work(self, text: str) -> Iterator[Work]:
        """A piece of work, on which lines report while the body runs."""
        work = Work(text)
        ended = threading.Event()
        thread = threading.Thread(target=self._report, args=(work, ended), daemon=True)
        thread.start()
        try:
            yield work
        finally:
            ended.set()
            thread.join()

    def _report(self, work: Work, ended: threading.Event) -> None:
        if hasattr(signal, "pthread_sigmask"):  # Ctrl-C is for the main thread, which may wait in a system call
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while not ended.wait(max(self.written + BETWEEN, work.began + _LONG) - time.monotonic()):
            self.written = time.monotonic()
            try:
                print(work.line, file=sys.stderr, flush=True)
            except (OSError, ValueError):  # nobody reads any more: the work goes on
                return


@dataclass
class Work:
    """What is being done now, and how many parts of it are done of how many; total 0: unknown."""

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
