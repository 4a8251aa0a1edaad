"""Every ONNX operator, at each version from 7 on, with random attributes and shapes, equals ONNX Runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from support.random_onnx_compare import OPERATORS, compare, compare_model
from support.random_onnx_nodes import random_graph, versions_of
from tflmgen.errors import ModelError
from tflmgen.frontend.onnx.all_lowerings import LOWERINGS
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite
from tflmgen.frontend.onnx.node import OnnxNode

SEEDS = 35
"""Graphs of each operator in the sweep: 5,000 in all."""
ELSEWHERE = {
    "control flow, in test_onnx_programs.py": "If Loop Scan",
    "results of a size that the data have, in test_onnx_detection.py and test_onnx_rows.py": (
        "NonMaxSuppression NonZero Unique"
    ),
    "requantisation, in test_onnx_quantized.py": "QLinearConv QLinearMatMul",
    "drawn beside SequenceAt": "SequenceConstruct SequenceEmpty",
    "versions that ONNX Runtime does not know": "CumProd Silu Swish TensorScatter",
}


def test_each_operator_with_a_lowering_is_drawn_or_tested_elsewhere() -> None:
    named = {name for names in ELSEWHERE.values() for name in names.split()}
    assert {name for name in LOWERINGS if "." not in name} - set(OPERATORS) == named


@pytest.mark.parametrize("op", OPERATORS)
def test_a_sample_equals_onnx_runtime(op: str) -> None:
    results = [compare(op, seed) for seed in (1, 2)]
    assert not [text for kind, text in results if kind in ("wrong", "refused")]


@pytest.mark.sweep
@pytest.mark.parametrize("op", OPERATORS)
def test_random_graphs_equal_onnx_runtime(op: str) -> None:
    results = [compare(op, seed) for seed in range(SEEDS)]
    assert not [text for kind, text in results if kind in ("wrong", "refused")]
    assert sum(kind == "equal" for kind, _ in results) >= SEEDS // 2


RENAMED = {"bilinear": "linear"}
"""Modes of GridSample by their names from version 20 on."""


def test_attributes_that_are_left_out_have_onnxs_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever defaults the lowerings of random graphs ask for, drawn or not."""
    stored, asked, wrong = OnnxNode.attribute, set(), set()

    def attribute(node: OnnxNode, name: str, default: Any = None) -> Any:
        with contextlib.suppress(onnx.defs.SchemaError):
            entry = onnx.defs.get_schema(node.op, node.version, node.proto.domain).attributes.get(name)
            if default is not None and entry is not None and entry.default_value.type:
                value = helper.get_attribute_value(entry.default_value)
                value = RENAMED.get(value.decode(), value.decode()) if isinstance(value, bytes) else value
                asked.add((node.op, name))
                if not np.allclose(value, default) if isinstance(value, float) else value != default:
                    wrong.add((node.op, name, default, value))
        return stored(node, name, default)

    monkeypatch.setattr(OnnxNode, "attribute", attribute)
    for op in OPERATORS:
        for seed in range(3):
            with contextlib.suppress(ModelError):
                to_tflite(random_graph(op, seed)[0], "m.onnx", OnnxOptions())
    assert not wrong
    assert {("LeakyRelu", "alpha"), ("Gemm", "transB")} <= asked


def test_the_versions_of_an_operator_are_all_drawn() -> None:
    drawn = {random_graph("Resize", seed)[0].opset_import[0].version for seed in range(60)}
    assert {10} < drawn <= set(versions_of("Resize"))


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


CORNERS: Mapping[str, tuple[int, tuple[str, int, Mapping[str, Any]], list[np.ndarray[Any, Any]]]] = {
    "no sign asked for": (20, ("IsInf", 1, {"detect_negative": 0, "detect_positive": 0}), [_floats(4)]),
    "a start before the axis, backwards": (
        13,
        ("Slice", 1, {}),
        [_floats(5, 2), *(np.array([k], np.int64) for k in (-6, -9, 0, -2))],
    ),
    "one pixel of PyTorch's": (
        20,
        (
            "Resize",
            1,
            {
                "mode": "cubic",
                "antialias": 1,
                "exclude_outside": 1,
                "coordinate_transformation_mode": "pytorch_half_pixel",
            },
        ),
        [_floats(1, 1, 4, 2), None, np.array([1, 1, 1, 0.7], np.float32)],  # type: ignore[list-item]
    ),
    "corners of no whole length": (
        19,
        ("Resize", 1, {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
        [_floats(1, 1, 7, 7), None, np.array([1, 1, 0.33, 0.33], np.float32)],  # type: ignore[list-item]
    ),
    "Resize of version 10": (10, ("Resize", 1, {}), [_floats(1, 1, 2, 2), np.array([1, 1, 2, 2], np.float32)]),
    "TopK of version 9": (9, ("TopK", 2, {"k": 2, "axis": 1}), [_floats(1, 5)]),
    "Upsample of version 7": (7, ("Upsample", 1, {"scales": [1.0, 1.0, 2.0, 3.0]}), [_floats(1, 1, 2, 2)]),
    "a grid of batch 1": (20, ("AffineGrid", 1, {}), [_floats(1, 2, 3), np.array([1, 1, 3, 2], np.int64)]),
    "a float32 product of sizes": (9, ("Upsample", 1, {}), [_floats(1, 1, 5, 5), np.array([1, 1, 2.6, 2], np.float32)]),
}


@pytest.mark.parametrize("name", CORNERS)
def test_a_corner_is_onnx_runtimes(name: str) -> None:
    version, (op, count, attributes), arrays = CORNERS[name]
    names = ["" if array is None else f"x{k}" for k, array in enumerate(arrays)]
    node = helper.make_node(op, names, [f"y{k}" for k in range(count)], **attributes)
    known = [numpy_helper.from_array(array, name) for array, name in zip(arrays[1:], names[1:], strict=True) if name]
    inputs = [helper.make_tensor_value_info("x0", onnx.TensorProto.FLOAT, arrays[0].shape)]
    outputs = [helper.make_empty_tensor_value_info(output) for output in node.output]
    graph = helper.make_graph([node], "corner", inputs, outputs, known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    assert compare_model(onnx.shape_inference.infer_shapes(model), {"x0": arrays[0]}) == ("equal", "")


def test_an_error_within_a_definition_names_the_node_of_the_model() -> None:
    """MeanVarianceNormalization is lowered by ONNX's definition, whose ReduceMean cannot have this axis."""
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], "norm", axes=[7])
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, (1, 2, 3))]
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    with pytest.raises(ModelError, match=r"node 'norm' .* is defined by ReduceMean, which has axis 7"):
        to_tflite(model, "m.onnx", OnnxOptions())
