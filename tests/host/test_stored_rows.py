"""A cache whose row is stored by masks, as a state of the model and in groups: the compiled C against NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tflmgen
from support.model_writer import ModelWriter
from support.tools import requires

pytestmark = requires("cc")

HEADS, PLACES, DEPTH = 2, 5, 3


def cache(folder: Path) -> Path:
    """y = old, but y[:, :, index] = row, as PyTorch's `cache[:, :, index] = row` converts."""
    w = ModelWriter()
    g = w.subgraph("main")
    shape, scattered = [1, HEADS, PLACES, DEPTH], [PLACES, 1, HEADS, DEPTH]
    old, index, row = (
        g.tensor("old", "float32", shape),
        g.tensor("index", "int32", [1, 1]),
        g.tensor("row", "float32", [1, 1, HEADS, DEPTH]),
    )
    ones, zero = g.constant("ones", np.ones([1, 1, HEADS, DEPTH], np.int32)), g.constant("zero", np.zeros([], np.int32))
    sizes, order = (
        g.constant("sizes", np.array(scattered, np.int32)),
        g.constant("order", np.array([1, 2, 0, 3], np.int32)),
    )
    marks, mask = g.tensor("marks", "int32", scattered), g.tensor("mask", "bool", scattered)
    spread, turned = g.tensor("spread", "float32", scattered), g.tensor("turned", "bool", shape)
    new, y = g.tensor("new", "float32", shape), g.tensor("y", "float32", shape)
    g.operator("SCATTER_ND", [index, ones, sizes], [marks])
    g.operator("NOT_EQUAL", [marks, zero], [mask])
    g.operator("SCATTER_ND", [index, row, sizes], [spread])
    g.operator("TRANSPOSE", [mask, order], [turned])
    g.operator("TRANSPOSE", [spread, order], [new])
    g.operator("SELECT_V2", [turned, new, old], [y])
    g.inputs, g.outputs = [old, index, row], [y]
    path = folder / "cache.tflite"
    path.write_bytes(w.finish())
    return path


def test_rows_of_each_group(tmp_path: Path) -> None:
    model = tflmgen.compile(cache(tmp_path), board="host")
    assert [operator.name for operator in model.plan.operators if operator.kernel] == ["ROW_STORE"]
    rng = np.random.default_rng(0)
    old = rng.normal(size=(1, HEADS, PLACES, DEPTH)).astype(np.float32)
    row = rng.normal(size=(1, 1, HEADS, DEPTH)).astype(np.float32)
    with model.session() as session:
        for index in range(-1, PLACES + 1):
            expected = old.copy()
            if 0 <= index < PLACES:
                expected[:, :, index] = row[0, 0]
            inputs = {"old": old, "index": np.array([[index]], np.int32), "row": row}
            np.testing.assert_array_equal(session.run(inputs)["y"], expected, str(index))
