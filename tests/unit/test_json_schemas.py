"""What --json prints has the schema that docs/use/commands.md names for it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from support.commands import tflmgen, write_adder
from support.onnx_models import branch
from support.repository import ROOT, page_named
from support.trained_model import dense_model
from tflmgen.frontend.tflite import write_model

GATE = ROOT / "examples" / "gate.tflite"
LSTM = ROOT / "examples" / "lstm_sequences.tflite"
VECTORS = ROOT / "examples" / "gate.npz"
PLUGIN = ROOT / "examples" / "erfinv" / "erfinv.py"
SETS = ("--vectors", VECTORS)

COMMANDS: dict[str, tuple[str, tuple[object, ...]]] = {
    "boards": ("boards", ("boards",)),
    "operators": ("operators", ("operators", "--plugin", PLUGIN)),
    "fit": ("fit", ("fit", GATE, "--boards", "microbit,host")),
    "pareto": ("pareto", ("inspect", GATE, "--pareto")),
    "pareto without control flow": ("pareto", ("inspect", LSTM, "--pareto", "--board", "mps2_an386")),
    "run": ("run", ("run", GATE, "--board", "host", "--inputs", VECTORS, "--outputs", "out.npz")),
    "test": ("test", ("test", GATE, "--board", "host", *SETS)),
    "quantize": ("quantize", ("quantize", "adder.tflite", "--calibration", "calibration.npz")),
    "convert": ("convert", ("convert", "branch.onnx")),
    "train": ("train", ("train", "dense.tflite", "--loss", "mse")),
    "test, wrong": ("test", ("test", "adder.tflite", "--board", "host", "--vectors", "wrong.npz")),
    "test without vectors": ("test", ("test", "adder.tflite", "--board", "host")),
    "accuracy": ("accuracy", ("accuracy", GATE, "--inputs", "frames.npz", "--labels-of", "classes")),
    "layers": ("test_layers", ("test", "adder.tflite", "--layers", "--board", "host")),
}


def schema_of(name: str) -> Any:
    return json.loads(files("tflmgen.schema").joinpath(f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def _working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a model, and with vectors of which one element is a number and not to be, and one NaN."""
    monkeypatch.chdir(tmp_path)
    write_adder(tmp_path / "adder.tflite")
    branch(tmp_path / "branch.onnx")
    (tmp_path / "dense.tflite").write_bytes(write_model(dense_model()))
    x = np.array([[1, 2, 3, 4]], np.float32)
    np.savez("calibration.npz", s0_in_0=x, s0_in_1=-x, s1_in_0=-x, s1_in_1=x)
    frames = np.random.default_rng(0).integers(-128, 128, (4, 1, 16, 16, 1)).astype(np.int8)
    np.savez("frames.npz", frame=frames, classes=np.arange(4))
    np.savez("wrong.npz", s0_in_0=x, s0_in_1=x, s0_out_0=np.array([[2, 4.5, np.nan, 8]], np.float32))


@pytest.mark.parametrize("case", COMMANDS)
def test_output_has_its_schema(case: str) -> None:
    name, words = COMMANDS[case]
    finished = tflmgen(*words, "--json")
    assert finished.code == int("wrong" in case), finished.err
    schema = schema_of(name)
    jsonschema.Draft202012Validator(schema).validate(finished.json)
    assert json.loads(finished.out, parse_constant=pytest.fail) == finished.json  # NaN and Infinity are no JSON


@pytest.mark.parametrize("name", sorted({name for name, _ in COMMANDS.values()}))
def test_schemas_take_neither_less_nor_more(name: str) -> None:
    """Each property of an object is required, and no other is allowed."""

    def objects(schema: Any) -> list[Any]:
        parts = [schema] if "properties" in schema else []
        below = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
        return [*parts, *(schema for part in below for schema in objects(part))]

    schemas = objects(schema_of(name))
    assert schemas
    for schema in schemas:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])


def test_a_difference_of_layers_has_its_schema() -> None:
    first: Any = dict.fromkeys(("subgraph", "operator", "wrong", "elements"), 1)
    first |= dict.fromkeys(("subgraph_name", "operator_name", "tensor", "expected", "actual"), "a")
    first |= {"iterations": [0], "index": [0, 1]}
    set_report = {"set": "0", "reference": "TFLite Micro", "compared": 1, "shown": 2, "first": first}
    report = {
        "model": "m",
        "board": "b",
        "emulator": "QEMU",
        "why_not_tflm": None,
        "sets": [set_report],
        "passed": False,
    }
    jsonschema.validate(report, schema_of("test_layers"))


def test_the_page_names_every_schema() -> None:
    page = page_named("commands").read_text(encoding="utf-8")
    named = set(re.findall(r"\(\.\./\.\./schema/(\w+)\.json\)", page))
    assert named == {path.stem for path in (ROOT / "schema").glob("*.json")}
