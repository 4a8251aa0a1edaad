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


BATCH, SEQUENCE, HIDDEN, HEADS, PAST = 2, 5, 8, 2, 3
MASKS: dict[str, np.ndarray[Any, Any] | None] = {
    "none": None,
    "ends": np.array([3, 5]),
    "ends and beginnings": np.array([4, 5, 1, 0]),
    "raw": np.array([[1, 1, 0, 1, 0], [0, 1, 1, 1, 1]]),
    "raw of each row": (np.arange(BATCH * SEQUENCE * SEQUENCE) % 3 > 0).reshape(BATCH, SEQUENCE, SEQUENCE),
}


def _attention_model(mask: str, has_past: bool, **attributes: Any) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A model of com.microsoft's Attention, and its inputs."""
    rng = np.random.default_rng(10)
    known = {"w": _weights(HIDDEN, 3 * HIDDEN), "b": _weights(3 * HIDDEN)}
    feeds = {"x": rng.standard_normal((BATCH, SEQUENCE, HIDDEN)).astype(np.float32)}
    total = SEQUENCE
    if has_past:
        feeds["past"] = rng.standard_normal((2, BATCH, HEADS, PAST, HIDDEN // HEADS)).astype(np.float32)
        total += PAST
    if (own := MASKS[mask]) is not None:
        widths = [(0, 0)] * (own.ndim - 1) + [(PAST, 0)] if has_past and own.ndim > 1 else [(0, 0)] * own.ndim
        known["m"] = np.pad(own, widths, constant_values=1).astype(np.int32)
    names = ["x", "w", "b", "m" if "m" in known else "", "past" if has_past else ""]
    results = {"y": [BATCH, SEQUENCE, HIDDEN], "present": [2, BATCH, HEADS, total, HIDDEN // HEADS]}
    node = helper.make_node(
        "Attention", names, list(results), domain="com.microsoft", num_heads=HEADS, name="a", **attributes
    )
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in side.items()]
        for side in ({name: array.shape for name, array in feeds.items()}, results)
    )
    tensors = [numpy_helper.from_array(array, name) for name, array in known.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "g", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


@pytest.mark.parametrize(
    ("mask", "has_past", "attributes"),
    [
        *((mask, False, {}) for mask in MASKS),
        ("raw", True, {"unidirectional": 1}),
        ("ends", False, {"unidirectional": 1, "scale": 0.25, "mask_filter_value": -3.0}),
    ],
)
def test_attention_equals_onnx_runtime(mask: str, has_past: bool, attributes: dict[str, Any], tmp_path: Path) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    model, feeds = _attention_model(mask, has_past, **attributes)
    assert compare_model(model, feeds) == ("equal", "")
    onnx.save(model, tmp_path / "m.onnx")
    for kind, per_channel in ((QuantType.QInt8, True), (QuantType.QUInt8, False)):
        quantize_dynamic(
            tmp_path / "m.onnx", tmp_path / "q.onnx", per_channel=per_channel, reduce_range=True, weight_type=kind
        )
        quantised = onnx.load(tmp_path / "q.onnx")
        assert "QAttention" in {node.op_type for node in quantised.graph.node}
        assert compare_model(quantised, feeds) == ("equal", "")


def _block(rng: np.random.Generator) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A block of a transformer as ONNX Runtime's optimiser writes it, with all its operators, and its inputs."""
    known = {
        **{name: _weights(rows, HIDDEN) for name, rows in (("words", 11), ("places", SEQUENCE), ("kinds", 2))},
        **{name: _weights(HIDDEN) for name in ("g", "b", "bias", "g2")},
        "w": _weights(HIDDEN, 3 * HIDDEN),
        "wb": _weights(3 * HIDDEN),
        "w2": _weights(HIDDEN, HIDDEN),
    }
    feeds = {
        "ids": rng.integers(0, 11, (BATCH, SEQUENCE), np.int32),
        "segments": rng.integers(0, 2, (BATCH, SEQUENCE), np.int32),
        "mask": (np.arange(SEQUENCE) < np.array([[3], [5]])).astype(np.int32),
    }

    def node(op: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
        domain = "" if op == "MatMul" else "com.microsoft"
        return helper.make_node(op, inputs.split(","), outputs.split(","), domain=domain, name=outputs, **attributes)

    nodes = [
        node("EmbedLayerNormalization", "ids,segments,words,places,kinds,g,b,mask", "x,ends", epsilon=1e-5),
        node("Attention", "x,w,wb,ends", "a", num_heads=HEADS),
        node("SkipLayerNormalization", "a,x,g,b,bias", "s,,,sum", epsilon=1e-5),
        node("MatMul", "s,w2", "m"),
        *(node("BiasGelu", "m,bias", "u"), node("FastGelu", "u,bias", "v"), node("QuickGelu", "v", "q")),
        *(node("Gelu", "q", "e"), node("SkipLayerNormalization", "e,sum,g2", "y")),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT32, array.shape) for name, array in feeds.items()]
    output = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [BATCH, SEQUENCE, HIDDEN])]
    tensors = [numpy_helper.from_array(array, name) for name, array in known.items()]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(nodes, "g", inputs, output, tensors)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), feeds


def test_an_optimised_transformer_equals_onnx_runtime(tmp_path: Path) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    model, feeds = _block(np.random.default_rng(11))
    assert compare_model(model, feeds) == ("equal", "")
    onnx.save(model, tmp_path / "m.onnx")
    types = {"DefaultTensorType": TensorProto.FLOAT}  # shape inference knows no operator of ONNX Runtime
    quantize_dynamic(
        tmp_path / "m.onnx",
        tmp_path / "q.onnx",
        reduce_range=True,
        weight_type=QuantType.QUInt8,
        extra_options=types,
    )
    quantised = onnx.load(tmp_path / "q.onnx")
    assert {"QEmbedLayerNormalization", "QAttention"} <= {node.op_type for node in quantised.graph.node}
    assert compare_model(quantised, feeds) == ("equal", "")
