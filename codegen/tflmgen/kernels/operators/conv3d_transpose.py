"""CONV_3D_TRANSPOSE: transposed 3-D convolution of float32, input [batch, depth, height, width, channels]."""

from __future__ import annotations

import math

from tflmgen.ir import DType
from tflmgen.ir.kernel import Cost, Input, Kernel, Null, OperatorInstance, Output, Target
from tflmgen.kernels.operators.conv3d import parse, volume_params
from tflmgen.kernels.operators.copying import constants_of
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape
from tflmgen.kernels.specification.rules import STATIC, constant, input_is, input_shape, input_type
from tflmgen.kernels.specification.window import Extent, extent
from tflmgen.kernels.traits import Traits


def _extents(op: OperatorInstance) -> tuple[Extent, ...]:
    """Extents of the convolution from output to input whose transpose this operator is."""
    sizes, taps = constants_of(op, 0)[1:4], input_shape(op, 1)[:3]
    steps = zip(sizes, taps, op.attributes.strides, op.attributes.dilations, strict=True)
    return tuple(extent(op.attributes.same, *step) for step in steps)


def _infer(op: OperatorInstance) -> tuple[Shape]:
    """Input 0, [N, D, H, W, O]."""
    return (constants_of(op, 0),)


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    taps, output_channels = input_shape(op, 1)[:3], input_shape(op, 1)[3]
    bias = Input(3) if _has_bias(op) else Null()
    cost = Cost(input_type(op, 2).elements * math.prod(taps) * output_channels)
    operands = (Input(2), Input(1), bias, Output(0))
    params = volume_params(op, input_type(op, 2), taps, _extents(op))
    return Kernel("tflmgen_conv3d_transpose_f32", "conv3d_transpose.h", operands, params, cost=cost)


def _has_bias(op: OperatorInstance) -> bool:
    return len(op.inputs) > 3 and op.inputs[3] is not None


def _bias_fits(op: OperatorInstance) -> bool:
    return not _has_bias(op) or (
        input_type(op, 3).dtype is DType.FLOAT32 and input_type(op, 3).elements == input_shape(op, 1)[3]
    )


RULES = (
    STATIC,
    input_is(0, "output shape", DType.INT32),
    constant(0, "output shape"),
    Rule(
        "a float32 input, filter and output",
        lambda op: {input_type(op, 1).dtype, input_type(op, 2).dtype, op.outputs[0].dtype} == {DType.FLOAT32},
    ),
    Rule(
        "an input, a filter and an output of 5 dimensions, none of them 0",
        lambda op: all(
            len(t.shape) == 5 and t.elements > 0 for t in (input_type(op, 1), input_type(op, 2), op.outputs[0])
        ),
    ),
    Rule("an output of the given shape", lambda op: op.outputs[0].shape == constants_of(op, 0)),
    Rule(
        "a filter with as many channels as the input and the output",
        lambda op: input_shape(op, 1)[3:] == (op.outputs[0].shape[4], input_shape(op, 2)[4]),
    ),
    Rule(
        "an output of which a convolution with this padding makes the input's shape",
        lambda op: (
            (input_shape(op, 2)[0], *(e.output for e in _extents(op)), input_shape(op, 2)[4]) == input_shape(op, 2)
            and input_shape(op, 2)[0] == constants_of(op, 0)[0]
        ),
    ),
    Rule("a float32 bias, if any, of one value per output channel", _bias_fits),
)

OPERATORS = (OperatorSpec("CONV_3D_TRANSPOSE", parse, (3, 4), 1, RULES, _infer, _kernel, traits=Traits()),)
