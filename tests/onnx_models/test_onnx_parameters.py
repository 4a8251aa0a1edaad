"""Which constants of a lowered ONNX model are parameters: those that initialisers were made into, and no others."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.trained_model import check_gradients, trained_reference
from tflmgen.frontend.onnx.convert_graph import OnnxOptions, to_tflite
from tflmgen.frontend.onnx.parameter_array import as_parameter, names_of
from tflmgen.frontend.tflite import Model
from tflmgen.options import Loss


def _lowered(nodes: list[onnx.NodeProto], shapes: dict[str, tuple[int, ...]], **weights: tuple[int, ...]) -> Model:
    """A model of x to y; weights that begin with "zero" are zeros."""
    rng = np.random.default_rng(3)
    arrays = {n: np.zeros(s) if n.startswith("zero") else rng.standard_normal(s) for n, s in weights.items()}
    constants = [numpy_helper.from_array(a.astype(np.float32), n) for n, a in arrays.items()]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in "xy")
    graph = helper.make_graph(nodes, "main", [x], [y], constants)
    opset = [helper.make_opsetid("", 21)]
    return to_tflite(helper.make_model(graph, opset_imports=opset), "net.onnx", OnnxOptions())


def test_a_matrix_that_a_resize_becomes_does_not_train() -> None:
    """Nor do the zeros of a convolution without bias, and the scales of the resize."""
    scales = helper.make_node("Constant", [], ["scales"], value_floats=[1, 1, 1.7, 0.6])
    nodes = [
        helper.make_node("Conv", ["x", "filter"], ["c"]),
        scales,
        helper.make_node("Resize", ["c", "", "scales"], ["r"], mode="cubic"),
        helper.make_node("GroupNormalization", ["r", "gain", "zeros"], ["y"], num_groups=2),
    ]
    shapes: dict[str, tuple[int, ...]] = {"x": (1, 2, 6, 6), "y": (1, 4, 8, 3)}
    model = _lowered(nodes, shapes, filter=(4, 2, 2, 2), gain=(4,), zeros=(4,))
    reference = trained_reference(model, Loss.MSE)
    assert reference.names == ["filter", "gain", "zeros"]
    rng = np.random.default_rng(0)
    check_gradients(reference, [rng.standard_normal(shapes["x"]), rng.standard_normal(shapes["y"])])


def test_biases_that_begin_as_equal_are_as_many_as_initialisers() -> None:
    """And a bias that a sum adds is the layer's."""
    nodes = [
        helper.make_node("Gemm", ["x", "a", "zero_a"], ["g"], transB=1),
        helper.make_node("MatMul", ["g", "b"], ["m"]),
        helper.make_node("Add", ["m", "zero_b"], ["s"]),
        helper.make_node("Gemm", ["s", "a", "zero_a"], ["y"], transB=1),
    ]
    model = _lowered(nodes, {"x": (2, 4), "y": (2, 4)}, a=(4, 4), b=(4, 4), zero_a=(4,), zero_b=(4,))
    reference = trained_reference(model, Loss.MSE)
    assert reference.names == ["a", "zero_a", "b", "zero_b"]
    check_gradients(reference, [np.ones((2, 4)), np.zeros((2, 4))])


def test_a_matrix_and_its_transpose_are_one_weight() -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "a"], ["g"], transB=1),
        helper.make_node("Tanh", ["g"], ["t"]),
        helper.make_node("Gemm", ["t", "a"], ["y"]),
    ]
    reference = trained_reference(_lowered(nodes, {"x": (2, 3), "y": (2, 3)}, a=(5, 3)), Loss.MSE)
    assert reference.names == ["a"]
    check_gradients(reference, [np.ones((2, 3)), np.zeros((2, 3))])


def test_gates_of_an_lstm_train() -> None:
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "b"], ["h"], hidden_size=2)]
    nodes.append(helper.make_node("Squeeze", ["h", "axis"], ["y"]))
    nodes.insert(0, helper.make_node("Constant", [], ["axis"], value_ints=[1]))
    model = _lowered(nodes, {"x": (3, 1, 3), "y": (3, 1, 2)}, w=(1, 8, 3), r=(1, 8, 2), b=(1, 16))
    reference = trained_reference(model, Loss.MSE)
    assert {name.partition("_")[0] for name in reference.names} == {"w", "r", "b"}
    check_gradients(reference, [np.ones((3, 1, 3)), np.zeros((3, 1, 2))])


@pytest.mark.parametrize("is_before", [False, True])
def test_a_loop_whose_body_computes_its_condition_is_bounded(is_before: bool) -> None:
    """The body compares the count of before the iteration, or of behind it."""
    ends = {"one": (TensorProto.INT64, 1), "end": (TensorProto.INT64, 4)}
    constants = [helper.make_tensor(name, kind, [], [value]) for name, (kind, value) in ends.items()]
    carried: list[tuple[str, int, list[int]]] = [("k", TensorProto.INT64, []), ("h", TensorProto.FLOAT, [1, 3])]
    inputs = [("n", TensorProto.INT64, []), ("go", TensorProto.BOOL, []), *carried]
    outputs = [("more", TensorProto.BOOL, []), *((f"{name}_after", kind, shape) for name, kind, shape in carried)]
    body = helper.make_graph(
        [
            helper.make_node("Add", ["k", "one"], ["k_after"]),
            helper.make_node("MatMul", ["h", "w"], ["m"]),
            helper.make_node("Tanh", ["m"], ["h_after"]),
            helper.make_node("Less", ["k" if is_before else "k_after", "end"], ["more"]),
        ],
        "body",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in outputs],
        constants,
    )
    nodes = [
        helper.make_node("Constant", [], ["start"], value_int=0),
        helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("yes", TensorProto.BOOL, [], [True])),
        helper.make_node("Loop", ["", "yes", "start", "x"], ["count", "y"], body=body),
    ]
    reference = trained_reference(_lowered(nodes, {"x": (1, 3), "y": (1, 3)}, w=(3, 3)), Loss.MSE)
    check_gradients(reference, [np.ones((1, 3)), np.zeros((1, 3))])


def test_names_follow_numpy() -> None:
    a, b = as_parameter(np.ones((2, 3), np.float32), ["a"]), as_parameter(np.ones(3, np.float32), ["b"])
    plain = np.ones(3, np.float32)
    both = {"a", "b"}
    assert names_of(a.T[1:].reshape(-1).copy()) == names_of(np.pad(a, 1)) == names_of(plain * a) == {"a"}
    assert names_of(a + b) == names_of(np.concatenate([a[0], plain, b])) == names_of(np.where(a > 0, a, b)) == both
    assert names_of(np.float32(2) / np.sqrt(a @ b)) == names_of(np.split(a + b, 3, 1)[2]) == both
    assert not names_of(a > b)
    assert not names_of(np.argmax(a, 1))
    assert not names_of(a.astype(np.int32))
    plain *= b
    assert plain.tolist() == [1, 1, 1]


@pytest.mark.parametrize("places", [[0, 1], [1, 0, 1]])
def test_a_gathered_table_trains(places: list[int]) -> None:
    rows = helper.make_node("Constant", [], ["rows"], value_ints=places)
    nodes = [rows, helper.make_node("Gather", ["table", "rows"], ["g"]), helper.make_node("Add", ["x", "g"], ["y"])]
    shape = (len(places), 3)
    reference = trained_reference(_lowered(nodes, {"x": shape, "y": shape}, table=(4, 3)), Loss.MSE)
    assert reference.names == ["table"]
