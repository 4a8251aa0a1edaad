"""Random applications of small random models and built-ins, with random conditions and windows."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.frontend.tflite import Model, ModelBuilder, write_model
from tflmgen.ir import DType, Quantization

from support.application_simulation import ONE_VALUE, QUANTIZED, ROWS, SCALE, WIDTH, ZERO, output_names, outputs_of

Array = NDArray[Any]


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


def joined(rng: np.random.Generator) -> Model:
    """A number times float32[1,4], and the sum with another: two inputs, two outputs."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    x, other, y, total = (graph.tensor(name, DType.FLOAT32, (1, WIDTH)) for name in ("x", "other", "scores", "total"))
    graph.operator("MUL", [x, graph.constant("factor", np.float32(rng.integers(-8, 9) / 4))], [y])
    graph.operator("ADD", [y, other], [total])
    graph.inputs, graph.outputs = [x, other], [y, total]
    return builder.model()


def chosen(rng: np.random.Generator) -> Model:
    """float32[1,4] times one of two numbers: an IF on the first element."""
    builder = ModelBuilder()
    graph, branches = builder.subgraph("main"), [builder.subgraph(name) for name in ("then", "else")]
    for branch in branches:
        x, y = (branch.tensor(name, DType.FLOAT32, (1, WIDTH)) for name in ("x", "y"))
        branch.operator("MUL", [x, branch.constant("factor", np.float32(rng.integers(-8, 9) / 4))], [y])
        branch.inputs, branch.outputs = [x], [y]
    x, y = (graph.tensor(name, DType.FLOAT32, (1, WIDTH)) for name in ("x", "scores"))
    first, above = graph.tensor("first", DType.FLOAT32, (1, 1)), graph.tensor("above", DType.BOOL, (1, 1))
    begin, size = (graph.constant(name, np.array(cut, np.int32)) for name, cut in (("begin", (0, 0)), ("size", (1, 1))))
    graph.operator("SLICE", [x, begin, size], [first])
    graph.operator("GREATER", [first, graph.constant("limit", np.float32(0.0625))], [above])
    graph.operator("IF", [above, x], [y], {"then_subgraph_index": 1, "else_subgraph_index": 2})
    graph.inputs, graph.outputs = [x], [y]
    return builder.model()


MODELS = {
    "dense": dense,
    "scaled": scaled,
    "summed": summed,
    "filtered": filtered,
    "joined": joined,
    "chosen": chosen,
}
KINDS = ("dense", "scaled", "summed", "window", "filtered", "filtered", "joined", "chosen", "argmax", "smooth", "rms",
         "normalize")  # fmt: skip
"""Kinds of random stages, besides debounce."""


def random_application(seed: int, folder: Path) -> tuple[Path, dict[str, dict[str, Any]]]:
    """The path of a random application with its models, and its stages' tables."""
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    tables: dict[str, dict[str, Any]] = {}
    for number in range(choose.randint(2, 5)):
        name = f"s{number}"
        indices = [f"{n}.index" for n, t in tables.items() if t.get("builtin") == "argmax"]
        kind = choose.choice((*KINDS, *(["debounce"] * 2 if indices else [])))
        table = _random_stage(choose, kind, tables, indices)
        if kind == "window" or kind in MODELS:
            model = dense(rng, ROWS) if kind == "window" else MODELS[kind](rng)
            (folder / f"{name}.tflite").write_bytes(write_model(model))
            table["model"] = f"{name}.tflite"
        else:
            table["builtin"] = kind
        if tables and choose.random() < 0.6:
            table["when"] = _random_condition(choose, tables)
        if choose.random() < 0.3:
            # Of a model's seven rows, a run with six new ones saves nothing.
            every = choose.randint(2, 3)
            table["every"] = 2 if kind == "filtered" and table["slide"] == [1, 2] else every
        tables[name] = table
    for number, source in enumerate("xyz"):
        tables[f"s{9 - number}"] = {"input": [source], "builtin": "rms", "scale": 1}
    path = folder / "app.toml"
    path.write_text(_text(tables))
    return path, tables


def _random_stage(
    choose: random.Random, kind: str, tables: Mapping[str, Mapping[str, Any]], indices: Sequence[str]
) -> dict[str, Any]:
    """Inputs and settings of a stage of this kind."""
    sources = ["x", "y"]
    for name, other in tables.items():
        if other.get("builtin") != "normalize" or "slide" not in other:
            sources += [f"{name}.{output}" for output in outputs_of(other) if output not in ONE_VALUE]
    table: dict[str, Any] = {"input": [choose.choice(sources)]}
    if kind == "debounce":
        return {"input": [choose.choice(indices)], "count": choose.randint(1, 3)}
    if kind == "joined":
        table["input"] += [choose.choice(sources)]
    if kind in ("window", "filtered") or (kind in ("rms", "normalize") and choose.random() < 0.6):
        hop = choose.randint(1, 2)
        table["input"] = ["z"] if hop == 2 else table["input"]
        axis = 1 if kind in ("window", "filtered") else 0
        table |= {
            "slide": [axis, hop * (WIDTH if kind == "rms" else 1)],
            "catch_up": choose.choice(["keep", "restart"]),
        }
        if kind in ("rms", "normalize"):
            table["window"] = choose.randint(3, 5) * (WIDTH if kind == "rms" else 1)
    if kind == "window":
        table["reuse"] = False
    if kind == "rms":
        table["scale"] = choose.choice([1, -0.5])
    if kind == "normalize":
        table |= {"mean": [1, 0.5, -1, 0], "deviation": [choose.choice([1, 0.5, 4]) for _ in range(WIDTH)]}
    if kind == "smooth":
        table |= {"window": choose.randint(1, 3), "threshold": choose.randint(-4, 8) / 2}
        table |= {"hold": f"{choose.randint(1, 4)}0 ms", "ignore": choose.choice([[], [0], [1, 3]])}
    return table


def _random_condition(choose: random.Random, tables: Mapping[str, Mapping[str, Any]]) -> str:
    def comparison() -> str:
        name = choose.choice(list(tables))
        if choose.random() < 0.2:
            return f"{name}.ran"
        output = choose.choice(outputs_of(tables[name]))
        place = 0 if output in ONE_VALUE else choose.randrange(WIDTH)
        is_real = output not in ONE_VALUE or tables[name]["builtin"] in ("rms", "argmax")
        number = choose.randint(-8, 8) / 4 + 0.0625 if is_real and output != "index" else choose.randint(0, 3)
        return f"{name}.{output}[{place}] {choose.choice(['>', '>=', '<', '<=', '!='])} {number}"

    text = comparison()
    for _ in range(choose.randint(0, 2)):
        text = f"{choose.choice(['', 'not '])}({text}) {choose.choice(['and', 'or'])} {comparison()}"
    return text


def _text(tables: Mapping[str, Mapping[str, Any]]) -> str:
    lines = ["outputs = [" + ", ".join(f'"{name}"' for name in output_names(tables)) + "]"]
    for name, shape in INPUTS.items():
        dtype = "float32" if name == "y" else "int8"
        lines += [f"[input.{name}]", 'period = "10 ms"', f'type = "{dtype}"', f"shape = {list(shape)}"]
        lines += [f"scale = {SCALE}", f"zero_point = {ZERO}"] if dtype == "int8" else []
    for name, table in tables.items():
        lines += [f"[stage.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


INPUTS = {"x": (1, WIDTH), "y": (1, WIDTH), "z": (1, 2, WIDTH)}
"""Shapes of an application's inputs; y is float32, the others are int8."""


def random_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Inputs of one call, multiples of SCALE."""
    whole = {name: rng.integers(-40, 46, shape).astype(np.int8) for name, shape in INPUTS.items()}
    return {**whole, "y": (rng.integers(-40, 40, INPUTS["y"]) * SCALE).astype(np.float32)}
