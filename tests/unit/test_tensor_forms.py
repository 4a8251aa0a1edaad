"""Complex tensors become pairs of floats; what cannot be computed on them is refused where it stands."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tflmgen.errors import ModelError
from tflmgen.frontend.tensor_forms import without_complex_tensors
from tflmgen.frontend.tflite.model import FileOperator, FileTensor, SubGraph
from tflmgen.frontend.tflite.problems import ProblemList
from tflmgen.ir import DType


def _complex(index: int, shape: tuple[int, ...]) -> FileTensor:
    return replace(FileTensor.added(index, f"t{index}", DType.FLOAT32, shape), dtype=None, type_name="complex64")


def _graph(length: int, name: str = "RFFT2D", rows: int = 1) -> SubGraph:
    """The magnitudes of the spectrum of one row, with an operator of this name in the place of the transform."""
    bins = length // 2 + 1
    tensors = (
        FileTensor.added(0, "x", DType.FLOAT32, (1, rows, length)),
        FileTensor.added(1, "lengths", DType.INT32, (2,), np.array([rows, length], np.int32).tobytes()),
        _complex(2, (1, rows, bins)),
        FileTensor.added(3, "y", DType.FLOAT32, (1, rows, bins)),
    )
    operators = (
        FileOperator(0, name, 1, (0, 1), (2,), {}, b"", ()),
        FileOperator(1, "COMPLEX_ABS", 1, (2,), (3,), {}, b"", ()),
    )
    return SubGraph(0, "main", tensors, (0,), (3,), operators)


def _with_operator(index: int, **changes: Any) -> SubGraph:
    graph = _graph(64)
    operators = tuple(replace(op, **changes) if op.index == index else op for op in graph.operators)
    return replace(graph, operators=operators)


def _with_tensor(index: int, **changes: Any) -> SubGraph:
    graph = _graph(64)
    return replace(graph, tensors=tuple(replace(t, **changes) if t.index == index else t for t in graph.tensors))


def _written(graph: SubGraph) -> SubGraph:
    problems = ProblemList("m.tflite")
    result = without_complex_tensors(graph, problems)
    problems.raise_if_any()
    return result


def test_a_spectrum_has_real_and_imaginary_parts_in_turn() -> None:
    graph = _written(_graph(64))
    assert [op.name for op in graph.operators] == ["CUSTOM:SignalRfft", "RESHAPE", "SQUARE", "SUM", "SQRT"]
    assert graph.tensors[2].shape == (1, 1, 66)
    assert all(tensor.dtype is not None for tensor in graph.tensors)


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (_graph(60), "transforms 1 rows of 60 samples"),
        (_graph(64, rows=2), "transforms 2 rows of 64 samples"),
        (_graph(64, "MUL"), "computes on complex numbers"),
        (_with_operator(0, inputs=(0,)), "requires an input and the lengths"),
        (_with_operator(0, inputs=(0, -1)), "computes on complex numbers"),
        (_with_tensor(1, shape=(3,)), "requires two constant lengths"),
        (_with_tensor(3, shape=(1, 1, 7)), "requires a complex input and an output of its shape"),
        (_with_tensor(2, data=b"1234"), "has contents of 4 bytes"),
        (replace(_graph(64), outputs=(2,)), "inputs and outputs of complex64 are not supported"),
    ],
)
def test_what_is_refused(graph: SubGraph, reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        _written(graph)
