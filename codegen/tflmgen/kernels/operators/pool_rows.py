"""AVERAGE_POOL_2D of a whole image whose rows arrive one by one: sums are kept from row to row."""

from __future__ import annotations

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Scratch
from tflmgen.kernels.numeric.quantize_math import activation_range
from tflmgen.kernels.specification.rules import input_shape, static_shape
from tflmgen.kernels.specification.weights import params

SHORT = 255
"""The most pixels whose sum fits 16 bits."""


def reduces_rows(operator: str, op: OperatorInstance) -> bool:
    """Whether an operator makes one pixel of its whole input, int8, by a mean."""
    shape, output = input_shape(op), static_shape(op.outputs[0])
    return (
        operator == "AVERAGE_POOL_2D"
        and op.outputs[0].dtype is DType.INT8
        and not op.attributes.rounds_up
        and output[1:3] == (1, 1)
        and op.attributes.taps == shape[1:3]
        and not any(op.attributes.steps.before + op.attributes.steps.after)
        and shape[1] > 1
    )


def pool_by_rows(op: OperatorInstance, row: int) -> Kernel:
    """Takes in row `row`; the Scratch are the sums, which must last from the first row to the last."""
    _, height, width, channels = input_shape(op)
    output = op.outputs[0]
    assert output.quantization is not None
    low, high = activation_range(op.attributes.activation, output.dtype, output.quantization)
    fields = params(
        "tflmgen_average_pool2d_rows_s8",
        (("channels", channels), ("width", width), ("count", height * width)),
        (("is_first", row == 0), ("is_last", row == height - 1)),
        (("output_min", low), ("output_max", high)),
    )
    bits = 16 if height * width <= SHORT else 32
    operands = (Input(0), Scratch(channels * bits // 8), Output(0))
    return Kernel(f"tflmgen_average_pool2d_rows_s8_sum{bits}", "average_pool2d_rows.h", operands, fields)
