"""STABLEHLO_WHILE is a WHILE by another name, and a composite a call of its decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from support.model_writer import ModelWriter
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.text import module_text


def counting_model(operator: str) -> bytes:
    """Doubles x, int32[4], three times."""
    w = ModelWriter()
    g = w.subgraph("main")
    x, zero = g.tensor("x", "int32", [4]), g.constant("zero", np.array([0], np.int32))
    last, y = g.tensor("last", "int32", [1]), g.tensor("y", "int32", [4])
    g.operator(operator, [zero, x], [last, y], {"cond_subgraph_index": 1, "body_subgraph_index": 2})
    g.inputs, g.outputs = [x], [y]
    c = w.subgraph("condition")
    c.inputs = [c.tensor("i", "int32", [1]), c.tensor("x", "int32", [4])]
    c.outputs = [c.tensor("more", "bool", [1])]
    c.operator("LESS", [c.inputs[0], c.constant("three", np.array([3], np.int32))], c.outputs)
    b = w.subgraph("body")
    b.inputs = [b.tensor("i", "int32", [1]), b.tensor("x", "int32", [4])]
    b.outputs = [b.tensor("j", "int32", [1]), b.tensor("y", "int32", [4])]
    b.operator("ADD", [b.inputs[0], b.constant("one", np.array([1], np.int32))], b.outputs[:1])
    b.operator("ADD", [b.inputs[1], b.inputs[1]], b.outputs[1:])
    return w.finish()


def test_while_by_either_name() -> None:
    texts = [
        module_text(import_model(parse_model(counting_model(name), "m.tflite")))
        for name in ("WHILE", "STABLEHLO_WHILE")
    ]
    assert texts[0] == texts[1]
    assert "while (" in texts[0]


@pytest.mark.parametrize("operator", ["CALL", "STABLEHLO_COMPOSITE"])
def test_a_composite_is_a_call(operator: str) -> None:
    w = ModelWriter()
    g = w.subgraph("main")
    g.inputs, g.outputs = [g.tensor("x", "int32", [2])], [g.tensor("y", "int32", [2])]
    key = "subgraph" if operator == "CALL" else "decomposition_subgraph_index"
    g.operator(operator, g.inputs, g.outputs, {key: 1})
    d = w.subgraph("twice")
    d.inputs, d.outputs = [d.tensor("a", "int32", [2])], [d.tensor("b", "int32", [2])]
    d.operator("ADD", [*d.inputs, *d.inputs], d.outputs)
    text = module_text(import_model(parse_model(w.finish(), "m.tflite")))
    assert "= call twice(" in text
