"""ONNX operators that are one operator of TFLite each, element by element."""

from __future__ import annotations

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layout_graph import OnnxValue
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.node import OnnxNode

_DIRECT = {
    "Add": "ADD",
    "And": "LOGICAL_AND",
    "BitwiseXor": "BITWISE_XOR",
    "Ceil": "CEIL",
    "Cos": "COS",
    "Equal": "EQUAL",
    "Exp": "EXP",
    "Floor": "FLOOR",
    "Greater": "GREATER",
    "GreaterOrEqual": "GREATER_EQUAL",
    "HardSwish": "HARD_SWISH",
    "Less": "LESS",
    "LessOrEqual": "LESS_EQUAL",
    "Log": "LOG",
    "Mul": "MUL",
    "Neg": "NEG",
    "Not": "LOGICAL_NOT",
    "Or": "LOGICAL_OR",
    "Relu": "RELU",
    "Round": "ROUND",
    "Sigmoid": "LOGISTIC",
    "Sin": "SIN",
    "Sqrt": "SQRT",
    "Sub": "SUB",
    "Tanh": "TANH",
    "Xor": "NOT_EQUAL",
}
"""ONNX's operator -> TFLite's, of the same operands; shapes are broadcast."""


@lowers(*_DIRECT)
def direct(node: OnnxNode) -> OnnxValue:
    """The operator of `_DIRECT`; Relu of integers is a maximum."""
    if node.op == "Relu" and node[0].dtype is not F32:
        return node.graph.maximum(node[0], 0)
    return node.graph.elementwise(_DIRECT[node.op], *(node[index] for index in range(len(node.inputs))))
