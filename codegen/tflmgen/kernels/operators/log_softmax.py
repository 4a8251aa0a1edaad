"""LOG_SOFTMAX, int8 and float32."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.ir import DType, Quantization
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.numeric.quantize_math import capped_multiplier, quantize_multiplier
from tflmgen.kernels.operators.row_wise import not_last_axis
from tflmgen.kernels.operators.softmax import (
    DEPTH_RULE,
    HEADER,
    NOT_SCALAR,
    SAME_SHAPE,
    exponentials,
    infer,
    input_radius,
    scaling,
)
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED_PER_TENSOR,
    fixed_int8,
    input_shape,
    input_type,
    one_type,
    scale,
)
from tflmgen.kernels.traits import Traits


def kernel(op: OperatorInstance, target: Target) -> Kernel:
    """The C99 kernel over rows of the last dimension, with its table in int8."""
    del target
    shape = input_shape(op)
    sizes = (("rows", math.prod(shape[:-1])), ("depth", shape[-1]))
    if op.outputs[0].dtype is DType.FLOAT32:
        fields = Params("tflmgen_log_softmax_f32", sizes)
        return Kernel("tflmgen_log_softmax_f32", HEADER, (Input(0), Output(0)), fields, (Overlap(0, 0),))
    exps = exponentials(scale(input_type(op, 0)), 1.0)
    multiplier, shift = capped_multiplier(scaling(scale(input_type(op, 0)), 1.0))
    inverse_multiplier, inverse_shift = quantize_multiplier((1 << (31 - shift)) / multiplier)
    fields = Params(
        "tflmgen_log_softmax_s8",
        (
            *sizes,
            ("entries", len(exps)),
            ("multiplier", multiplier),
            ("shift", shift),
            ("least_difference", -input_radius(shift) - 1),
            ("inverse_multiplier", inverse_multiplier),
            ("inverse_shift", inverse_shift),
        ),
    )
    table = ConstantArray.of("exps", np.array(exps), DType.INT32)
    return Kernel("tflmgen_log_softmax_s8", HEADER, (Input(0), table, Output(0)), fields, (Overlap(0, 0),))


def _is_int8(op: OperatorInstance) -> bool:
    return op.outputs[0].dtype is DType.INT8


RESULT = Quantization((1 / 16,), (127,))

RULES = (
    *COMMON,
    one_type(DType.INT8, DType.FLOAT32),
    NOT_SCALAR,
    QUANTIZED_PER_TENSOR,
    fixed_int8(RESULT),
    Rule(
        "an int8 input scale of more than 2^-25 and less than 32",
        lambda op: not _is_int8(op) or 2.0**-25 < scale(input_type(op, 0)) < 32,
    ),
    DEPTH_RULE,
    SAME_SHAPE,
)

OPERATORS = (
    OperatorSpec(
        "LOG_SOFTMAX",
        no_attributes,
        (1, 1),
        1,
        RULES,
        infer,
        kernel,
        fixed={DType.INT8: RESULT},
        traits=Traits(row_wise=not_last_axis, along_last=True, neutral=-math.inf),
    ),
)
