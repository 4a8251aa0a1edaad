"""A process that evaluates tasks: warm, with bounded memory, ended where a task takes too long.

It and its owner exchange pickles with their lengths before them, over the process's standard input and output.
"""

from __future__ import annotations

import os
import pickle
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from tflmgen.sweep.result_cache import cache_at
from tflmgen.sweep.sweep_task import Row, Status, Task

_LENGTH = struct.Struct("<Q")
_WATCH_SECONDS = 0.5
"""Time between two looks at whether the parent process still lives."""
_KILLED_BY_KERNEL = "killed (SIGKILL): out of memory, or by someone"


class TaskProcess:
    """Owner's side. A task that ends the process costs its row only: the next task gets a new process."""

    def __init__(self, scratch: str, memory_bytes: int, cache: str) -> None:
        """scratch: folder for temporary files; memory_bytes: limit of the process's address space, 0: none."""
        self._scratch, self._memory, self._cache = scratch, memory_bytes, cache
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = ""

    def evaluate(self, task: Task, timeout: float) -> Row:
        """The row of a task, whatever happens; `timeout` in seconds of wall-clock time."""
        began = time.monotonic()
        process = self._process or self._started()
        try:
            _write(_pipe(process.stdin), task)
            row: Row = _read(_pipe(process.stdout), timeout)
            if row["status"] == Status.MEMORY.value:
                self.close()  # its memory may be in pieces: the next task gets a new process
            return row
        except TimeoutError:
            status, problem = Status.TIME, f"no result within {timeout:g} seconds"
        except (OSError, EOFError):
            status, problem = _ending(process)
        self.close()
        spent = round(time.monotonic() - began, 6)
        return task.start_of_row | {"status": status.value, "problem": problem, "seconds": spent}

    def close(self) -> None:
        """Ends the process, and removes its temporary files."""
        if self._process is not None:
            _end_group(self._process)
            self._process.wait()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._scratch:
            Path(self._scratch).mkdir(parents=True, exist_ok=True)
        self._folder = tempfile.mkdtemp(prefix="tflmgen-sweep-", dir=self._scratch or None)
        # One thread per process: workers are what is parallel, and threads' stacks would count as memory.
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with Path(self._folder, "stderr").open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(self._memory), self._folder, self._cache],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **threads, "TMPDIR": self._folder},
                start_new_session=True,
            )
        return self._process


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kills the process and what it has started: compilers, emulators."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()


def _ending(process: subprocess.Popen[bytes]) -> tuple[Status, str]:
    try:
        code = process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        return Status.CRASHED, "its process closed its pipe"
    if code == -signal.SIGKILL:
        return Status.CRASHED, _KILLED_BY_KERNEL
    return Status.CRASHED, f"its process ended with {signal.Signals(-code).name if code < 0 else f'code {code}'}"


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _write(pipe: IO[bytes], value: object) -> None:
    data = pickle.dumps(value)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _read(pipe: IO[bytes], timeout: float) -> Any:
    """The next value. Raises TimeoutError, or EOFError where the process has ended."""
    until = time.monotonic() + timeout
    (length,) = _LENGTH.unpack(_bytes(pipe.fileno(), _LENGTH.size, until))
    return pickle.loads(_bytes(pipe.fileno(), length, until))


def _bytes(descriptor: int, number: int, until: float) -> bytes:
    data = bytearray()
    while len(data) < number:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TimeoutError
        part = os.read(descriptor, number - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _serve(memory_bytes: int, folder: str, cache_url: str) -> None:
    """The process's side: rows for tasks, until standard input ends or the owner does."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's function prints is no reply
    threading.Thread(target=_leave_with_owner, args=(os.getppid(), folder), daemon=True).start()
    if memory_bytes:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    from tflmgen.sweep.row_evaluation import evaluate_task

    cache = cache_at(cache_url)
    requests = sys.stdin.buffer
    while length := requests.read(_LENGTH.size):
        task = pickle.loads(requests.read(*_LENGTH.unpack(length)))
        _write(replies, evaluate_task(task, cache))
    shutil.rmtree(folder, ignore_errors=True)  # its owner has ended


def _leave_with_owner(owner: int, folder: str) -> None:
    """Ends this process and what it has started once its owner is gone, and leaves no temporary file."""
    while os.getppid() == owner:
        time.sleep(_WATCH_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2], sys.argv[3])
