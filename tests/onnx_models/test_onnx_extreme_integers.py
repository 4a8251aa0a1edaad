"""Integers of ONNX models that int32 cannot hold: trip counts of Loop, and bounds and steps of Slice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from support.onnx_quantized import exact_session
from tflmgen.frontend.onnx.onnx_file import read_onnx
from tflmgen.reference import Interpreter

LEAST, GREATEST = -(2**63), 2**63 - 1
LOOP = """
<ir_version: 8, opset_import: ["": 17]>
net (float[2] x) => (float[2] y)
<int64 trips = {%d}, bool first = {1}, float[1] step = {1.0}, float limit = {9.0}>
{
  y = Loop (trips, first, x) <body = body (int64 i, bool go, float[2] v) => (bool on, float[2] w) {
    w = Add(v, step)
    largest = ReduceMax<keepdims=0>(w)
    on = Less(largest, limit)
  }>
}
"""
SLICE = """
<ir_version: 8, opset_import: ["": 13]>
net (float[2,5] x) => (float[a,b] y)
<int64[1] start = {%d}, int64[1] end = {%d}, int64[1] axis = {1}, int64[1] step = {%d}>
{ y = Slice(x, start, end, axis, step) }
"""


def _equals_onnx_runtime(text: str, x: NDArray[Any], path: Path) -> None:
    model = onnx.parser.parse_model(text)
    onnx.save(model, path)
    expected = exact_session(model).run(None, {"x": x})
    (actual,) = Interpreter(read_onnx(path, {}, {}, False)).invoke(None, [x])
    assert np.array_equal(actual, expected[0])


@pytest.mark.parametrize("trips", [GREATEST, 2**32, 2**31 - 1, 3, 0, -1, -(2**32) + 4])
def test_a_constant_trip_count(trips: int, tmp_path: Path) -> None:
    _equals_onnx_runtime(LOOP % trips, np.array([0.5, -1.25], np.float32), tmp_path / "loop.onnx")


@pytest.mark.parametrize(
    "bounds",
    [(1, GREATEST, GREATEST), (GREATEST, LEAST, -1), (LEAST, GREATEST, 2), (3, LEAST, LEAST + 1), (0, 9, 2**31)],
)
def test_a_slice(bounds: tuple[int, int, int], tmp_path: Path) -> None:
    _equals_onnx_runtime(SLICE % bounds, np.arange(10, dtype=np.float32).reshape(2, 5), tmp_path / "slice.onnx")
