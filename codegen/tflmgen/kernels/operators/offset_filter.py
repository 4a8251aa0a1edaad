"""Int8 convolutions whose filter has a zero point, as uint8 networks have it: CONV_2D and DEPTHWISE_CONV_2D."""

from __future__ import annotations

import math

from tflmgen.ir.kernel import Cost, Input, Kernel, Null, OperatorInstance, Output
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import (
    bias_type,
    filter_operand,
    multiplier_operands,
    output_fields,
    overlaps,
    params,
)
from tflmgen.kernels.specification.window import Window


def offset_kernel(
    op: OperatorInstance, activation: Activation, window: Window, channels: int, steps: tuple[int, int, int]
) -> Kernel:
    """The call for `channels` output channels.

    steps: input channels that one output sees; weights from one output channel to the next; from one tap to the next
    """
    slice_channels, filter_step, tap_step = steps
    fields = params(
        "tflmgen_conv2d_offset_s8",
        (*window.fields(channels), *window.dilation_fields),
        (("slice", slice_channels), ("filter_step", filter_step), ("tap_step", tap_step)),
        (("input_offset", -zero_point(input_type(op, 0))), ("filter_offset", -zero_point(input_type(op, 1)))),
        output_fields(op, activation),
    )
    bias = Null() if bias_type(op) is None else Input(2)
    operands = (Input(0), filter_operand(op), bias, *multiplier_operands(op, channels), Output(0))
    claims = overlaps(op.outputs[0], window.overlap_distance(channels))
    macs = op.outputs[0].elements * slice_channels * math.prod(window.taps)
    return Kernel("tflmgen_conv2d_offset_s8", "conv2d_offset.h", operands, fields, claims, Cost(macs))
