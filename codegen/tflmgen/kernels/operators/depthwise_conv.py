"""DEPTHWISE_CONV_2D: each input channel convolved with its own filters, int8, int16 or float32 by int8, and float32."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Input, Kernel, KernelChoice, OperatorInstance, Output, Target
from tflmgen.kernels.choice import choose_fastest, convolution_kernels, fast_kernels, on_fpu
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import layer_of
from tflmgen.kernels.numeric.int16_layer import int16_layer
from tflmgen.kernels.numeric.quantize_math import FLOAT_MAX
from tflmgen.kernels.operators.conv import FITS, FOUR_DIMENSIONS, parse
from tflmgen.kernels.operators.hybrid import hybrid_kernel
from tflmgen.kernels.operators.offset_filter import offset_kernel
from tflmgen.kernels.ranges.range_weighted import range_of_sums
from tflmgen.kernels.requests import Int16Convolution, Int16Depthwise
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape
from tflmgen.kernels.specification.rules import has_inferred_shape, input_shape, input_type, zero_point
from tflmgen.kernels.specification.weights import (
    TYPE_RULES,
    ZERO_POINT_RULE,
    bias_operand,
    bias_size_rule,
    channel_scales,
    filter_operand,
    has_zero_point,
    input_offset,
    is_hybrid,
    is_int16,
    is_quantized,
    multiplier_operands,
    output_fields,
    overlaps,
    params,
    quantization_rules,
    range_fields,
    sum_suffix,
)
from tflmgen.kernels.specification.window import window_of
from tflmgen.kernels.traits import Roles, Sliding, Traits, first_axis

LANES_F32 = header_constant("lanes_f32.h", "TFLMGEN_LANES_F32")
"""float32 channels that are computed at a time."""

OUTPUT_CHANNELS = 3
"""The filter's dimension of output channels."""


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[N, H, W, C] by filters [1, h, w, C m] to [N, H', W', C m]."""
    window = window_of(op)
    return ((input_type(op, 0).shape[0], window.height.output, window.width.output, input_type(op, 1).shape[3]),)


def kernel(op: OperatorInstance, target: Target) -> KernelChoice:
    """The fastest kernel that supports the layer."""
    return choose_fastest([*_fast_kernels(op, target), on_fpu(portable_kernel(op), target)], target)


def _fast_kernels(op: OperatorInstance, target: Target) -> list[Kernel]:
    """The kernels for the target's instructions that are exact for this convolution."""
    weights = op.constants[1]
    if not is_quantized(op) or weights is None or has_zero_point(op):
        return []
    channels, input_channels = weights.shape[3], input_shape(op)[3]
    rows = np.asarray(weights, dtype=np.int64).reshape(-1, channels).T
    scales = channel_scales(op, channels)
    # Of one channel, a depthwise convolution is an ordinary one.
    if is_int16(op):
        fits = input_channels in (1, channels)
        kind = Int16Convolution if input_channels == 1 else Int16Depthwise
        wide = int16_layer(op, rows, scales) if fits else None
        return fast_kernels(kind(op, target, wide, op.attributes.activation, window_of(op))) if wide else []
    layer = layer_of(op, rows, scales, op.attributes.activation)
    return convolution_kernels(op, window_of(op), layer, target) if layer else []


def portable_kernel(op: OperatorInstance) -> Kernel:
    """The C99 kernel for the types of this layer."""
    _, filter_height, filter_width, channels = input_shape(op, 1)
    window, output = window_of(op), op.outputs[0]
    geometry = (*window.fields(channels), *window.dilation_fields)
    macs = output.elements * filter_height * filter_width
    if is_hybrid(op):
        return hybrid_kernel("depthwise_conv2d", op, op.attributes.activation, window.input[0], macs, geometry)
    if has_zero_point(op):
        return offset_kernel(op, op.attributes.activation, window, channels, (1, 1, channels))
    has_single_filters = channels == input_shape(op)[3]
    # Each group's outputs are written before the next group is read; integers go one by one.
    group = LANES_F32 if output.dtype is DType.FLOAT32 and channels >= LANES_F32 else 1
    distance = window.group_distance(group) if has_single_filters else window.overlap_distance(channels)
    input_overlaps = overlaps(output, distance)
    results = output_fields(op, op.attributes.activation)
    weights, bias = filter_operand(op), bias_operand(op, OUTPUT_CHANNELS)
    header = "depthwise_conv2d.h"
    if output.dtype is DType.FLOAT32:
        fields = params("tflmgen_depthwise_conv2d_f32", geometry, results)
        return Kernel(
            "tflmgen_depthwise_conv2d_f32",
            header,
            (Input(0), weights, bias, Output(0)),
            fields,
            input_overlaps,
            Cost(macs, "depthwise_conv2d_f32", (("limited", op.attributes.activation.bounds[1] < FLOAT_MAX),)),
        )
    if output.dtype is DType.INT16:
        operands = (Input(0), weights, bias, *multiplier_operands(op, channels), Output(0))
        fields = params("tflmgen_depthwise_conv2d_s16", geometry, range_fields(op, op.attributes.activation))
        function = "tflmgen_depthwise_conv2d_s16"
        return Kernel(function, "depthwise_conv2d_s16.h", operands, fields, input_overlaps, Cost(macs))
    offsets = (("input_offset", input_offset(op)), ("padding_value", zero_point(input_type(op, 0))))
    operands = (Input(0), weights, bias, *multiplier_operands(op, channels), Output(0))
    fields = params("tflmgen_depthwise_conv2d_s8", geometry, offsets, results)
    function, family = "tflmgen_depthwise_conv2d_s8", "depthwise_conv2d_s8"
    return Kernel(function, header, operands, fields, input_overlaps, Cost(macs, family))


RULES = (
    *TYPE_RULES,
    FOUR_DIMENSIONS,
    Rule("a filter with a first dimension of 1", lambda op: input_type(op, 1).shape[0] == 1),
    # The option depth_multiplier says the same and is wrong in some files; LiteRT goes by the shapes, too.
    Rule(
        "filter channels that are a multiple of the input channels",
        lambda op: input_shape(op, 1)[3] % input_shape(op)[3] == 0,
    ),
    Rule("an int64 bias, if any, for int16 inputs", lambda op: not is_int16(op) or sum_suffix(op) == "b64"),
    bias_size_rule(OUTPUT_CHANNELS),
    ZERO_POINT_RULE,
    *quantization_rules(OUTPUT_CHANNELS, symmetric=False),
    FITS,
    has_inferred_shape(infer),
)

TRAITS = Traits(
    roles=Roles(weights=1, bias=2, scale_axis=OUTPUT_CHANNELS),
    row_wise=first_axis,
    by_rows=True,
    window=Sliding.FILTER,
    channel_axis=OUTPUT_CHANNELS,
    clamped=True,
)

OPERATORS = (
    OperatorSpec(
        "DEPTHWISE_CONV_2D", parse, (2, 3), 1, RULES, infer, kernel, value_range=range_of_sums(TRAITS), traits=TRAITS
    ),
)


KERNEL = KernelDeclaration(
    "depthwise_conv2d.h",
    "portable",
    costs={
        "depthwise_conv2d_s8": depthwise_cost("depthwise", "output row_output tap_output padding_value border"),
        "depthwise_conv2d_f32": depthwise_cost(
            "depthwise float32", "pixel lane_block lane_tap lane_rest lane_rest_row lane_rest_tap limited", 1, 8
        ),
    },
)
