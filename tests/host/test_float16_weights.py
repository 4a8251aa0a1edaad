"""Weights stored as float16, which a DEQUANTIZE before each operator widens: any operator takes them as constants."""

from __future__ import annotations

import numpy as np
import pytest
from support import conv_cases
from support.kernel_harness import Case, constant, make_case, tensor
from support.model_writer import ModelWriter
from support.pipeline import compile_bytes
from tflmgen.ir.constants import constant_array
from tflmgen.ir.graph.module import Op
from tflmgen.kernels.table import OPERATORS

RNG = np.random.default_rng(5)


def weighted(operator: str) -> Case:
    if operator == "PRELU":
        slopes = constant("float32", RNG.normal(size=(1, 1, 70)))
        return make_case("PRELU", [tensor("float32", (2, 3, 4, 70)), slopes], [tensor("float32", ())])
    if operator == "SVDF":
        weights = [constant("float32", RNG.normal(size=(24, n))) for n in (7, 5)]
        rest = [constant("float32", RNG.normal(size=12)), tensor("float32", (2, 120))]
        options = {"rank": 2, "fused_activation_function": 0}
        return make_case("SVDF", [tensor("float32", (2, 7)), *weights, *rest], [tensor("float32", ())], options)
    if operator == "UNIDIRECTIONAL_SEQUENCE_LSTM":
        weights = [constant("float32", RNG.normal(size=(20, n))) for n in [7] * 4 + [20] * 4]
        biases = [constant("float32", RNG.normal(size=20)) for _ in range(4)]
        states = [tensor("float32", (1, 20)), tensor("float32", (1, 20))]
        inputs = [tensor("float32", (1, 3, 7)), *weights, None, None, None, *biases, None, None, *states]
        options = {"fused_activation_function": 4}
        return make_case(operator, [*inputs, None, None, None, None], [tensor("float32", ())], options)
    (make,) = (case for case in conv_cases.WEIGHTED if case.__name__.upper().replace("CONV2D", "CONV_2D") == operator)
    while True:
        case, _ = make(RNG, "float32")
        if all(item is None or item.data is not None for item in case.inputs[1:]):
            return case


def as_float16(case: Case) -> bytes:
    """The case as a model whose constants are float16."""
    writer = ModelWriter()
    graph = writer.subgraph("main")
    indices, outer = [], []
    for i, item in enumerate(case.inputs):
        if item is None:
            indices.append(-1)
        elif item.data is None:
            indices.append(graph.tensor(f"in{i}", "float32", list(item.type.max_shape)))
            if i not in OPERATORS[case.operator].updates:
                outer.append(indices[-1])
        else:
            indices.append(graph.tensor(f"wide{i}", "float32", list(item.type.max_shape)))
            graph.operator("DEQUANTIZE", [graph.constant(f"half{i}", item.data, "float16")], [indices[-1]], {})
    for i in OPERATORS[case.operator].updates:
        graph.tensors[indices[i]]["is_variable"] = True
    result = graph.tensor("out", "float32", list(case.outputs[0].max_shape))
    graph.operator(case.operator, indices, [result], dict(case.options))
    graph.inputs, graph.outputs = outer, [result]
    return bytes(writer.finish())


@pytest.mark.parametrize(
    "operator", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "PRELU", "SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"]
)
def test_the_operator_gets_constants(operator: str) -> None:
    case = weighted(operator)
    module = compile_bytes(as_float16(case)).module
    (node,) = module.functions[0].body.nodes
    assert isinstance(node, Op)
    assert node.operator == operator
    constants = [(v, item) for v, item in zip(node.inputs, case.inputs, strict=True) if item and item.data is not None]
    assert constants
    for value, item in constants:
        array = constant_array(value, module.constants)
        np.testing.assert_array_equal(array, item.data.astype(np.float16).astype(np.float32))  # type: ignore[union-attr]
