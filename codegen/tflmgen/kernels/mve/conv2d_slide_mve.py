"""CONV_2D in int8 for cores with MVE, for windows of three columns: four neighbouring ones share their loads."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import (
    ConstantArray,
    Cost,
    Input,
    Kernel,
    Null,
    Operand,
    Output,
    PackedCall,
    Scratch,
    UnpackedPart,
)
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.conv2d_mve import BLOCK, CHUNK, STACK_BYTES, pair_stream, read_pairs
from tflmgen.kernels.mve.mve_requantisation import fit, padded_bytes
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params

HEADER = "conv2d_slide_mve.h"
TAPS = 3
"""Columns of a window."""

BODY_BYTES = CHUNK * (BLOCK + TAPS - 1)
"""Bytes of 16 channels of a row, as far as four windows side by side reach."""


def conv2d_slide_mve(request: Convolution) -> Kernel | None:
    """The kernel; None for other windows, and where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels, inputs, steps = len(layer.weights), window.input[3], window.steps
    variant = fit(layer)
    spacing = steps.stride_width, steps.dilation_height, steps.dilation_width
    if variant is None or window.taps[1] != TAPS or spacing != (1, 1, 1):
        return None
    if inputs % CHUNK or window.width.output < BLOCK:
        return None
    chunks = inputs // CHUNK
    weights = layer.weights.reshape(channels, window.taps[0], TAPS, chunks, CHUNK).transpose(0, 1, 3, 2, 4)
    stream = pair_stream(padded_bytes(weights.reshape(channels, -1)), layer)
    numbers = params(
        "tflmgen_conv2d_slide_mve_s8",
        (*window.image_fields, ("output_channels", channels), ("filter_height", window.taps[0])),
        (("stride_height", steps.stride_height), *window.padding_fields),
        (("padding_value", zero_point(input_type(op, 0))), ("output_zero_point", layer.zero_point)),
        (("sign_fix", int(variant.signed)),),
        layer.limit_fields(variant.clamped),
    )
    bodies = BODY_BYTES * chunks * window.taps[0]
    scratch = Null() if bodies <= STACK_BYTES else Scratch(bodies)
    operands: tuple[Operand, ...] = (Input(0), ConstantArray.of("stream", stream, DType.UINT32), scratch, Output(0))
    distance = window.line_blocks_distance(channels, BLOCK)
    input_overlaps = overlaps(op.outputs[0], distance)
    return Kernel("tflmgen_conv2d_slide_mve_s8", HEADER, operands, numbers, input_overlaps, Cost(request.macs), "mve")


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Channel pairs, of each row's first 16 channels all taps, then of the next."""
    channels, chunks = call.channels, call.inputs // CHUNK
    weights, outputs = read_pairs(call.words(), call, channels, call.terms, bool(call.number("sign_fix")))
    ordered = weights.reshape(channels, -1, chunks, TAPS, CHUNK).transpose(0, 1, 3, 2, 4).reshape(channels, -1)
    return [UnpackedPart(np.arange(channels), ordered, outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(Convolution, conv2d_slide_mve),),
    {"conv2d_slide_mve": convolution_cost("conv2d three columns wide", "line_gather line_block line_step", 4, 2, 16)},
    (Cases("scaled_slide"),),
    preference=-1,
    read=_read,
)
