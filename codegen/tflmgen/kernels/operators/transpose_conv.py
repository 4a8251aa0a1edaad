"""TRANSPOSE_CONV: the gradient of a 2-D convolution by its input, used to enlarge images; int8, int16 and float32.

Inputs are [output shape, filter, input, bias]; the window is that of the convolution from the output to the input.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Input, Kernel, KernelChoice, Null, OperatorInstance, Output, Target
from tflmgen.kernels.choice import choose_fastest, fast_kernels
from tflmgen.kernels.numeric.int8_layer import layer_of
from tflmgen.kernels.numeric.int16_layer import int16_layer
from tflmgen.kernels.numeric.quantize_math import fused_activation
from tflmgen.kernels.operators.conv import FOUR_DIMENSIONS, OUTPUT_CHANNELS, ConvAttributes
from tflmgen.kernels.operators.copying import constants_of
from tflmgen.kernels.requests import Int16TransposedConvolution, TransposedConvolution
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import input_is, input_shape, input_type, static_shape, zero_point
from tflmgen.kernels.specification.weights import (
    TYPE_RULES,
    bias_size_rule,
    bias_type,
    channel_scales,
    multiplier_operands,
    output_fields,
    params,
    quantization_rules,
    range_fields,
)
from tflmgen.kernels.specification.window import Fields, Window, four, parse_steps
from tflmgen.kernels.traits import Roles, Traits

SUFFIX = {DType.INT8: "s8", DType.INT16: "s16", DType.FLOAT32: "f32"}


def parse(options: Options | None) -> ConvAttributes:
    """Steps of the window, and the fused activation."""
    options = present(options)
    activation = fused_activation(options)
    return ConvAttributes(parse_steps(options, dilated=False), activation)


def _as_convolution(op: OperatorInstance) -> OperatorInstance:
    """The operands in the order of a convolution's: input, filter, bias."""
    order = (2, 1, 3) if len(op.inputs) > 3 else (2, 1)
    inputs, constants = tuple(op.inputs[i] for i in order), tuple(op.constants[i] for i in order)
    return OperatorInstance(inputs, op.outputs, constants, op.attributes)


def _on_convolution(rule: Rule) -> Rule:
    return replace(rule, holds=lambda op: rule.holds(_as_convolution(op)))


def _window(op: OperatorInstance) -> Window:
    """The window of the convolution that goes from the output to the input."""
    taps = four(input_shape(op, 1))[1:3]
    return Window(op.attributes.steps, four(static_shape(op.outputs[0])), taps)


def infer(op: OperatorInstance) -> tuple[Shape | None]:
    """The shape in input 0, None where it is not constant."""
    return (constants_of(op, 0) if op.constants[0] is not None else None,)


def _fields(op: OperatorInstance) -> Fields:
    """TFLMGEN_WINDOW_FIELDS, with the convolution's input for the output and the reverse."""
    fields = dict(_window(op).fields(input_shape(op, 2)[3]))
    sides = {"input": input_shape(op, 2), "output": static_shape(op.outputs[0])}
    for side, shape in sides.items():
        fields |= {f"{side}_{name}": n for name, n in zip(("height", "width", "channels"), shape[1:], strict=True)}
    return tuple(fields.items())


def kernel(op: OperatorInstance, target: Target) -> KernelChoice:
    """The fastest kernel that supports the layer."""
    return choose_fastest([*_fast_kernels(op, target), portable_kernel(op)], target)


def _fast_kernels(op: OperatorInstance, target: Target) -> list[Kernel]:
    """The kernels for the target's instructions that are exact for this operator."""
    weights = op.constants[1]
    if op.outputs[0].dtype is DType.FLOAT32 or weights is None:
        return []
    plain, channels, activation = _as_convolution(op), len(weights), op.attributes.activation
    rows, scales = np.asarray(weights, dtype=np.int64).reshape(channels, -1), channel_scales(plain, channels)
    if op.outputs[0].dtype is DType.INT16:
        wide = int16_layer(plain, rows, scales)
        return fast_kernels(Int16TransposedConvolution(op, target, wide, activation, _window(op))) if wide else []
    layer = layer_of(plain, rows, scales, activation)
    return fast_kernels(TransposedConvolution(op, target, layer, _window(op))) if layer else []


def portable_kernel(op: OperatorInstance) -> Kernel:
    """The C99 kernel, with the numbers of the convolution whose gradient this is."""
    plain, output = _as_convolution(op), op.outputs[0]
    name, results = f"tflmgen_transpose_conv_{SUFFIX[output.dtype]}", output_fields(plain, op.attributes.activation)
    bias = Null() if bias_type(plain) is None else Input(3)
    scaled = () if output.dtype is DType.FLOAT32 else multiplier_operands(plain, static_shape(output)[3])
    if output.dtype is DType.INT8:
        results = (("input_offset", -zero_point(input_type(op, 2))), *results)
    elif output.dtype is DType.INT16:
        results = range_fields(plain, op.attributes.activation)
    operands = (Input(2), Input(1), bias, *scaled, Output(0))
    macs = input_type(op, 2).elements * input_type(op, 1).elements // input_shape(op, 2)[3]
    return Kernel(name, "transpose_conv.h", operands, params(name, _fields(op), results), cost=Cost(macs))


def _channels_fit(op: OperatorInstance) -> bool:
    filter_shape = input_shape(op, 1)
    return filter_shape[3] == input_shape(op, 2)[3] and filter_shape[0] == static_shape(op.outputs[0])[3]


def _sizes_fit(op: OperatorInstance) -> bool:
    window, shape = _window(op), input_shape(op, 2)
    return (window.input[0], window.height.output, window.width.output) == shape[:3]


RULES = (
    Rule("an output shape", lambda op: op.inputs[0] is not None),
    *map(_on_convolution, TYPE_RULES),
    Rule(
        "a float32 filter for float32 inputs, an int8 filter otherwise",
        lambda op: input_type(op, 1).dtype is (DType.FLOAT32 if op.outputs[0].dtype is DType.FLOAT32 else DType.INT8),
    ),
    input_is(0, "output shape", DType.INT32),
    _on_convolution(FOUR_DIMENSIONS),
    Rule("a filter with as many input channels as the input and as many output channels as the output", _channels_fit),
    Rule(
        "an int64 bias, if any, for int16 inputs",
        lambda op: (
            op.outputs[0].dtype is not DType.INT16
            or (bias := bias_type(_as_convolution(op))) is None
            or bias.dtype is DType.INT64
        ),
    ),
    _on_convolution(bias_size_rule(OUTPUT_CHANNELS)),
    *map(_on_convolution, quantization_rules(OUTPUT_CHANNELS)),
    Rule("a filter that fits into the output, or SAME padding", lambda op: _window(op).fits),
    Rule("an input of the size that a convolution of the output would have", _sizes_fit),
)

TRAITS = Traits(clamped=True, roles=Roles(data=2, weights=1, bias=3, scale_axis=OUTPUT_CHANNELS, shapes=(0,)))

OPERATORS = (OperatorSpec("TRANSPOSE_CONV", parse, (3, 4), 1, RULES, infer, kernel, traits=TRAITS),)
