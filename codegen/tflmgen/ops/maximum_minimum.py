"""MAXIMUM and MINIMUM."""

from __future__ import annotations

from tflmgen.ops.binary import BROADCASTS, infer_binary, plain_kernel
from tflmgen.ops.operator import Operator, no_attributes
from tflmgen.ops.rules import SAME_QUANTIZATION, one_type
from tflmgen.types import DType

RULES = (
    *BROADCASTS,
    one_type(DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64),
    SAME_QUANTIZATION,
)

OPERATORS = tuple(
    Operator(name.upper(), no_attributes, (2, 2), 1, RULES, infer_binary, plain_kernel(name, "binary.h"))
    for name in ("maximum", "minimum")
)
