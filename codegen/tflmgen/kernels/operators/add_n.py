"""ADD_N."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Target, View
from tflmgen.kernels.numeric.int8_tables import sum_scale_of
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED_PER_TENSOR,
    input_shape,
    input_type,
    one_type,
    same_quantization,
    zero_point,
)
from tflmgen.kernels.traits import ELEMENTWISE


def _kernel(op: OperatorInstance, target: Target) -> Kernel | View:
    del target
    count, output = len(op.inputs), op.outputs[0]
    if count == 1 and output.dtype is not DType.INT8:
        return View(0)
    layout = [output.elements, count]
    if output.dtype is DType.INT8:
        layout += [-zero_point(input_type(op, 0)), zero_point(output), *quantize_multiplier(sum_scale_of(op))]
    return Kernel(
        f"tflmgen_add_n_{SUFFIX[output.dtype]}",
        "add_n.h",
        (ConstantArray.of("layout", np.array(layout), DType.INT32), Output(0), *(Input(i) for i in range(count))),
        overlaps=tuple(Overlap(i, 0) for i in range(count)),
    )


RULES = (
    *COMMON,
    one_type(DType.FLOAT32, DType.INT8, DType.INT32),
    QUANTIZED_PER_TENSOR,
    Rule(
        "inputs of equal shapes",
        lambda op: len({input_shape(op, i) for i in range(len(op.inputs))}) == 1,
    ),
    Rule(
        "one scale and zero point for all int8 inputs",
        lambda op: (
            op.outputs[0].dtype is not DType.INT8
            or all(same_quantization(input_type(op, i), input_type(op, 0)) for i in range(len(op.inputs)))
        ),
    ),
    Rule(
        "an int8 output scale of more than 2^-19 of the input scale",
        lambda op: op.outputs[0].dtype is not DType.INT8 or quantize_multiplier(sum_scale_of(op))[1] <= 0,
    ),
)

OPERATORS = (
    OperatorSpec(
        "ADD_N",
        no_attributes,
        (1, -1),
        1,
        RULES,
        lambda op: (input_shape(op),),
        _kernel,
        traits=ELEMENTWISE,
    ),
)
