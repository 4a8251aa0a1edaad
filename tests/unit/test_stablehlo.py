"""STABLEHLO_WHILE is a WHILE by another name, and a composite a call of its decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from support.litert import run_litert_model
from support.model_writer import ModelWriter
from tflmgen.errors import ModelError
from tflmgen.frontend.importer import import_model
from tflmgen.frontend.tflite.reader import parse_model
from tflmgen.ir.text import module_text
from tflmgen.reference import Interpreter


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


@pytest.mark.parametrize(
    ("low", "high", "interior"),
    [
        ([1, 0], [0, 2], [0, 0]),
        ([0, 1], [1, 0], [2, 1]),
        ([-1, 0], [0, -2], [0, 0]),
        ([-2, 3], [2, -1], [1, 0]),
        ([0, 0], [0, 0], [0, 3]),
    ],
)
def test_pads_as_litert(low: list[int], high: list[int], interior: list[int]) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is the reference")
    data = padded_model(low, high, interior)
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    (expected,) = run_litert_model(data, [value])
    (got,) = Interpreter(parse_model(data, "m.tflite")).invoke(None, [value])
    np.testing.assert_array_equal(got, expected)


def padded_model(low: list[int], high: list[int], interior: list[int]) -> bytes:
    sizes = [n + (n - 1) * i + a + b for n, i, a, b in zip((3, 4), interior, low, high, strict=True)]
    w = ModelWriter()
    g = w.subgraph("main")
    g.inputs, g.outputs = [g.tensor("x", "float32", [3, 4])], [g.tensor("y", "float32", sizes)]
    options = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    g.operator("STABLEHLO_PAD", [*g.inputs, g.constant("number", np.array(-1, np.float32))], g.outputs, options)
    return bytes(w.finish())


@pytest.mark.parametrize(
    ("low", "interior"), [([1, 0], [0, -1]), ([-(1 << 40) + 1, 0], [1 << 39, 0]), ([-(1 << 31), 0], [1 << 30, 0])]
)
def test_a_pad_without_meaning_or_room_is_refused_by_name(low: list[int], interior: list[int]) -> None:
    data = padded_model(low, [0, 0], interior)
    with pytest.raises(ModelError, match="operator STABLEHLO_PAD is not supported"):
        import_model(parse_model(data, "m.tflite"))


@pytest.mark.parametrize("operator", ["ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_arithmetic_as_litert(operator: str, dtype: str) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is the reference")
    w = ModelWriter()
    g = w.subgraph("main")
    g.inputs, g.outputs = [g.tensor(name, dtype, [2, 3]) for name in "ab"], [g.tensor("y", dtype, [2, 3])]
    g.operator(f"STABLEHLO_{operator}", g.inputs, g.outputs)
    data, rng = bytes(w.finish()), np.random.default_rng(1)
    values = [rng.integers(-9, 9, (2, 3)).astype(dtype) for _ in "ab"]
    (expected,) = run_litert_model(data, values)
    (got,) = Interpreter(parse_model(data, "m.tflite")).invoke(None, values)
    np.testing.assert_array_equal(got, expected)
