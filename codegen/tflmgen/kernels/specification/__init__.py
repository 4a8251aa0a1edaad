"""The specification of an operator: attributes, support rules, shapes and types that it takes.

In: one operator with its types, constants and attributes. Out: an OperatorSpec, which the table has, or a ModelError.
Decided here: the words in which support is declared.
"""

from tflmgen.kernels.specification.operator import (
    BACKWARD,
    CUSTOM_OPTIONS,
    INTERMEDIATES,
    Operators,
    OperatorSpec,
    Options,
    Rule,
    Shape,
    State,
)
from tflmgen.kernels.specification.rules import (
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
    per_tensor,
    scale,
    static_shape,
    zero_point,
)
from tflmgen.kernels.specification.weights import is_hybrid, is_int16
from tflmgen.kernels.specification.window import EXPLICIT_PADDING, Steps, Window, four

__all__ = [
    "BACKWARD",
    "COMMON",
    "CUSTOM_OPTIONS",
    "EXPLICIT_PADDING",
    "INTERMEDIATES",
    "PRESENT",
    "QUANTIZED_PER_TENSOR",
    "SAME_QUANTIZATION",
    "STATIC",
    "OperatorSpec",
    "Operators",
    "Options",
    "Rule",
    "Shape",
    "State",
    "Steps",
    "Window",
    "constant",
    "four",
    "input_is",
    "input_type",
    "is_hybrid",
    "is_int16",
    "one_type",
    "output_is",
    "per_tensor",
    "scale",
    "static_shape",
    "zero_point",
]
