"""DIV, FLOOR_DIV and FLOOR_MOD."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Kernel, OperatorInstance, Target
from tflmgen.kernels.folding.fold_elements import whole_division
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.numeric.real_functions import of_elements
from tflmgen.kernels.operators.arithmetic import output_limits, parse
from tflmgen.kernels.operators.binary import BROADCASTS, SUFFIX, Fields, binary_kernel, infer_binary, plain_kernel
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import QUANTIZED_PER_TENSOR, input_type, one_type, scale, zero_point
from tflmgen.kernels.traits import ELEMENTWISE

HEADER = "binary.h"
GREATEST_SHIFT = 22
"""Up to here, every quotient of two int8 elements is shifted to the right."""


def _has_constant_zero(op: OperatorInstance) -> bool:
    divisor = op.constants[1]
    zero = zero_point(input_type(op, 1)) if input_type(op, 1).dtype is DType.INT8 else 0
    return not op.outputs[0].dtype.is_float and divisor is not None and bool(np.any(divisor == zero))


def _div_scale(op: OperatorInstance) -> float:
    """The factor that brings a quotient of two quantised elements to the output's scale, in single precision."""
    first, second, output = (np.float32(scale(t)) for t in (input_type(op, 0), input_type(op, 1), op.outputs[0]))
    with np.errstate(all="ignore"):
        return float(first / (second * output))


def _is_shifted_right(factor: float) -> bool:
    return math.isfinite(factor) and quantize_multiplier(factor)[1] <= GREATEST_SHIFT


def _div(op: OperatorInstance, target: Target) -> Kernel:
    del target
    dtype = op.outputs[0].dtype
    name = f"tflmgen_div_{SUFFIX[dtype]}"
    limits = output_limits(op, op.attributes.activation)
    if dtype is not DType.INT8:
        return binary_kernel(op, name, HEADER, name, limits)
    multiplier, shift = quantize_multiplier(_div_scale(op))
    fields: Fields = (
        ("offset1", -zero_point(input_type(op, 0))),
        ("offset2", -zero_point(input_type(op, 1))),
        ("output_offset", zero_point(op.outputs[0])),
        ("multiplier", multiplier),
        ("shift", shift),
    )
    return binary_kernel(op, name, "quantized_binary.h", name, fields + limits)


NOT_BY_ZERO = Rule("integer divisors other than a constant 0", lambda op: not _has_constant_zero(op))

DIV_RULES = (
    *BROADCASTS,
    one_type(DType.FLOAT32, DType.INT8, DType.INT32),
    QUANTIZED_PER_TENSOR,
    Rule(
        f"a first input scale of at most 2^{GREATEST_SHIFT} times the product of second input scale and output scale",
        lambda op: op.outputs[0].dtype is not DType.INT8 or _is_shifted_right(_div_scale(op)),
    ),
    NOT_BY_ZERO,
)

FLOOR_RULES = (
    *BROADCASTS,
    one_type(DType.FLOAT32, DType.INT32, DType.INT64),
    NOT_BY_ZERO,
)

OPERATORS = (
    OperatorSpec(
        "DIV",
        parse,
        (2, 2),
        1,
        DIV_RULES,
        infer_binary,
        _div,
        real=of_elements(np.divide),
        traits=replace(ELEMENTWISE, clamped=True, multiplies=-1, neutral=1),
    ),
    *(
        OperatorSpec(
            name.upper(),
            no_attributes,
            (2, 2),
            1,
            FLOOR_RULES,
            infer_binary,
            plain_kernel(name, HEADER),
            fold=fold,
            traits=ELEMENTWISE,
        )
        for name, fold in (("floor_div", whole_division(np.floor_divide)), ("floor_mod", whole_division(np.remainder)))
    ),
)
