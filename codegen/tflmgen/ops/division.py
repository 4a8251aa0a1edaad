"""DIV, FLOOR_DIV and FLOOR_MOD."""

from __future__ import annotations

import numpy as np

from tflmgen.kernel import Kernel, OperatorInstance, Target
from tflmgen.ops.arithmetic import output_limits, parse
from tflmgen.ops.binary import BROADCASTS, SUFFIX, binary_kernel, infer_binary, plain_kernel
from tflmgen.ops.operator import Operator, Rule, no_attributes
from tflmgen.ops.rules import one_type
from tflmgen.types import DType

HEADER = "binary.h"


def _has_constant_zero(op: OperatorInstance) -> bool:
    divisor = op.constants[1]
    return not op.outputs[0].dtype.is_float and divisor is not None and not bool(np.all(divisor))


def _div(op: OperatorInstance, target: Target) -> Kernel:
    del target
    suffix = SUFFIX[op.outputs[0].dtype]
    limits = output_limits(op, op.attributes.activation)
    return binary_kernel(op, f"tflmgen_div_{suffix}", HEADER, f"tflmgen_div_{suffix}", limits)


NOT_BY_ZERO = Rule("no integer is divided by a constant 0", lambda op: not _has_constant_zero(op))

FLOOR_RULES = (
    *BROADCASTS,
    one_type(DType.FLOAT32, DType.INT32, DType.INT64),
    NOT_BY_ZERO,
)

OPERATORS = (
    Operator(
        "DIV", parse, (2, 2), 1, (*BROADCASTS, one_type(DType.FLOAT32, DType.INT32), NOT_BY_ZERO), infer_binary, _div
    ),
    *(
        Operator(name.upper(), no_attributes, (2, 2), 1, FLOOR_RULES, infer_binary, plain_kernel(name, HEADER))
        for name in ("floor_div", "floor_mod")
    ),
)
