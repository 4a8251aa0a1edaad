"""SCATTER_ND by the reference: points that are all -1 are rows not in use, other places outside are errors."""

from __future__ import annotations

import numpy as np
import pytest
from tflmgen.frontend.tflite import ModelBuilder
from tflmgen.ir import DType
from tflmgen.reference import Interpreter, RunTimeError


def scattered(points: list[list[int]]) -> list[list[float]]:
    """1, 2, ... at points of a matrix of 2 by 3."""
    builder = ModelBuilder()
    graph = builder.subgraph("main")
    indices = graph.tensor("indices", DType.INT32, (len(points), 2))
    updates = graph.constant("updates", np.arange(1, len(points) + 1, dtype=np.float32))
    y = graph.tensor("y", DType.FLOAT32, (2, 3))
    graph.operator("SCATTER_ND", [indices, updates, graph.constant("shape", np.array([2, 3], np.int32))], [y])
    graph.inputs, graph.outputs = [indices], [y]
    rows: list[list[float]] = Interpreter(builder.model()).invoke(None, [np.array(points, np.int32)])[0].tolist()
    return rows


def test_rows_not_in_use_go_nowhere() -> None:
    assert scattered([[1, 2], [-1, -1], [0, 0]]) == [[3, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("point", [[0, 3], [2, 0], [0, -1], [-2, -2]])
def test_other_places_outside_are_errors(point: list[int]) -> None:
    with pytest.raises(RunTimeError):
        scattered([[0, 0], point])
