from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dynamic_models import one_graph, open_tensor
from support.model_writer import SubgraphWriter
from tflmgen.frontend.shape_bounds import Shape, TensorKey
from tflmgen.input_sets.input_bounds import shapes_of_inputs


def _model(g: SubgraphWriter) -> None:
    x, y, out = (open_tensor(g, name, "float32", [2]) for name in ("x", "y", "out"))
    g.operator("ADD", [x, y], [out])
    g.inputs, g.outputs = [x, y], [out]


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ({"x": (1, 2), "y": (1, 2)}, {}),
        ({"x": (4, 2), "y": (1, 2)}, {(0, 0): (4, 2)}),
        (
            {"s0_in_0": (1, 2), "s1_in_0": (3, 2), "s0_in_1": (5, 2), "s1_in_1": (2, 2)},
            {(0, 0): (3, 2), (0, 1): (5, 2)},
        ),
        ({"x": (0, 2)}, {(0, 0): (1, 2)}),
        ({"x": (4,), "z": (4, 2), "s0_in_7": (4, 2)}, {}),
    ],
)
def test_shapes(shapes: dict[str, tuple[int, ...]], expected: dict[TensorKey, Shape], tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(one_graph(_model))
    arrays: dict[str, Any] = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    np.savez(tmp_path / "in.npz", **arrays)
    assert shapes_of_inputs(tmp_path / "m.tflite", tmp_path / "in.npz", None) == expected


def test_dimensions_of_any_axis(tmp_path: Path) -> None:
    """Of each open dimension the largest; a fixed one stays what it is in the file, also where it is empty."""

    def build(g: SubgraphWriter) -> None:
        x, y = (g.tensor(name, "float32", [1, 2, 1, 0], shape_signature=[-1, 2, -1, 0]) for name in "xy")
        g.operator("NEG", [x], [y])
        g.inputs, g.outputs = [x], [y]

    (tmp_path / "m.tflite").write_bytes(one_graph(build))
    np.savez(tmp_path / "in.npz", s0_in_0=np.zeros((3, 2, 1, 0)), s1_in_0=np.zeros((1, 2, 4, 0)))
    assert shapes_of_inputs(tmp_path / "m.tflite", tmp_path / "in.npz", None) == {(0, 0): (3, 2, 4, 0)}
