"""What a plug-in imports: custom operators and the words that describe them (docs/custom-operators.md)."""

from __future__ import annotations

from tflmgen.ir.kernel import (
    ConstantArray,
    Input,
    Kernel,
    Null,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    Scratch,
    Target,
    View,
)
from tflmgen.ir.types import DType, Quantization, TensorType
from tflmgen.kernels.operator import CUSTOM_OPTIONS, Options, Rule, Shape, State
from tflmgen.kernels.operators.custom import CustomOperator
from tflmgen.kernels.rules import (
    COMMON,
    PRESENT,
    QUANTIZED_PER_TENSOR,
    SAME_QUANTIZATION,
    STATIC,
    constant,
    input_is,
    input_type,
    one_type,
    output_is,
    scale,
    static_shape,
    zero_point,
)

__all__ = [
    "COMMON",
    "CUSTOM_OPTIONS",
    "PRESENT",
    "QUANTIZED_PER_TENSOR",
    "SAME_QUANTIZATION",
    "STATIC",
    "ConstantArray",
    "CustomOperator",
    "DType",
    "Input",
    "Kernel",
    "Null",
    "OperatorInstance",
    "Options",
    "Output",
    "Overlap",
    "Params",
    "Quantization",
    "Rule",
    "Scratch",
    "Shape",
    "State",
    "Target",
    "TensorType",
    "View",
    "constant",
    "input_is",
    "input_type",
    "one_type",
    "output_is",
    "scale",
    "static_shape",
    "zero_point",
]
