"""Runs the command line in this process, and small models for it to work on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tflmgen.commands import app
from typer.testing import CliRunner

from support.model_writer import ModelWriter


@dataclass(frozen=True, slots=True)
class Finished:
    """A command's exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def tflmgen(*words: object) -> Finished:
    """`tflmgen WORDS...`; no exception of a command may get out of it."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert "Traceback" not in result.output
    return Finished(result.exit_code, result.stdout, result.stderr)


def write_adder(path: Path, dtype: str = "float32", shape: Sequence[int] = (1, 4)) -> Path:
    """sum = left + right."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    quantization: Any = {"scale": [0.5], "zero_point": [0]} if dtype == "int8" else {}
    left, right, total = (graph.tensor(name, dtype, list(shape), **quantization) for name in ("left", "right", "sum"))
    graph.operator("ADD", [left, right], [total])
    graph.inputs, graph.outputs = [left, right], [total]
    path.write_bytes(writer.finish())
    return path


def write_two_signatures(path: Path) -> Path:
    """Signatures "twice" (y = x + x) and "square" (y = x * x)."""
    writer = ModelWriter()
    for key, operator in (("twice", "ADD"), ("square", "MUL")):
        graph = writer.subgraph(key)
        x, y = graph.tensor("x", "float32", [3]), graph.tensor("y", "float32", [3])
        graph.operator(operator, [x, x], [y])
        graph.inputs, graph.outputs = [x], [y]
        writer.signature(key, {"x": x}, {"y": y}, graph.index)
    path.write_bytes(writer.finish())
    return path
