"""What an application computes, said again in Python: stages run one by one, glue is numpy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend.tflite import read_model
from tflmgen.ir import DType, Quantization
from tflmgen.reference import Interpreter

Array = NDArray[Any]
WIDTH, ROWS = 4, 7
SCALE, ZERO = 0.125, 3
"""Of every int8 tensor: a power of two, so that conversions are exact."""
QUANTIZED = Quantization((SCALE,), (ZERO,))


OUTPUTS = {
    "argmax": ("index", "value"),
    "smooth": ("scores", "detected"),
    "debounce": ("value",),
    "rms": ("value",),
    "normalize": ("values",),
    "joined": ("scores", "total"),
}
"""Of kinds of stages, other than `scores`."""
ONE_VALUE = {"index", "value", "detected"}
"""Outputs of one element."""


def outputs_of(table: Mapping[str, Any]) -> tuple[str, ...]:
    return OUTPUTS.get(table.get("builtin", "joined" if len(table["input"]) == 2 else ""), ("scores",))


@dataclass
class SimulatedStage:
    """One stage: settings as the file has them, and what it keeps."""

    name: str
    sources: Sequence[str]
    table: Mapping[str, Any]
    model: Interpreter | None
    types: Sequence[DType]
    outputs: dict[str, Array]
    window: Array | None = None
    pushes: int = 0
    seen: int = 0
    since: int = 1
    history: list[Array] = field(default_factory=list)
    steady: list[int] = field(default_factory=lambda: [-1, -1, 0])
    ran: bool = False


class SimulatedApplication:
    """Steps as the pages say that an application does them."""

    def __init__(self, folder: Path, tables: Mapping[str, Mapping[str, Any]]) -> None:
        self.stages: dict[str, SimulatedStage] = {}
        for name, table in tables.items():
            model = read_model(folder / table["model"]) if "model" in table else None
            graph = model.subgraphs[0] if model else None
            types = [graph.tensors[i].dtype or DType.FLOAT32 for i in graph.inputs] if graph else [DType.FLOAT32]
            outputs = {output: _initial(table, output, types[0]) for output in outputs_of(table)}
            stage = SimulatedStage(name, table["input"], table, Interpreter(model) if model else None, types, outputs)
            if "hold" in table:
                stage.since = _hold(table)
            if "slide" in table:
                stage.window = np.zeros((_rows(table), WIDTH), np.float32)
                if types[0] is DType.INT8:
                    stage.window = np.full((ROWS, WIDTH), ZERO, np.int8)
            self.stages[name] = stage

    def step(self, inputs: Mapping[str, Array]) -> None:
        for stage in self.stages.values():
            self._step(stage, inputs)

    def _step(self, stage: SimulatedStage, inputs: Mapping[str, Array]) -> None:
        names = [source.partition(".") for source in stage.sources]
        fresh = any(name in inputs or self.stages[name].ran for name, _, _ in names)
        values = [inputs[name] if name in inputs else self._output(name, output) for name, _, output in names]
        when = self._holds(str(stage.table.get("when", "")))
        if "hold" in stage.table:
            stage.since = min(stage.since + 1, _hold(stage.table))
        runs = fresh and when
        if stage.window is not None:
            rows, is_int8 = values[0].reshape(-1, WIDTH), stage.window.dtype == np.int8
            needed = -(-len(stage.window) // len(rows))
            if fresh:
                new = _as_int8(rows) if is_int8 else _as_float(rows)
                stage.window = np.concatenate([stage.window[len(rows) :], new])
                stage.pushes = min(stage.pushes + 1, needed)
            if stage.table.get("catch_up") == "restart" and not when:
                stage.pushes = 0
            values[0] = stage.window[None]
            runs = runs and stage.pushes == needed
        if stage.table.get("every", 1) > 1 and runs:
            runs = stage.seen == 0
            stage.seen = (stage.seen + 1) % stage.table["every"]
        stage.ran = runs
        if runs:
            stage.outputs = self._computed(stage, values)

    def _output(self, name: str, output: str) -> Array:
        outputs = self.stages[name].outputs
        return outputs[output] if output else next(iter(outputs.values()))

    def _computed(self, stage: SimulatedStage, values: Sequence[Array]) -> dict[str, Array]:
        if stage.model is not None:
            converted = [
                _as_int8(v) if t is DType.INT8 else _as_float(v) for v, t in zip(values, stage.types, strict=True)
            ]
            return dict(zip(outputs_of(stage.table), stage.model.invoke(None, converted), strict=True))
        kind, value, scores = stage.table["builtin"], values[0], _as_float(values[0]).reshape(-1)
        if kind == "rms":
            power = np.mean(scores.astype(np.float64) ** 2)
            return {"value": np.array([np.sqrt(power) * abs(stage.table["scale"])], np.float32)}
        if kind == "normalize":
            center, deviation = (np.array(stage.table[name], np.float32) for name in ("mean", "deviation"))
            return {"values": (scores.reshape(-1, WIDTH) - center) / deviation}
        if kind == "argmax":
            return {"index": np.array([scores.argmax()], np.int32), "value": scores[[scores.argmax()]]}
        if kind == "smooth":
            window = int(stage.table["window"])
            stage.history = [*stage.history, scores][-window:]
            mean = np.sum(stage.history, 0, dtype=np.float64) / window
            heard = np.where(np.isin(np.arange(WIDTH), stage.table["ignore"]), -np.inf, mean)
            detects = heard.max() >= stage.table["threshold"] and stage.since >= _hold(stage.table)
            stage.since = 0 if detects else stage.since
            detected = np.array([heard.argmax() if detects else -1], np.int32)
            return {"scores": mean.astype(np.float32).reshape(1, -1), "detected": detected}
        current, candidate, seen = stage.steady
        new = int(value.reshape(-1)[0])
        seen = min(seen + 1, stage.table["count"]) if new == candidate else 1
        current = new if seen == stage.table["count"] else current
        stage.steady = [current, new, seen]
        return {"value": np.array([current], np.int32)}

    def _holds(self, text: str) -> bool:
        """The condition, whose grammar Python's own has: elements are replaced by their values."""
        if not text:
            return True

        def element(match: re.Match[str]) -> str:
            value = _as_real(self.stages[match[1]].outputs[match[2]]).reshape(-1)[int(match[3])]
            return repr(float(value))

        plain = re.sub(r"(s\d+)\.ran", lambda match: str(self.stages[match[1]].ran), text)
        return bool(eval(re.sub(r"(s\d+)\.(\w+)\[(\d+)\]", element, plain), {"__builtins__": {}}))


def _hold(table: Mapping[str, Any]) -> int:
    """Calls of the time `hold`."""
    return max(1, int(table["hold"].split()[0]) // 10)


def _rows(table: Mapping[str, Any]) -> int:
    """Rows of WIDTH elements in a stage's window."""
    rows = int(table.get("window", ROWS))
    return rows // WIDTH if table.get("builtin") == "rms" else rows


def _initial(table: Mapping[str, Any], output: str, dtype: DType) -> Array:
    """Initial value of an output, before its stage runs first."""
    if output in ONE_VALUE:
        is_decision = output == "detected" or table["builtin"] == "debounce"
        whole = is_decision or output == "index"
        return np.full(1, -1 if is_decision else 0, np.int32 if whole else np.float32)
    if output == "values":
        return np.zeros((_rows(table) if "slide" in table else 1, WIDTH), np.float32)
    return np.full((1, WIDTH), ZERO, np.int8) if dtype is DType.INT8 else np.zeros((1, WIDTH), np.float32)


def _as_real(value: Array) -> Array:
    return _as_float(value) if value.dtype == np.int8 else value


def _as_float(value: Array) -> Array:
    if value.dtype == np.int8:
        return np.asarray((value.astype(np.int32) - ZERO) * SCALE, np.float32)
    return value.astype(np.float32)


def _as_int8(value: Array) -> Array:
    if value.dtype == np.int8:
        return value
    real = value.astype(np.float64) / SCALE
    rounded = np.sign(real) * np.floor(np.abs(real) + 0.5) + ZERO
    return np.asarray(np.clip(rounded, -128, 127), np.int8)


def output_names(tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [f"{name}.{output}" for name, table in tables.items() for output in outputs_of(table)]


def expected_outputs(stages: SimulatedApplication, names: Sequence[str]) -> list[Array]:
    return [stages.stages[name.partition(".")[0]].outputs[name.partition(".")[2]] for name in names]
