"""What ONNX Runtime's quantize_dynamic writes: codes of weights, and activations quantised by the range they have."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from support.random_onnx_compare import compare_model

RNG = np.random.default_rng(8)


def _weights(*shape: int) -> np.ndarray[Any, Any]:
    return (RNG.standard_normal(shape) * 0.4).astype(np.float32)


LAYERS: dict[str, tuple[str, dict[str, Any], tuple[int, ...], list[np.ndarray[Any, Any]]]] = {
    "LSTM": ("LSTM", {"hidden_size": 4}, (6, 1, 3), [_weights(1, 16, 3), _weights(1, 16, 4), _weights(1, 32)]),
    "LSTM, both ways": (
        "LSTM",
        {"hidden_size": 4, "direction": "bidirectional"},
        (6, 1, 3),
        [_weights(2, 16, 3), _weights(2, 16, 4), _weights(2, 32)],
    ),
    "MatMul": ("MatMul", {}, (1, 4, 8), [_weights(8, 5)]),
    "Gemm": ("Gemm", {"transB": 1}, (2, 8), [_weights(5, 8), _weights(5)]),
    "Conv": ("Conv", {"pads": [1] * 4}, (1, 3, 6, 6), [_weights(4, 3, 3, 3), _weights(4)]),
}


@pytest.mark.parametrize("kind", [QuantType.QInt8, QuantType.QUInt8])
@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_equals_onnx_runtime(layer: str, kind: QuantType, tmp_path: Path) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    op, attributes, shape, arrays = LAYERS[layer]
    names = [f"w{k}" for k in range(len(arrays))]
    node = helper.make_node(op, ["x", *names], ["y"], **attributes)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    known = [numpy_helper.from_array(array, name) for name, array in zip(names, arrays, strict=True)]
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")], known)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(onnx.shape_inference.infer_shapes(model), tmp_path / "m.onnx")
    for per_channel in (False, True):
        # With weights of 8 bits ONNX Runtime's products saturate on processors without VNNI.
        quantize_dynamic(
            tmp_path / "m.onnx", tmp_path / "q.onnx", per_channel=per_channel, reduce_range=True, weight_type=kind
        )
        x = np.random.default_rng(9).standard_normal(shape).astype(np.float32)
        assert compare_model(onnx.load(tmp_path / "q.onnx"), {"x": x}) == ("equal", "")
