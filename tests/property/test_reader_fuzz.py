"""Whatever the bytes, the reader returns a model or raises ModelError."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.model_writer import ModelWriter
from tflmgen.errors import ModelError
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.reader import parse_model


def seed_model() -> bytes:
    w = ModelWriter("seed")
    g = w.subgraph("main")
    w.subgraph("body")
    x = g.tensor("x", "int8", [1, 4, 4, 1], scale=[0.5], zero_point=[3], shape_signature=[-1, 4, 4, 1])
    c = g.constant("c", np.ones((2, 3, 3, 1), np.int8), scale=[0.25, 0.5], zero_point=[0, 0])
    y = g.tensor("y", "int8", [1, 4, 4, 2], scale=[0.5], zero_point=[-1])
    z = g.tensor("z", "int8", [1, 32], scale=[0.5], zero_point=[-1])
    g.operator("CONV_2D", [x, c, -1], [y], {"stride_w": 1, "stride_h": 1})
    g.operator("RESHAPE", [y], [z], {"new_shape": [1, 32]})
    g.operator("CALL", [], [], {"subgraph": 1})
    g.operator("CUSTOM:Foo", [z], [], custom_options=b"abc")
    g.operator("STABLEHLO_COMPOSITE", [], [], {"name": "n", "decomposition_subgraph_index": 1})
    g.inputs, g.outputs = [x], [z]
    w.signature("serving_default", {"x": x}, {"z": z})
    return w.finish()


SEED = seed_model()
WORDS = st.sampled_from([0, 1, 4, len(SEED), 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF])


def read(data: bytes) -> Model | None:
    try:
        return parse_model(data, "m.tflite")
    except ModelError:
        return None


def test_the_seed_is_a_model() -> None:
    assert read(SEED) is not None


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes(data: bytes) -> None:
    read(data)
    read(data[:4] + b"TFL3" + data[4:])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(SEED) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_flipped_bytes(changes: list[tuple[int, int]]) -> None:
    data = bytearray(SEED)
    for place, value in changes:
        data[place] = value
    check_indices(read(bytes(data)))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(SEED) // 4 - 1), WORDS), min_size=1, max_size=3))
def test_odd_words(changes: list[tuple[int, int]]) -> None:
    data = bytearray(SEED)
    for place, value in changes:
        data[4 * place : 4 * place + 4] = value.to_bytes(4, "little")
    check_indices(read(bytes(data)))


def check_indices(model: Model | None) -> None:
    """What the importer relies on."""
    for graph in model.subgraphs if model else ():
        tensors = range(len(graph.tensors))
        assert set(graph.inputs) | set(graph.outputs) <= set(tensors)
        written = {*graph.inputs, *(t.index for t in graph.tensors if t.data is not None or t.is_variable), -1}
        for op in graph.operators:
            assert set(op.inputs) <= written
            assert set(op.outputs) <= set(tensors)
            written.update(op.outputs)
        assert set(graph.outputs) <= written
