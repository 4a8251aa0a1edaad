"""CONV_2D of float32 for cores with MVE and its floating point: the stream of weights, and when it is applicable."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.matrix_overlap import last_block
from tflmgen.kernels.requests import FloatConvolution, FloatRequest
from tflmgen.kernels.specification.weights import FORWARD, go_backward, output_fields, overlaps, params

HEADER = "conv2d_f32_mve.h"
GROUP = header_constant(HEADER, "TFLMGEN_CONV2D_F32_MVE_CHANNELS")
"""Output channels that are computed at a time."""

HALF = GROUP // 2
"""Output channels of the last group where at most half a group is left."""


def conv2d_f32_mve(request: FloatConvolution) -> Kernel | None:
    """The kernel of a convolution without groups; None on cores whose MVE has no floating point."""
    if not has_vectors(request):
        return None
    op, window = request.op, request.window
    channels, terms = request.weights.shape
    last = last_block(channels, GROUP)
    fields = params(
        "tflmgen_conv2d_f32_mve",
        window.flat.fields(channels),
        window.dilation_fields,
        FORWARD,
        output_fields(op, request.activation),
    )
    input_overlaps = overlaps(op.outputs[0], window.overlap_distance(channels, last))
    operands = (Input(0), stream_of(request), Output(0))
    macs = op.outputs[0].elements * terms
    kernel = Kernel("tflmgen_conv2d_f32_mve", HEADER, operands, fields, input_overlaps, Cost(macs), "mve")
    pixels = math.prod(op.outputs[0].max_shape[:3])
    return go_backward(op, kernel, window, range(pixels), window.input[3] if channels > last else 0)


def has_vectors(request: FloatRequest) -> bool:
    """Whether the processor's vectors can hold floats."""
    return "fpu" in request.target.features


def stream_of(request: FloatRequest) -> ConstantArray:
    """Groups of eight channels, of four at the end where no more are left: the weights of each value, then the biases;
    zeros for channels that the last group lacks."""
    channels, terms = request.weights.shape
    rows = np.zeros((channels + -channels % HALF, terms + 1), dtype=np.float32)
    rows[:channels, :terms] = request.weights
    rows[:channels, terms] = request.bias
    groups = [rows[first : first + GROUP].T.reshape(-1) for first in range(0, channels, GROUP)]
    return ConstantArray.of("stream", np.concatenate(groups), DType.FLOAT32)


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(FloatConvolution, conv2d_f32_mve),),
    {"conv2d_f32_mve": convolution_cost("conv2d float32", "pixel block group_row group_value", 1, 4)},
    (Cases("conv2d_f32"),),
)
