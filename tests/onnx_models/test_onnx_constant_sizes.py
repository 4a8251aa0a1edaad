"""A constant of more than 64 MB that a file of some bytes asks for is refused by its node, before it is made."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper
from tflmgen.errors import ModelError
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite
from tflmgen.frontend.onnx.layout_graph import LARGEST_CONSTANT

Array = np.ndarray[Any, Any]


def _ints(*values: int) -> Array:
    return np.array(values, np.int64)


def _row(*shape: int) -> Array:
    return np.ones(shape, np.float32)


CASES: Mapping[str, tuple[Sequence[Array | None], Mapping[str, Any]]] = {
    "ConstantOfShape": ([_ints(16384, 16384)], {}),
    "Expand": ([_row(1), _ints(2**20, 2**20)], {}),
    "Tile": ([_row(64), _ints(2**30)], {}),
    "Range": ([_ints(0)[0], _ints(2**40)[0], _ints(1)[0]], {}),
    "Pad": ([_row(4), _ints(2**40, 0)], {}),
    "Resize": ([_row(1, 1, 4, 4), None, None, _ints(1, 1, 2**15, 2**15)], {}),
    "Upsample": ([_row(1, 1, 4, 4), np.array([1, 1, 9999, 9999], np.float32)], {}),
    "Gather": ([_row(4, 1000), np.zeros(2**15, np.int64)], {}),
    "GatherND": ([_row(2, 4096), np.zeros((2**14, 1), np.int64)], {}),
    "OneHot": ([np.zeros(2**10, np.int64), _ints(2**30), np.array([0, 1], np.float32)], {}),
    "EyeLike": ([np.zeros((4096, 4096), np.uint8)], {"dtype": 11}),
    "Add": ([_row(2**13, 1), _row(1, 2**13)], {}),
    "MatMul": ([_row(2**13, 1), _row(1, 2**13)], {}),
    "CenterCropPad": ([_row(4, 4), _ints(2**20, 2**20)], {}),
    "AffineGrid": ([_row(1, 2, 3), _ints(1, 1, 2**14, 2**14)], {}),
}


@pytest.mark.parametrize("op", CASES)
def test_a_large_constant_is_refused_by_node_before_it_is_made(op: str) -> None:
    arrays, attributes = CASES[op]
    names = ["" if array is None else f"c{k}" for k, array in enumerate(arrays)]
    initializers = [numpy_helper.from_array(np.asarray(a), n) for a, n in zip(arrays, names, strict=True) if n]
    node = helper.make_node(op, names, ["y"], "big", **attributes)
    outputs = [helper.make_empty_tensor_value_info("y")]
    graph = helper.make_graph([node], "g", [], outputs, initializers)
    version = 9 if op == "Upsample" else 20
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=9)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=rf"node 'big' \({op}\): (makes a constant of|is defined by)"):
            to_tflite(model, "m.onnx", OnnxOptions())
        assert tracemalloc.get_traced_memory()[1] < 4 * LARGEST_CONSTANT
    finally:
        tracemalloc.stop()


def test_a_lack_of_memory_is_an_error_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tflmgen.frontend.onnx.constant_nodes.check_results", fail)
    graph = helper.make_graph(
        [helper.make_node("Neg", ["c"], ["y"], "n")],
        "g",
        [],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(_row(2), "c")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    with pytest.raises(ModelError, match=r"node 'n' \(Neg\): makes constants that are too large"):
        to_tflite(model, "m.onnx", OnnxOptions())
