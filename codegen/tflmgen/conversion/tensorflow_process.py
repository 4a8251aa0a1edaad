"""Client of the process that runs TensorFlow: requests, answers, and the error where it ends early.

It is a Python of its own, so that TensorFlow's memory, threads, log and crashes are its own too: this one, or the one
that TFLMGEN_TENSORFLOW names. The process ends with its owner: it reads requests until their stream closes.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

import tflmgen
from tflmgen.errors import Location, ModelError, Problem
from tflmgen.input_sets import ArrayFile
from tflmgen.reference import Array
from tflmgen.sources import InputSet, Outputs

INTERPRETER = "TFLMGEN_TENSORFLOW"
"""Environment variable with the path of a Python that has TensorFlow."""
_INSTALL = f"Install it: pip install 'tflmgen[tensorflow]', or set {INTERPRETER} to a Python that has it"
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); import tflmgen; sys.path.pop(0); "
    "from tflmgen.tensorflow_worker.serve import serve; serve(sys.argv[2])"
)
"""Only the package itself comes from the owner's path: everything else is the interpreter's."""
TEMPORARY = "temporary"
"""Folder within the process's own for temporary files of libraries: TensorFlow writes the code that AutoGraph makes
there, and removes it only when it ends by itself."""
REQUEST_SECONDS = 1800.0
"""Wall-clock time that a request may take: a loop of the source may never end. The slowest of the tests' sources takes
one minute, on a busy computer."""


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C within raises its KeyboardInterrupt at the end: between the start of a process and its name there is none
    who could end it."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


@contextmanager
def _ended_after(process: subprocess.Popen[str], seconds: float) -> Iterator[threading.Event]:
    """Kills the process when the body has taken so long; the event says that it was."""
    was_late = threading.Event()

    def end() -> None:
        was_late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield was_late
    finally:
        timer.cancel()


class TensorFlowProcess:
    """A running process with a folder for files. Use it in a `with` statement.

    source  what errors name; it may be changed between requests
    """

    title = "TensorFlow"
    is_authority = True
    intermediate = "what TensorFlow made of it"
    open_rows = False

    def __init__(self, source: str) -> None:
        self.source = source
        self._interpreter = _interpreter(source)
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> TensorFlowProcess:
        self.folder = Path(tempfile.mkdtemp(prefix="tflmgen-tensorflow-"))
        quiet = {"TF_CPP_MIN_LOG_LEVEL": "2", "TF_ENABLE_ONEDNN_OPTS": "0", "CUDA_VISIBLE_DEVICES": "-1"}
        environment = {**os.environ, **quiet, "KERAS_BACKEND": "tensorflow"}
        temporary = self.folder / TEMPORARY
        temporary.mkdir()
        environment |= {name: str(temporary) for name in ("TMPDIR", "TEMP", "TMP")}
        words = [self._interpreter, "-c", _START, str(Path(tflmgen.__file__).parent.parent), str(self.folder)]
        try:
            with self._log.open("wb") as log, _interrupts_held():
                self._process = subprocess.Popen(
                    words,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=environment,
                    start_new_session=True,
                )
        except OSError as error:
            self._end_process()
            raise self._error(f"{self._interpreter} cannot be started: {error.strerror}", _INSTALL) from None
        except BaseException:
            self._end_process()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_process()

    def _end_process(self) -> None:
        """Ends the process if it was started, and removes its folder."""
        if process := self._process:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(self, request: str, **details: Any) -> dict[str, Any]:
        """The answer to a request. Raises ModelError with the answer's sentence, or with how the process ended."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        line = ""
        with suppress(BrokenPipeError), _ended_after(process, REQUEST_SECONDS) as ends:
            process.stdin.write(json.dumps({"do": request, **details}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line and ends.is_set():
            rule = f"TensorFlow takes more than {REQUEST_SECONDS:g} s to {request} it, and was stopped"
            raise self._error(rule, "Perhaps a loop of it never ends")
        if not line:
            raise self._error(*self._end(request, process.wait()))
        answer = json.loads(line)
        if "error" in answer:
            raise self._error(answer["error"], _INSTALL if answer.get("missing") else answer["advice"])
        contents: dict[str, Any] = answer["ok"]
        return contents

    def run(self, sets: Sequence[InputSet]) -> Sequence[Outputs | None]:
        """Outputs of each input set; None where TensorFlow fails. Raises an error if the process ends."""
        arrays: dict[str, Any] = {"n_sets": np.array(len(sets))}
        for k, sample in enumerate(sets):
            arrays |= {f"s{k}_entry": np.array(sample.entry), f"s{k}_n": np.array(len(sample.sequence))}
            arrays |= {f"s{k}_{n}_in_{i}": a for n, row in enumerate(sample.sequence) for i, a in enumerate(row)}
        np.savez(self.folder / "inputs.npz", **arrays)
        self.ask("run", inputs="inputs.npz", outputs="outputs.npz")
        results = ArrayFile(self.folder / "outputs.npz")
        return [None if f"s{k}_error" in results else _outputs(results, k, s) for k, s in enumerate(sets)]

    def run_by_definition(self, _sets: Sequence[InputSet]) -> Sequence[Outputs | None]:
        """Nothing: TensorFlow has one way to run a source, its own."""
        return []

    def trace(self, operands: Sequence[Array], names: Sequence[str]) -> Mapping[str, Sequence[Array]]:
        """A fused tensor has the names of all its parts, the last of which it equals."""
        np.savez(self.folder / "trace.npz", **{f"in_{i}": a for i, a in enumerate(operands)})  # type: ignore[arg-type]
        nodes = list(dict.fromkeys(part for name in names for part in name.split(";")))
        if not self.ask("trace", nodes=nodes, inputs="trace.npz", outputs="traced.npz")["traced"]:
            return {}
        values = ArrayFile(self.folder / "traced.npz")
        return {name: [values[part] for part in name.split(";") if part in values] for name in names}

    @property
    def _log(self) -> Path:
        return self.folder / "log.txt"

    def _end(self, request: str, code: int) -> tuple[str, str]:
        """Explanation of an exit code of the process: why it ended, and what may help."""
        lines = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        if code == -signal.SIGABRT and any("bad_alloc" in line for line in lines):
            return f"TensorFlow had not enough memory to {request} it", "Convert it on a machine with more memory"
        if code == -signal.SIGKILL:
            rule = f"TensorFlow's process was killed while it had to {request} it, probably for want of memory"
            return rule, "Convert it on a machine with more memory"
        last = f": {lines[-1].strip()}" if lines else ""
        if code < 0:
            return f"TensorFlow crashed ({signal.Signals(-code).name}) while it had to {request} it{last}", ""
        if any("No module named 'tflmgen" in line or "SyntaxError" in line for line in lines):
            return f"{self._interpreter} is too old{last}", "It must be Python 3.10 or newer"
        return f"TensorFlow's process ended while it had to {request} it{last}", ""

    def _error(self, rule: str, advice: str = "") -> ModelError:
        return ModelError([Problem(Location(self.source), rule, advice)])


def _outputs(results: Mapping[str, Array], number: int, sample: InputSet) -> Outputs:
    """The outputs of a set: as many as the first invoke has."""
    count = 0
    while f"s{number}_0_out_{count}" in results:
        count += 1
    return [[results[f"s{number}_{n}_out_{j}"] for j in range(count)] for n in range(len(sample.sequence))]


def _interpreter(source: str) -> str:
    chosen = os.environ.get(INTERPRETER)
    if chosen:
        return chosen
    if find_spec("tensorflow") is None:
        rule = "reading it needs the package tensorflow, which is not installed"
        raise ModelError([Problem(Location(source), rule, _INSTALL)])
    return sys.executable
