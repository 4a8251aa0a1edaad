"""What an application computes, said again in Python: stages run one by one, glue is numpy. And random applications."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend import Model, ModelBuilder, read_model, write_model
from tflmgen.ir import DType, Quantization
from tflmgen.reference import Interpreter

Array = NDArray[Any]
WIDTH, ROWS = 4, 7
SCALE, ZERO = 0.125, 3
"""Of every int8 tensor: a power of two, so that conversions are exact."""
QUANTIZED = Quantization((SCALE,), (ZERO,))


def dense(rng: np.random.Generator, rows: int = 1) -> Model:
    """int8[1,rows,4] -> int8[1,4]: a product with random weights."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.tensor("x", DType.INT8, (1, rows, WIDTH) if rows > 1 else (1, WIDTH), QUANTIZED)
    flat = graph.tensor("flat", DType.INT8, (1, rows * WIDTH), QUANTIZED)
    graph.operator("RESHAPE", [x, graph.constant("shape", np.array([1, rows * WIDTH], np.int32))], [flat])
    values = rng.integers(-127, 128, (WIDTH, rows * WIDTH)).astype(np.int8)
    weights = graph.constant("weights", values, Quantization((0.01,), (0,)))
    y = graph.tensor("scores", DType.INT8, (1, WIDTH), QUANTIZED)
    graph.operator("FULLY_CONNECTED", [flat, weights, -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def filtered(rng: np.random.Generator) -> Model:
    """int8[1,ROWS,4] -> int8[1,4]: two convolutions along time, padded or not, then a product with all that is left."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x = graph.tensor("x", DType.INT8, (1, ROWS, WIDTH), QUANTIZED)
    image, rows = graph.tensor("image", DType.INT8, (1, ROWS, 1, WIDTH), QUANTIZED), ROWS
    graph.operator("RESHAPE", [x, graph.constant("shape", np.array([1, ROWS, 1, WIDTH], np.int32))], [image])
    for number in range(2):
        same = bool(rng.integers(2))
        taps = rng.integers(-127, 128, (WIDTH, 2, 1, WIDTH)).astype(np.int8)
        filters = graph.constant(f"filters {number}", taps, Quantization((0.01,), (0,)))
        rows -= 0 if same else 1
        output = graph.tensor(f"rows {number}", DType.INT8, (1, rows, 1, WIDTH), QUANTIZED)
        bias = graph.constant(f"bias {number}", np.zeros(WIDTH, np.int32), Quantization((SCALE * 0.01,), (0,)))
        graph.operator(
            "CONV_2D", [image, filters, bias], [output], {"padding": int(not same), "stride_h": 1, "stride_w": 1}
        )
        image = output
    flat = graph.tensor("flat", DType.INT8, (1, rows * WIDTH), QUANTIZED)
    graph.operator("RESHAPE", [image, graph.constant("flat shape", np.array([1, rows * WIDTH], np.int32))], [flat])
    values = rng.integers(-127, 128, (WIDTH, rows * WIDTH)).astype(np.int8)
    y = graph.tensor("scores", DType.INT8, (1, WIDTH), QUANTIZED)
    graph.operator("FULLY_CONNECTED", [flat, graph.constant("weights", values, Quantization((0.01,), (0,))), -1], [y])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def scaled(rng: np.random.Generator) -> Model:
    """float32[1,4] times a number."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, y = (graph.tensor(name, DType.FLOAT32, (1, WIDTH)) for name in ("x", "scores"))
    graph.operator("MUL", [x, graph.constant("factor", np.float32(rng.integers(-8, 9) / 4))], [y])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


def summed(rng: np.random.Generator) -> Model:
    """float32[1,4] added to half of what a variable kept of the invokes before."""
    builder = ModelBuilder()
    graph, start = builder.subgraph("main"), builder.subgraph("start")
    first = rng.integers(-8, 9, (1, WIDTH)).astype(np.float32)
    handles = []
    for place in (graph, start):
        handles.append(place.tensor("handle", None, []))
    graph.operator("CALL_ONCE", [], [], {"init_subgraph_index": 1})
    for place, handle in zip((graph, start), handles, strict=True):
        place.operator("VAR_HANDLE", [], [handle], {"shared_name": "sum"})
    start.operator("ASSIGN_VARIABLE", [handles[1], start.constant("first", first)], [])
    x, old, half, y = (graph.tensor(name, DType.FLOAT32, (1, WIDTH)) for name in ("x", "old", "half", "scores"))
    graph.operator("READ_VARIABLE", [handles[0]], [old])
    graph.operator("MUL", [old, graph.constant("number", np.float32(0.5))], [half])
    graph.operator("ADD", [x, half], [y])
    graph.operator("ASSIGN_VARIABLE", [handles[0], y], [])
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


MODELS = {"dense": dense, "scaled": scaled, "summed": summed, "filtered": filtered}


@dataclass
class SimulatedStage:
    """One stage: settings as the file has them, and what it keeps."""

    name: str
    source: str
    table: Mapping[str, Any]
    model: Interpreter | None
    is_quantized: bool = False
    outputs: dict[str, Array] = field(default_factory=dict)
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
            stage = SimulatedStage(name, table["input"], table, Interpreter(model) if model else None)
            stage.outputs = {"scores": np.zeros((1, WIDTH), np.float32)}
            if model is not None:
                graph = model.subgraphs[0]
                stage.is_quantized = graph.tensors[graph.inputs[0]].dtype is DType.INT8
                if stage.is_quantized:
                    stage.outputs = {"scores": np.full((1, WIDTH), ZERO, np.int8)}
            if table.get("builtin") == "argmax":
                stage.outputs = {"index": np.zeros(1, np.int32), "value": np.zeros(1, np.float32)}
            if table.get("builtin") == "smooth":
                stage.outputs |= {"detected": np.full(1, -1, np.int32)}
                stage.since = max(1, int(table["hold"].split()[0]) // 10)
            if table.get("builtin") == "debounce":
                stage.outputs = {"value": np.full(1, -1, np.int32)}
            if "slide" in table:
                stage.window = np.full((1, ROWS, WIDTH), ZERO, np.int8)
            self.stages[name] = stage

    def step(self, inputs: Mapping[str, Array]) -> None:
        for stage in self.stages.values():
            self._step(stage, inputs)

    def _step(self, stage: SimulatedStage, inputs: Mapping[str, Array]) -> None:
        source, _, output = stage.source.partition(".")
        fresh = source in inputs or self.stages[source].ran
        value = inputs[source] if source in inputs else self._output(source, output)
        when = self._holds(str(stage.table.get("when", "")))
        if "hold" in stage.table:
            stage.since = min(stage.since + 1, max(1, int(stage.table["hold"].split()[0]) // 10))
        runs = fresh and when
        if stage.window is not None:
            if fresh:
                stage.window = np.concatenate([stage.window[:, 1:], _as_int8(value).reshape(1, 1, WIDTH)], 1)
                stage.pushes = min(stage.pushes + 1, ROWS)
            if stage.table.get("catch_up") == "restart" and not when:
                stage.pushes = 0
            value = stage.window
            runs = runs and stage.pushes == ROWS
        if stage.table.get("every", 1) > 1 and runs:
            runs = stage.seen == 0
            stage.seen = (stage.seen + 1) % stage.table["every"]
        stage.ran = runs
        if runs:
            stage.outputs = self._computed(stage, value)

    def _output(self, name: str, output: str) -> Array:
        outputs = self.stages[name].outputs
        return outputs[output] if output else next(iter(outputs.values()))

    def _computed(self, stage: SimulatedStage, value: Array) -> dict[str, Array]:
        if stage.model is not None:
            (result,) = stage.model.invoke(None, [_as_int8(value) if stage.is_quantized else _as_float(value)])
            return {"scores": result}
        kind, scores = stage.table["builtin"], _as_float(value).reshape(-1)
        if kind == "argmax":
            return {"index": np.array([scores.argmax()], np.int32), "value": scores[[scores.argmax()]]}
        if kind == "smooth":
            window = int(stage.table["window"])
            stage.history = [*stage.history, scores][-window:]
            mean = np.sum(stage.history, 0, dtype=np.float64) / window
            detects = (
                mean.max() >= stage.table["threshold"] and stage.since >= int(stage.table["hold"].split()[0]) // 10
            )
            stage.since = 0 if detects else stage.since
            detected = np.array([mean.argmax() if detects else -1], np.int32)
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


def random_application(seed: int, folder: Path) -> tuple[Path, dict[str, dict[str, Any]]]:
    """The path of a random application with its models, and its stages' tables."""
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    tables: dict[str, dict[str, Any]] = {}
    for number in range(choose.randint(2, 5)):
        name, sources = f"s{number}", ["x", "y"]
        sources += [f"{n}.scores" for n, t in tables.items() if t.get("builtin") not in ("argmax", "debounce")]
        indices = [f"{n}.index" for n, t in tables.items() if t.get("builtin") == "argmax"]
        kinds = [
            "dense",
            "scaled",
            "summed",
            "window",
            "filtered",
            "filtered",
            "argmax",
            "smooth",
            *(["debounce"] * 2 if indices else []),
        ]
        kind = choose.choice(kinds)
        table: dict[str, Any] = {"input": choose.choice(indices if kind == "debounce" else sources)}
        if kind == "window" or kind in MODELS:
            model = dense(rng, ROWS) if kind == "window" else MODELS[kind](rng)
            (folder / f"{name}.tflite").write_bytes(write_model(model))
            table["model"] = f"{name}.tflite"
        else:
            table["builtin"] = kind
        if kind in ("window", "filtered"):
            table |= {"slide": [1, 1], "catch_up": choose.choice(["keep", "restart"])}
        if kind == "window":
            table |= {"reuse": False}
        if kind == "smooth":
            table |= {
                "window": choose.randint(1, 3),
                "threshold": choose.randint(-4, 8) / 2,
                "hold": f"{choose.randint(1, 4)}0 ms",
            }
        if kind == "debounce":
            table |= {"count": choose.randint(1, 3)}
        if tables and choose.random() < 0.6:
            table["when"] = _random_condition(choose, tables)
        if choose.random() < 0.3:
            table["every"] = choose.randint(2, 3)
        tables[name] = table
    tables["s9"] = {"input": "y", "builtin": "argmax"}
    tables["s8"] = {"input": "x", "builtin": "argmax"}
    path = folder / "app.toml"
    path.write_text(_text(tables))
    return path, tables


def _random_condition(choose: random.Random, tables: Mapping[str, Mapping[str, Any]]) -> str:
    def comparison() -> str:
        name = choose.choice(list(tables))
        if choose.random() < 0.2:
            return f"{name}.ran"
        output = {"argmax": "index", "debounce": "value"}.get(tables[name].get("builtin", ""), "scores")
        place = choose.randrange(WIDTH) if output == "scores" else 0
        number = choose.randint(0, 3) if output != "scores" else choose.randint(-8, 8) / 4 + 0.0625
        return f"{name}.{output}[{place}] {choose.choice(['>', '>=', '<', '<=', '!='])} {number}"

    text = comparison()
    for _ in range(choose.randint(0, 2)):
        text = f"{choose.choice(['', 'not '])}({text}) {choose.choice(['and', 'or'])} {comparison()}"
    return text


def _text(tables: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["outputs = [" + ", ".join(f'"{name}"' for name in output_names(tables)) + "]"]
    for name, dtype in (("x", "int8"), ("y", "float32")):
        lines += [f"[input.{name}]", 'period = "10 ms"', f'type = "{dtype}"', f"shape = [1, {WIDTH}]"]
        lines += [f"scale = {SCALE}", f"zero_point = {ZERO}"] if dtype == "int8" else []
    for name, table in tables.items():
        lines += [f"[stage.{name}]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def output_names(tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
    names = []
    for name, table in tables.items():
        kinds = {"argmax": ["index", "value"], "smooth": ["scores", "detected"], "debounce": ["value"]}
        names += [f"{name}.{output}" for output in kinds.get(table.get("builtin", ""), ["scores"])]
    return names


def expected_outputs(stages: SimulatedApplication, names: Sequence[str]) -> list[Array]:
    return [stages.stages[name.partition(".")[0]].outputs[name.partition(".")[2]] for name in names]
