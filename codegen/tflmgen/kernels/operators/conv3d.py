"""CONV_3D: 3-D convolution of float32, input [batch, depth, height, width, channels]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Null, OperatorInstance, Output, Params, Target
from tflmgen.kernels.numeric.quantize_math import Activation, fused_activation
from tflmgen.kernels.numeric.strides import Ints
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import positive, present
from tflmgen.kernels.specification.rules import STATIC, has_inferred_shape, input_shape, input_type
from tflmgen.kernels.specification.weights import bias_type
from tflmgen.kernels.specification.window import Extent, extent, parse_padding
from tflmgen.kernels.traits import BY_BATCH, Roles


@dataclass(frozen=True, slots=True)
class Conv3dAttributes:
    """Strides and dilations along depth, height and width; `same`: the input is padded."""

    same: bool
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    activation: Activation


def parse(options: Options | None) -> Conv3dAttributes:
    """Padding, strides and dilations along depth, height and width, and the fused activation."""
    options = present(options)
    return Conv3dAttributes(
        parse_padding(options),
        tuple(positive(options, f"stride_{axis}") for axis in "dhw"),
        tuple(positive(options, f"dilation_{axis}_factor", 1) for axis in "dhw"),
        fused_activation(options),
    )


def _extents(op: OperatorInstance) -> tuple[Extent, ...]:
    sizes, taps = input_shape(op)[1:4], input_shape(op, 1)[:3]
    steps = zip(sizes, taps, op.attributes.strides, op.attributes.dilations, strict=True)
    return tuple(extent(op.attributes.same, *step) for step in steps)


def infer(op: OperatorInstance) -> tuple[Shape]:
    """[N, D, H, W, C] by filters [d, h, w, C, O] to [N, D', H', W', O]."""
    return ((input_type(op, 0).shape[0], *(e.output for e in _extents(op)), input_type(op, 1).shape[4]),)


def volume_params(op: OperatorInstance, source: TensorType, taps: Ints, extents: Sequence[Extent]) -> Params:
    """The struct of CONV_3D and of its transpose, from `source` [N, D, H, W, C] to output 0.

    taps     depth, height and width of the filter
    extents  along these, of the convolution: of its input, or of the transpose's output
    """
    output = op.outputs[0]
    least, greatest = op.attributes.activation.bounds
    fields = (
        ("batches", source.max_shape[0]),
        ("input", source.max_shape[1:4]),
        ("input_channels", source.max_shape[4]),
        ("output", output.max_shape[1:4]),
        ("output_channels", output.max_shape[4]),
        ("filter", taps),
        ("stride", op.attributes.strides),
        ("dilation", op.attributes.dilations),
        ("padding", tuple(e.padding for e in extents)),
        ("output_min", least),
        ("output_max", greatest),
    )
    return Params("tflmgen_conv3d_f32", fields)


def kernel(op: OperatorInstance, target: Target) -> Kernel:
    """The C99 kernel, or by vectors of output channels where the processor's hold floats."""
    bias = Input(2) if bias_type(op) is not None else Null()
    params = volume_params(op, input_type(op, 0), input_shape(op, 1)[:3], _extents(op))
    macs = op.outputs[0].elements * math.prod(input_shape(op, 1)[:4])
    if {"mve", "fpu"} <= target.features:
        operands = (Input(0), Input(1), bias, Output(0))
        return Kernel("tflmgen_conv3d_lanes_f32", "conv3d.h", operands, params, cost=Cost(macs), variant="mve")
    weights = ConstantArray.of("weights", np.moveaxis(np.asarray(op.constants[1]), 4, 0), DType.FLOAT32)
    return Kernel("tflmgen_conv3d_f32", "conv3d.h", (Input(0), weights, bias, Output(0)), params, cost=Cost(macs))


def _bias_fits(op: OperatorInstance) -> bool:
    bias = bias_type(op)
    return bias is None or (bias.dtype is DType.FLOAT32 and bias.elements == input_type(op, 1).shape[4])


RULES = (
    STATIC,
    Rule(
        "a float32 input, filter and output",
        lambda op: {input_type(op, 0).dtype, input_type(op, 1).dtype, op.outputs[0].dtype} == {DType.FLOAT32},
    ),
    Rule(
        "an input, a filter and an output of 5 dimensions, none of them 0",
        lambda op: all(
            len(t.shape) == 5 and t.elements > 0 for t in (input_type(op, 0), input_type(op, 1), op.outputs[0])
        ),
    ),
    Rule("the filter to be constant", lambda op: op.constants[1] is not None),
    Rule(
        "a filter with as many channels as the input",
        lambda op: input_type(op, 0).shape[4] == input_type(op, 1).shape[3],
    ),
    Rule("a float32 bias, if any, of one value per output channel", _bias_fits),
    Rule(
        "a dilated filter that fits into the input, or SAME padding",
        lambda op: all(e.output > 0 for e in _extents(op)),
    ),
    has_inferred_shape(infer),
)

OPERATORS = (
    OperatorSpec(
        "CONV_3D", parse, (2, 3), 1, RULES, infer, kernel, traits=replace(BY_BATCH, roles=Roles(weights=1, bias=2))
    ),
)
