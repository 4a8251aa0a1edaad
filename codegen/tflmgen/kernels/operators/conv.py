"""CONV_2D: 2-D convolution, also grouped and dilated, int8, int16 or float32 by int8, and float32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Input, Kernel, KernelChoice, OperatorInstance, Output, Target
from tflmgen.kernels.choice import choose_fastest, convolution_kernels, fast_kernels, on_fpu
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import layer_of
from tflmgen.kernels.numeric.int16_layer import int16_layer
from tflmgen.kernels.numeric.packed import packed_kernel, stays_packed
from tflmgen.kernels.numeric.quantize_math import Activation, fused_activation
from tflmgen.kernels.numeric.rows_f32 import ROWS, last_rows
from tflmgen.kernels.operators.hybrid import hybrid_kernel
from tflmgen.kernels.operators.offset_filter import offset_kernel
from tflmgen.kernels.ranges.range_weighted import range_of_sums
from tflmgen.kernels.requests import FloatConvolution, Int16Convolution
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import has_inferred_shape, input_shape, input_type, zero_point
from tflmgen.kernels.specification.weights import (
    FORWARD,
    TYPE_RULES,
    ZERO_POINT_RULE,
    bias_operand,
    bias_size_rule,
    channel_scales,
    filter_operand,
    filter_quantization,
    float_rows,
    go_backward,
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
from tflmgen.kernels.specification.window import Fields, Steps, Window, parse_steps, window_of
from tflmgen.kernels.traits import Roles, Sliding, Traits, first_axis

GATHERED = header_constant("conv2d.h", "TFLMGEN_CONV2D_F32_GATHERED")
"""Values of the longest float32 window that is copied before it is multiplied."""

OUTPUT_CHANNELS = 0
"""The filter's dimension of output channels."""


@dataclass(frozen=True, slots=True)
class ConvAttributes:
    """Strides, dilations and padding of a convolution, and its fused activation."""

    steps: Steps
    activation: Activation


def parse(options: Options | None) -> ConvAttributes:
    """Steps of the window, dilated or not, and the fused activation."""
    options = present(options)
    steps = parse_steps(options, dilated=True)
    return ConvAttributes(steps, fused_activation(options))


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[N, H, W, C] by filters [O, h, w, C / groups] to [N, H', W', O]."""
    window = window_of(op)
    return ((input_type(op, 0).shape[0], window.height.output, window.width.output, input_type(op, 1).shape[0]),)


def kernel(op: OperatorInstance, target: Target) -> Kernel | KernelChoice:
    """The fastest kernel that supports the layer, or the one that unpacks int4 filters at run time."""
    if stays_packed(op, target):
        channels, window = input_shape(op, 1)[0], window_of(op)
        padding: Fields = (("padding_value", zero_point(input_type(op, 0))),)
        fields = (*_geometry(op, window, channels), *padding)
        return packed_kernel("tflmgen_conv2d_s4", "tflmgen_conv2d_s8", op, op.attributes.activation, fields, ())
    return choose_fastest([*_fast_kernels(op, target), on_fpu(portable_kernel(op), target)], target)


def _geometry(op: OperatorInstance, window: Window, channels: int) -> Fields:
    channel = ("filter_channels", input_shape(op, 1)[3])
    return (*window.fields(channels), *window.dilation_fields, *FORWARD, channel)


def _fast_kernels(op: OperatorInstance, target: Target) -> list[Kernel]:
    """The kernels for the target's instructions that are exact for this convolution."""
    weights = op.constants[1]
    if (real := float_rows(op)) and _group_channels(op) == len(real[0]):
        return fast_kernels(FloatConvolution(op, target, *real, op.attributes.activation, window_of(op)))
    if not is_quantized(op) or weights is None or has_zero_point(op):
        return []
    channels, _, _, filter_channels = weights.shape
    rows, scales = np.asarray(weights, dtype=np.int64).reshape(channels, -1), channel_scales(op, channels)
    if is_int16(op):
        fits = filter_channels == input_shape(op)[3]
        wide = int16_layer(op, rows, scales) if fits else None
        return fast_kernels(Int16Convolution(op, target, wide, op.attributes.activation, window_of(op))) if wide else []
    layer = layer_of(op, rows, scales, op.attributes.activation)
    return convolution_kernels(op, window_of(op), layer, target) if layer else []


def portable_kernel(op: OperatorInstance) -> Kernel:
    """The C99 kernel for the types and groups of this layer."""
    channels, filter_height, filter_width, filter_channels = input_shape(op, 1)
    window = window_of(op)
    macs = op.outputs[0].elements * filter_height * filter_width * filter_channels
    if is_hybrid(op):
        flags = (("asymmetric", _quantizes_with_zero_point(op)),)
        geometry = (*window.fields(channels), *window.dilation_fields, ("filter_channels", filter_channels))
        return hybrid_kernel("conv2d", op, op.attributes.activation, window.input[0], macs, geometry, flags)
    if has_zero_point(op):
        steps = (filter_channels, filter_height * filter_width * filter_channels, filter_channels)
        return offset_kernel(op, op.attributes.activation, window, channels, steps)
    geometry = _geometry(op, window.flat, channels)
    unread = window.input[3] if channels > _last_channels(op) else 0
    return go_backward(op, _forward(op, geometry, macs), window, range(window.flat.input[2]), unread)


def _forward(op: OperatorInstance, geometry: Fields, macs: int) -> Kernel:
    channels, output = input_shape(op, 1)[0], op.outputs[0]
    input_overlaps = overlaps(output, window_of(op).overlap_distance(channels, _last_channels(op)))
    results = output_fields(op, op.attributes.activation)
    weights, bias = filter_operand(op), bias_operand(op, OUTPUT_CHANNELS)
    if output.dtype is DType.FLOAT32:
        fields = params("tflmgen_conv2d_f32", geometry, (("gathered", _gathers(op)),), results)
        dense = (Input(0), weights, bias, Output(0))
        return Kernel("tflmgen_conv2d_f32", "conv2d.h", dense, fields, input_overlaps, Cost(macs, "conv2d_f32"))
    if output.dtype is DType.INT16:
        operands = (Input(0), weights, bias, *multiplier_operands(op, channels), Output(0))
        fields = params("tflmgen_conv2d_s16", geometry, range_fields(op, op.attributes.activation))
        function = f"tflmgen_conv2d_s16_{sum_suffix(op)}"
        return Kernel(function, "conv2d_s16.h", operands, fields, input_overlaps, Cost(macs))
    offsets = (("input_offset", input_offset(op)), ("padding_value", zero_point(input_type(op, 0))))
    operands = (Input(0), weights, bias, *multiplier_operands(op, channels), Output(0))
    fields = params("tflmgen_conv2d_s8", geometry, offsets, results)
    return Kernel("tflmgen_conv2d_s8", "conv2d.h", operands, fields, input_overlaps, Cost(macs, "conv2d_s8"))


def _group_channels(op: OperatorInstance) -> int:
    """Output channels that see the same input channels."""
    channels, _, _, filter_channels = input_shape(op, 1)
    return channels // (input_shape(op)[3] // filter_channels)


def _last_channels(op: OperatorInstance) -> int:
    """Channels of an output pixel that the kernel writes after its last read: in float32 those of the last block."""
    if op.outputs[0].dtype is not DType.FLOAT32:
        return 1
    return _group_channels(op) if _gathers(op) else last_rows(_group_channels(op))


def _gathers(op: OperatorInstance) -> bool:
    """Whether a float32 window is copied to the stack: it is small, in pieces, and read for several channels."""
    _, height, width, channels = input_shape(op, 1)
    pieces = height * width > 1
    return pieces and height * width * channels <= GATHERED and _group_channels(op) >= ROWS


def _quantizes_with_zero_point(op: OperatorInstance) -> bool:
    """Whether LiteRT quantises float32 batches with a zero point: for grouped filters and those of several scales."""
    grouped = input_type(op, 0).shape[3] != input_type(op, 1).shape[3]
    return grouped or len(set(filter_quantization(op).scales)) > 1


def _groups_fit(op: OperatorInstance) -> bool:
    channels, filter_shape = input_shape(op)[3], input_shape(op, 1)
    return channels % filter_shape[3] == 0 and filter_shape[0] % (channels // filter_shape[3]) == 0


FOUR_DIMENSIONS = Rule(
    "an input, a filter and an output of 4 dimensions",
    lambda op: all(len(t.shape) == 4 for t in (input_type(op, 0), input_type(op, 1), op.outputs[0])),
)
FITS = Rule("a dilated filter that fits into the input, or SAME padding", lambda op: window_of(op).fits)

RULES = (
    *TYPE_RULES,
    FOUR_DIMENSIONS,
    Rule(
        "input channels that are a multiple of the filter's channels, and output channels that "
        "are a multiple of the groups",
        _groups_fit,
    ),
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
    depth_axis=3,
    clamped=True,
)

OPERATORS = (
    OperatorSpec("CONV_2D", parse, (2, 3), 1, RULES, infer, kernel, value_range=range_of_sums(TRAITS), traits=TRAITS),
)


KERNEL = KernelDeclaration(
    "conv2d.h",
    "portable",
    costs={
        "conv2d_s8": convolution_cost("conv2d", "pixel output row_output product_inside"),
        "conv2d_f32": convolution_cost(
            "conv2d float32", "pixel gathered_tap gathered_value block run_block eights_block ones_block", 1, 4, 8
        ),
    },
)
