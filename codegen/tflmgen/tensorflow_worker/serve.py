"""Answers requests on standard input, one line of JSON each, until it closes: the whole life of the process.

A request is {"do": "load", ...}; an answer {"ok": {...}} or {"error": sentence, "advice": sentence}.
Standard output is the answers' alone: what libraries print goes where standard error goes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tflmgen.tensorflow_worker.loaded_source import LoadedProgram, SourceError

Answer = dict[str, Any]
OLDEST = (2, 16)
"""Version of TensorFlow."""
MEMORY, MEMORY_PER_BYTE = 8 * 2**30, 20
"""Bytes that the process may allocate: in all, and for each byte of the source. TensorFlow itself takes 1 GB."""
NO_MEMORY = "there is not enough memory for it"
_UNLOADED = "failed to map segment"
"""Message of the loader about a library for which there is no address space."""
_CALLING = "Exception encountered when calling "
"""Beginning of Keras's message for an error that a layer raises."""
_BOLD = re.compile(r"\x1b\[\d+m")
"""Escape sequences of a terminal."""


def serve(folder: str) -> None:
    """Serves requests; files are in `folder`, which is removed at the end: an owner that was killed cannot do it."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = _Worker(Path(folder))
    try:
        for line in sys.stdin:
            answers.write(json.dumps(worker.answer(json.loads(line))) + "\n")
            answers.flush()
    except BrokenPipeError:
        # The owner was killed while it waited for this answer: nobody is left to tell.
        pass
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Worker:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program: LoadedProgram | None = None
        self._graph_def: Any = None
        self._inputs: list[str] = []

    def answer(self, request: Mapping[str, Any]) -> Answer:
        """The answer to one request; what goes wrong is in it."""
        try:
            return {"ok": getattr(self, f"_{request['do']}")(request)}
        except SourceError as error:
            return {"error": error.rule, "advice": error.advice}
        except ModuleNotFoundError as error:
            rule = f"{sys.executable} has no package {error.name}, which reading it needs"
            return {"error": rule, "advice": "", "missing": True}
        except MemoryError:
            return {"error": NO_MEMORY, "advice": ""}
        except Exception as error:
            if type(error).__name__ == "ResourceExhaustedError" or _UNLOADED in str(error):
                return {"error": NO_MEMORY, "advice": ""}
            text = f"TensorFlow cannot {request['do']} it: {type(error).__name__}: {_sentence_of(error)}"
            return {"error": text, "advice": ""}

    def _load(self, request: Mapping[str, Any]) -> Answer:
        _check_version()
        _limit_memory(Path(request["source"]))
        from tflmgen.tensorflow_worker.load_source import load_source

        self._program = load_source(request)
        return self._program.description

    def _convert(self, request: Mapping[str, Any]) -> Answer:
        from tflmgen.tensorflow_worker.tflite_conversion import convert

        assert self._program is not None
        converted = convert(self._program, self._folder, request["composites"], request["max_iterations"])
        (self._folder / "converted.tflite").write_bytes(converted.data)
        self._graph_def, self._inputs = converted.graph_def, converted.inputs
        return {"mends": converted.mends, "inputs": converted.inputs, "custom": converted.custom}

    def _run(self, request: Mapping[str, Any]) -> Answer:
        from tflmgen.tensorflow_worker.run_program import run_sets

        assert self._program is not None
        run_sets(self._program, self._folder / request["inputs"], self._folder / request["outputs"])
        return {}

    def _trace(self, request: Mapping[str, Any]) -> Answer:
        from tflmgen.tensorflow_worker.run_program import trace_nodes

        operands, results = self._folder / request["inputs"], self._folder / request["outputs"]
        if self._graph_def is not None:
            trace_nodes(self._graph_def, self._inputs, request["nodes"], operands, results)
        return {"traced": self._graph_def is not None}


def _limit_memory(source: Path) -> None:
    """Bounds what the process may allocate, where the system has such a bound."""
    try:
        import resource
    except ImportError:
        return
    files = source.rglob("*") if source.is_dir() else [source]
    stored = sum(file.stat().st_size for file in files if file.is_file())
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = MEMORY + MEMORY_PER_BYTE * stored
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard < 0 else min(wanted, hard), hard))


def _check_version() -> None:
    """Raises SourceError for a TensorFlow that is too old, before anything of it is used."""
    import tensorflow as tf

    if tuple(int(part) for part in tf.__version__.split(".")[:2]) < OLDEST:
        rule = f"TensorFlow is {tf.__version__}, but at least {'.'.join(map(str, OLDEST))} is needed"
        raise SourceError(rule, "Update it: pip install -U 'tflmgen[tensorflow]'")


def _sentence_of(error: Exception) -> str:
    """The first line of an error, which names the problem; of one that a layer of Keras raises, the reason, too.

    TensorFlow may raise any exception. Keras prints the reason in bold letters, after a line that ends with the call.
    """
    lines = [line.strip() for line in _BOLD.sub("", str(error)).splitlines() if line.strip()]
    if lines[1:] and lines[0].startswith(_CALLING):
        return f"{lines[0].rstrip('.')}: {lines[1]}"
    return lines[0] if lines else ""
