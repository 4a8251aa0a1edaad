"""A child process that never outlives us, and the stream of its standard input and output."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO


class Child:
    """A running process and the file that holds what it says."""

    def __init__(self, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        self.process = process
        self._log = log

    def last_words(self) -> str:
        """What the process has said, and its exit code if it has ended."""
        try:
            code: int | None = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = None
        self._log.seek(0)
        text = self._log.read().decode(errors="replace").strip()
        if code is None:
            return text
        return f"{text} ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})".strip()


class PipeStream:
    """A link.Stream over the standard input and output of a child that open_child() gave pipes."""

    def __init__(self, child: Child) -> None:
        assert child.process.stdin is not None
        assert child.process.stdout is not None
        self._child = child
        self._to, self._from = child.process.stdin.fileno(), child.process.stdout.fileno()
        os.set_blocking(self._to, False)

    def read(self, timeout: float) -> bytes:
        if not select.select([self._from], [], [], max(0.0, timeout))[0]:
            return b""
        data = os.read(self._from, 65536)
        if not data:
            raise EOFError(self._child.last_words())
        return data

    def write(self, data: bytes) -> None:
        try:
            os.write(self._to, data)
        except BlockingIOError:
            return  # a device that does not read: the request is sent again later, or times out
        except BrokenPipeError as error:
            raise EOFError(self._child.last_words()) from error


@contextmanager
def open_child(
    command: Sequence[str], piped: bool = True, environment: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Run `command` for as long as the context lasts; then it is killed, and where possible also if we are killed.

    piped  standard input and output are pipes; else there is no input, and the output goes to the log, as stderr does
    """
    guard = shutil.which("setpriv")
    guarded = [guard, "--pdeathsig", "KILL", *command] if guard else list(command)
    pipe = subprocess.PIPE
    with tempfile.TemporaryFile() as log:
        stdin, stdout = (pipe, pipe) if piped else (subprocess.DEVNULL, log)
        with subprocess.Popen(guarded, stdin=stdin, stdout=stdout, stderr=log, bufsize=0, env=environment) as process:
            try:
                yield Child(process, log)
            finally:
                process.kill()


@contextmanager
def open_pipe(command: Sequence[str]) -> Iterator[PipeStream]:
    """Run `command` as open_child() does; the stream of its input and output."""
    with open_child(command) as child:
        yield PipeStream(child)
