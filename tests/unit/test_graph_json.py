"""`inspect --dump-graph --json`: the graph of the text form, as data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from support.case_models import model_bytes
from support.commands import tflmgen
from support.kernel_harness import Tensor, make_case, tensor
from support.repository import ROOT
from tflmgen.ir.types import BlockQuantization, DType, TensorType

SCHEMA = json.loads((ROOT / "schema" / "graph.json").read_text(encoding="utf-8"))


def nodes(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A block's nodes and those of their regions, in the order of the text."""
    for node in block["nodes"]:
        yield node
        for region in ("then", "else", "condition", "body"):
            if isinstance(node.get(region), dict):
                yield from nodes(node[region])


@pytest.mark.parametrize("model", sorted((ROOT / "examples").glob("*.tflite")), ids=lambda path: path.stem)
def test_it_is_the_graph_of_the_text(model: Path) -> None:
    finished = tflmgen("inspect", model, "--dump-graph", "--json")
    assert finished.code == 0, finished.err
    graph = finished.json
    jsonschema.validate(graph, SCHEMA)
    text = tflmgen("inspect", model, "--dump-graph").out
    described = [node for function in graph["functions"] for node in nodes(function["body"])]
    written = re.findall(r"^ +((?:[%]\d+: .*)?) = (\w+)\((.*?)\)(?: \{|$)", text, re.MULTILINE)
    listed = [(node["operator"], node["inputs"], node["outputs"]) for node in described if node["kind"] == "op"]
    assert [
        (operator, [None if name == "-" else name for name in inputs.split(", ") if name], re.findall(r"%\d+", outputs))
        for outputs, operator, inputs in written
        if operator != "call"
    ] == listed
    types = {value["name"]: value for value in graph["values"]}
    for name, dtype, shape in re.findall(r"(%\d+): (\w+)\[([\d,]*)\]", text):
        assert types[name]["dtype"] == dtype
        assert types[name]["shape"] == [int(dim) for dim in shape.split(",") if dim]
    used = {name for node in described for name in (*node.get("inputs", ()), *node["outputs"]) if name}
    assert used <= types.keys()


def test_it_holds_blocks_of_weights(tmp_path: Path) -> None:
    kind = TensorType(DType.INT4, (4, 4), None, BlockQuantization((0.5,) * 8, 2))
    layer = [tensor("float32", (1, 4)), Tensor(kind, np.ones((4, 4), np.int8))]
    model = tmp_path / "layer.tflite"
    model.write_bytes(model_bytes(make_case("FULLY_CONNECTED", layer, [tensor("float32", ())])))
    graph = tflmgen("inspect", model, "--dump-graph", "--json").json
    jsonschema.validate(graph, SCHEMA)
    assert [value["blocks"] for value in graph["values"] if "blocks" in value] == [{"scales": [0.5] * 8, "size": 2}]
    assert "8 scales by blocks of 2" in tflmgen("inspect", model, "--wide").out


def test_it_holds_control_flow_and_constants() -> None:
    graph = tflmgen("inspect", ROOT / "examples" / "gate.tflite", "--dump-graph", "--json").json
    kinds = [node["kind"] for function in graph["functions"] for node in nodes(function["body"])]
    assert "if" in kinds
    constants = [value for value in graph["values"] if value["constant"]]
    assert constants
    assert all(value["elements"] and value["name"].startswith("#") for value in constants)
    loop = tflmgen("inspect", ROOT / "examples" / "loop_8k.tflite", "--dump-graph", "--json").json
    assert "while" in [node["kind"] for function in loop["functions"] for node in nodes(function["body"])]
