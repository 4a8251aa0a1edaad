from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.model_writer import ModelWriter, SubgraphWriter
from tflmgen.frontend.tflite.model import Model
from tflmgen.frontend.tflite.reader import parse_model, read_model
from tflmgen.ir.types import BlockQuantization, DType, Quantization


def read(writer: ModelWriter) -> Model:
    return parse_model(writer.finish(), "m.tflite")


def start() -> tuple[ModelWriter, SubgraphWriter]:
    writer = ModelWriter()
    return writer, writer.subgraph("main")


def conv_model() -> ModelWriter:
    w = ModelWriter("a test")
    g = w.subgraph("main")
    x = g.tensor("x", "int8", [1, 4, 4, 3], scale=[0.5], zero_point=[3], shape_signature=[-1, 4, 4, 3])
    weights = g.constant("w", np.arange(54, dtype=np.int8).reshape(2, 3, 3, 3), scale=[0.25, 0.125], zero_point=[0, 0])
    y = g.tensor("y", "int8", [1, 2, 2, 2], scale=[0.5], zero_point=[-1])
    g.operator("CONV_2D", [x, weights, -1], [y], {"padding": 1, "stride_w": 2, "stride_h": 2}, version=3)
    g.inputs, g.outputs = [x], [y]
    w.signature("serving_default", {"image": x}, {"scores": y})
    return w


def test_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "conv.tflite"
    path.write_bytes(conv_model().finish())

    model = read_model(path)

    assert model.name == str(path)
    assert model.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert model.description == "a test"
    (graph,) = model.subgraphs
    assert (graph.index, graph.name, graph.inputs, graph.outputs) == (0, "main", (0,), (2,))
    (signature,) = model.signatures
    assert (signature.key, signature.subgraph) == ("serving_default", 0)
    assert (signature.inputs, signature.outputs) == ((("image", 0),), (("scores", 2),))


def test_reads_tensors() -> None:
    x, weights, y = read(conv_model()).subgraphs[0].tensors
    assert (x.index, x.name, x.dtype, x.type_name, x.shape) == (0, "x", DType.INT8, "int8", (1, 4, 4, 3))
    assert x.shape_signature == (-1, 4, 4, 3)
    assert x.quantization == Quantization((0.5,), (3,))
    assert (x.data, x.is_variable, x.buffer) == (None, False, 0)
    assert weights.data == bytes(range(54))
    assert weights.quantization == Quantization((0.25, 0.125), (0, 0), 0)
    assert weights.shape_signature is None
    assert y.index == 2


def test_reads_an_operator_and_its_options() -> None:
    (conv,) = read(conv_model()).subgraphs[0].operators
    assert (conv.index, conv.name, conv.version, conv.inputs, conv.outputs) == (0, "CONV_2D", 3, (0, 1, -1), (2,))
    assert conv.options == {
        "padding": 1,
        "stride_w": 2,
        "stride_h": 2,
        "fused_activation_function": 0,
        "dilation_w_factor": 1,
        "dilation_h_factor": 1,
        "quantized_bias_type": 0,
    }


@pytest.mark.parametrize(
    ("operator", "options", "expected"),
    [
        ("RESHAPE", {"new_shape": [1, -1]}, {"new_shape": (1, -1)}),
        ("RESHAPE", None, None),
        ("SQUEEZE", {}, {"squeeze_dims": ()}),
        ("VAR_HANDLE", {"shared_name": "count"}, {"container": "", "shared_name": "count"}),
        ("BATCH_MATMUL", {"adj_x": True}, {"adj_x": True, "adj_y": False, "asymmetric_quantize_inputs": False}),
        ("BUCKETIZE", {"boundaries": [0.5, 2.0]}, {"boundaries": (0.5, 2.0)}),
        ("RELU", {}, None),
        ("CUSTOM:Foo", {}, None),
        ("STABLEHLO_CASE", {}, {"branch_subgraph_indices": ()}),
    ],
)
def test_options_of_each_kind(operator: str, options: dict[str, object] | None, expected: object) -> None:
    w, g = start()
    g.operator(operator, [], [], options)
    (op,) = read(w).subgraphs[0].operators
    assert (op.name, op.options) == (operator, expected)


def test_options_of_the_second_union() -> None:
    w, g = start()
    w.subgraph("body")
    options = {"name": "odml.rms_norm", "decomposition_subgraph_index": 1, "composite_attributes": b"\x00\xff"}
    g.operator("STABLEHLO_COMPOSITE", [], [], options)
    (op,) = read(w).subgraphs[0].operators
    assert op.options is not None
    assert {key: op.options[key] for key in options} == options


def test_custom_options_are_bytes() -> None:
    w, g = start()
    g.operator("CUSTOM:Foo", [], [], custom_options=b"\x01\x00\x02")
    assert read(w).subgraphs[0].operators[0].custom_options == b"\x01\x00\x02"


def test_int4_constants_stay_packed() -> None:
    w, g = start()
    g.outputs = [g.constant("w", np.array([1, -2, 3]), dtype="int4")]
    (tensor,) = read(w).subgraphs[0].tensors
    assert (tensor.dtype, tensor.shape, tensor.data) == (DType.INT4, (3,), b"\xe1\x03")


def test_tensors_that_share_a_buffer_have_its_bytes() -> None:
    w, g = start()
    buffer = w.buffer(b"\x07\x00\x00\x00")
    g.outputs = [g.tensor("a", "int32", [1], buffer=buffer), g.tensor("b", "float32", [], buffer=buffer)]
    a, b = read(w).subgraphs[0].tensors
    assert a.data == b.data == b"\x07\x00\x00\x00"
    assert a.buffer == b.buffer == 1


def test_contents_behind_the_tables() -> None:
    w, g = start()
    g.outputs = [g.tensor("w", "int16", [2], buffer=w.buffer(b"", offset=1 << 20, size=4))]
    size = len(w.finish())
    w.buffers[1] = (b"", size, 4)
    model = parse_model(w.finish() + b"\x01\x02\x03\x04", "m.tflite")
    assert model.subgraphs[0].tensors[0].data == b"\x01\x02\x03\x04"


def test_a_constant_without_elements() -> None:
    w, g = start()
    shape = g.tensor("shape", "int32", [0])
    x, y = g.tensor("x", "int8", [1]), g.tensor("y", "int8", [])
    g.operator("RESHAPE", [x, shape], [y])
    g.inputs, g.outputs = [x], [y]
    tensors = read(w).subgraphs[0].tensors
    assert [tensor.data for tensor in tensors] == [b"", None, None]


def test_rank() -> None:
    w, g = start()
    g.inputs = [
        g.tensor("scalar", "int8", [], has_rank=True),
        g.tensor("unranked or old", "int8", [], has_rank=False),
        g.tensor("old", "int8", [2], has_rank=False),
    ]
    g.constant("old scalar constant", np.int8(3))
    g.tensors[3]["has_rank"] = False
    g.outputs = [3]
    assert [tensor.has_rank for tensor in read(w).subgraphs[0].tensors] == [True, False, True, True]


def test_variables_and_resources() -> None:
    w, g = start()
    g.inputs = [g.tensor("state", "int8", [4], scale=[0.5], zero_point=[1], variable=True)]
    handle = g.tensor("handle", "resource", [])
    g.operator("VAR_HANDLE", [], [handle], {"shared_name": "v"})
    state, resource = read(w).subgraphs[0].tensors
    assert state.is_variable
    assert (resource.dtype, resource.type_name, resource.is_variable) == (None, "resource", False)


def test_quantisation_of_floats_is_ignored() -> None:
    w, g = start()
    g.inputs = [g.tensor("x", "float32", [1], scale=[0.0], zero_point=[0])]
    assert read(w).subgraphs[0].tensors[0].quantization is None


def test_a_bias_with_its_weights_axis() -> None:
    w, g = start()
    g.outputs = [g.constant("bias", np.zeros(2, np.int32), scale=[0.5, 0.25], zero_point=[0, 0], axis=3)]
    assert read(w).subgraphs[0].tensors[0].quantization == Quantization((0.5, 0.25), (0, 0), 0)


def test_unused_tensors_may_be_anything() -> None:
    w, g = start()
    g.tensor("text", "string", [-3], buffer=99, sparse=True)
    g.tensor("x", "int8", [2], scale=[-1.0], zero_point=[999])
    assert [tensor.dtype for tensor in read(w).subgraphs[0].tensors] == [None, DType.INT8]


def test_operators_are_put_in_an_order_of_execution() -> None:
    w, g = start()
    x, y, z = (g.tensor(name, "int8", [1]) for name in "xyz")
    g.operator("NEG", [y], [z])
    g.operator("ABS", [x], [y])
    g.inputs, g.outputs = [x], [z]
    assert [(op.index, op.name) for op in read(w).subgraphs[0].operators] == [(1, "ABS"), (0, "NEG")]


def test_names_are_safe_to_print() -> None:
    w, g = start()
    g.inputs = [g.tensor("a\x1b[31m\nb", "int8", [1])]
    g.operator("CUSTOM:\u00e9t\u00e9\t", [], [])
    (graph,) = read(w).subgraphs
    assert graph.tensors[0].name == "a\ufffd[31m\ufffdb"
    assert graph.operators[0].name == "CUSTOM:\u00e9t\u00e9\ufffd"


def test_the_same_output_twice_and_an_input_as_output() -> None:
    w, g = start()
    x = g.tensor("x", "int8", [1])
    g.inputs, g.outputs = [x], [x, x]
    assert read(w).subgraphs[0].outputs == (0, 0)


def test_what_is_written_or_variable_is_no_constant_even_without_elements() -> None:
    w, g = start()
    x, y = g.tensor("x", "int8", [0]), g.tensor("y", "int8", [0])
    v = g.tensor("v", "int8", [0], variable=True)
    g.operator("ABS", [x], [y])
    g.inputs, g.outputs = [x], [y, v]
    assert [tensor.data for tensor in read(w).subgraphs[0].tensors] == [None, None, None]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "fields",
    [
        {"zero_points": -1, "block_size": 4},
        {"zero_points": 0, "block_size": 4},
        {"zero_points": 2, "block_size": 4, "block_shape": [1, 4]},
        {"zero_points": -1, "block_size": 0, "block_shape": [1, 4]},
    ],
)
def test_weights_by_blocks(dtype: str, fields: dict[str, Any]) -> None:
    w, g = start()
    g.constant("shape", np.array([3, 4], np.int32))
    scales = g.constant("scales", [[0.5, 2.0], [1.0, 0.25]], dtype)
    g.constant("zero points", np.zeros((2, 2), np.int32))
    g.outputs = [g.constant("w", np.zeros((2, 8)), "int4", [1.0], blocks={"scales": scales, **fields})]
    weights = read(w).subgraphs[0].tensors[3]
    assert (weights.quantization, weights.blocks) == (None, BlockQuantization((0.5, 2.0, 1.0, 0.25), 4))
