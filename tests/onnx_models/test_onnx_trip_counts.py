"""Trip counts of an ONNX Loop that int32, the type of the counter here, cannot hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.onnx_quantized import exact_session
from tflmgen.frontend.onnx.onnx_file import read_onnx
from tflmgen.reference import Interpreter

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


@pytest.mark.parametrize("trips", [2**63 - 1, 2**32, 2**31 - 1, 3, 0, -1, -(2**32) + 4])
def test_a_constant_trip_count(trips: int, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(LOOP % trips)
    onnx.save(model, tmp_path / "loop.onnx")
    x = np.array([0.5, -1.25], np.float32)
    expected = exact_session(model).run(None, {"x": x})
    assert np.array_equal(Interpreter(read_onnx(tmp_path / "loop.onnx", {}, {}, False)).invoke(None, [x]), expected)
