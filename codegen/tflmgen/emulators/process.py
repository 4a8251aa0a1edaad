"""Child processes that never outlive tflmgen, with all their descendants, and their input and output as a stream."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO

END_LIMIT = 5.0
"""Seconds to wait for a killed process and its children to end."""


class Child:
    """A running process and its log file."""

    def __init__(self, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        self.process = process
        self._log = log

    def output(self) -> str:
        """The process's log so far."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip()

    def end(self) -> str:
        """Description of the process's end; empty if it does not end within a second."""
        try:
            code = self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return ""
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def last_words(self) -> str:
        """The process's log, and its exit code if it has ended."""
        end = self.end()
        return f"{self.output()} ({end})".strip() if end else self.output()


class PipeStream:
    """A link.Stream over the standard input and output of a child with pipes."""

    def __init__(self, child: Child) -> None:
        assert child.process.stdin is not None
        assert child.process.stdout is not None
        self._child = child
        self._to, self._from = child.process.stdin.fileno(), child.process.stdout.fileno()
        os.set_blocking(self._to, False)

    def read(self, timeout: float) -> bytes:
        """Bytes that arrive within `timeout` seconds; empty if there are none. Raises EOFError if the child has
        ended."""
        if not select.select([self._from], [], [], max(0.0, timeout))[0]:
            return b""
        data = os.read(self._from, 65536)
        if not data:
            raise EOFError(self._child.last_words())
        return data

    def write(self, data: bytes) -> None:
        """Writes without waiting; what the pipe does not take is lost. Raises EOFError if the child has ended."""
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
    """Runs `command` while the context lasts, then kills it with all its descendants.

    piped  standard output is a pipe; else it goes to the log, as standard error does

    Standard input is always a pipe, which closes if tflmgen is killed; where possible, the kernel kills the process
    too. After the context, no descendant holds a file or writes to a folder.
    """
    guard = shutil.which("setpriv")
    guarded = [guard, "--pdeathsig", "KILL", *command] if guard else list(command)
    pipe = subprocess.PIPE
    ended, inherited = os.pipe()  # `held` stays open in the process and its children; `alive` ends once all have gone
    try:
        with (
            tempfile.TemporaryFile() as log,
            subprocess.Popen(
                guarded,
                stdin=pipe,
                stdout=pipe if piped else log,
                stderr=log,
                bufsize=0,
                env=environment,
                start_new_session=True,
                pass_fds=(inherited,),
            ) as process,
        ):
            try:
                os.close(inherited)
                inherited = -1
                yield Child(process, log)
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                select.select([ended], [], [], END_LIMIT)
    finally:
        os.close(ended)
        if inherited >= 0:
            os.close(inherited)


@contextmanager
def open_pipe(command: Sequence[str]) -> Iterator[PipeStream]:
    """Runs `command` as open_child() does; yields the stream of its standard input and output."""
    with open_child(command) as child:
        yield PipeStream(child)
