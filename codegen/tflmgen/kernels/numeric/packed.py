"""int4 filters that stay packed in flash with `--optimize size`: kernels unpack one output channel at a time.

With other goals they are stored as int8 (weights.filter_operand): without instructions for nibbles, unpacking takes
more cycles than multiplying.
"""

from __future__ import annotations

import math

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Input, Kernel, OperatorInstance, Output, Overlap, Scratch, Target
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.specification.rules import input_shape, input_type
from tflmgen.kernels.specification.weights import (
    bias_operand,
    has_zero_point,
    input_offset,
    multiplier_operands,
    output_fields,
    params,
)
from tflmgen.kernels.specification.window import Fields

HEADER = "packed_s4.h"
OUTPUT_CHANNELS = 0
"""The dimension of output channels of both filters."""


def stays_packed(op: OperatorInstance, target: Target) -> bool:
    """Whether an operator with int4 weights gets the kernel that unpacks them at run time."""
    types = input_type(op, 0).dtype, input_type(op, 1).dtype
    return target.optimize == "size" and types == (DType.INT8, DType.INT4) and not has_zero_point(op)


def packed_kernel(
    function: str,
    struct: str,
    op: OperatorInstance,
    activation: Activation,
    fields: Fields,
    overlaps: tuple[Overlap, ...],
) -> Kernel:
    """The call of a kernel of packed_s4.h; `fields` are the params without quantisation and output range."""
    channels, *taps = input_shape(op, 1)
    scratch = Scratch(math.prod(taps))
    operands = (
        Input(0),
        Input(1),
        bias_operand(op, OUTPUT_CHANNELS),
        *multiplier_operands(op, channels),
        Output(0),
        scratch,
    )
    offset = (("input_offset", input_offset(op)),)
    macs = op.outputs[0].elements * math.prod(taps)
    results = output_fields(op, activation)
    return Kernel(function, HEADER, operands, params(struct, fields, offset, results), overlaps, Cost(macs))
