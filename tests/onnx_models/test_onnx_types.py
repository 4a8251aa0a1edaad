"""Types of floats that are computed in float32, and inputs with open dimensions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import tflmgen as api
from onnx import TensorProto, helper, numpy_helper
from tflmgen.errors import ModelError
from tflmgen.sources import read_source


def _scaled(path: Path, number: int, factor: float, shape: list[int | str]) -> Path:
    """Softmax of x + factor along the last axis, all in one type; x comes as float32."""
    dtype = helper.tensor_dtype_to_np_dtype(number)
    constant = numpy_helper.from_array(np.array([0, factor, 0, factor], dtype), "k")
    nodes = [
        helper.make_node("Cast", ["x"], ["d"], to=number),
        helper.make_node("Add", ["d", "k"], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"], axis=-1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [helper.make_tensor_value_info("y", number, shape)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [constant])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    return path


@pytest.mark.parametrize(
    ("number", "factor", "name"),
    [
        (TensorProto.FLOAT16, 0.5, "float16"),
        (TensorProto.DOUBLE, -1e300, "float64"),
        (TensorProto.DOUBLE, 2.0, "float64"),
    ],
)
def test_other_floats_are_computed_in_float32_and_a_note_says_so(
    number: int, factor: float, name: str, tmp_path: Path
) -> None:
    model = api.compile(_scaled(tmp_path / "m.onnx", number, factor, [1, 4]))
    assert f"its {name} values are computed in float32" in model.plan.notes
    x = np.array([[1, 2, 3, 4]], np.float32)
    sums = x.astype(np.float64) + np.array([0, factor, 0, factor])
    wanted = np.exp(sums - sums.max()) / np.exp(sums - sums.max()).sum()
    np.testing.assert_allclose(next(iter(model.run({"x": x}).values())), wanted, rtol=1e-3)


def test_an_open_first_dimension_alone_is_a_batch_of_1(tmp_path: Path) -> None:
    lowered = read_source(_scaled(tmp_path / "m.onnx", TensorProto.FLOAT16, 1.0, ["n", 4]))
    graph = lowered.subgraphs[0]
    assert graph.tensors[graph.inputs[0]].shape == (1, 4)
    assert "input 'x' has an open first dimension: its batch is 1" in lowered.notes


def test_other_open_dimensions_need_a_shape(tmp_path: Path) -> None:
    path = _scaled(tmp_path / "m.onnx", TensorProto.FLOAT, 1.0, ["n", "m"])
    with pytest.raises(ModelError, match=r"has dynamic dimensions \(n, m\)\. Give its shape, as --shape x=1,m"):
        read_source(path)
