"""CONV_2D in int8 for every Cortex-M in little memory: the stream of weights, and when the kernel is applicable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.requests import Convolution, GroupedConvolution, MatrixProduct
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import FORWARD, go_backward, overlaps, params
from tflmgen.kernels.thumb.fully_connected_thumb import group_words, read_units, stream_of
from tflmgen.kernels.thumb.thumb_requantisation import raised_requantisations

HEADER = "conv2d_pixel_thumb.h"


def conv2d_pixel_thumb(request: Convolution | GroupedConvolution) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    groups = request.groups if isinstance(request, GroupedConvolution) else 1
    channels, terms = layer.weights.shape
    requantisation = raised_requantisations(layer)
    if requantisation is None:
        return None
    outputs = channels // groups
    streams = [
        stream_of(layer.weights[first : first + outputs], requantisation.all_words[first : first + outputs])
        for first in range(0, channels, outputs)
    ]
    flat = window.flat
    fields = params(
        "tflmgen_conv2d_pixel_thumb_s8",
        flat.fields(channels),
        flat.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))),),
        FORWARD,
        (("groups", groups), ("group_inputs", window.input[3] // groups), ("group_outputs", outputs)),
        (("stream_words", streams[0].size), ("group_words", group_words(terms, requantisation.all_words))),
        layer.limit_fields(requantisation.clamped),
    )
    distance = window.overlap_distance(channels, outputs)
    words = ConstantArray.of("stream", np.concatenate(streams), DType.UINT32)
    operands = (Input(0), words, Scratch(terms + terms % 2, 1), Output(0))
    kernel = Kernel(
        "tflmgen_conv2d_pixel_thumb_s8",
        HEADER,
        operands,
        fields,
        overlaps(op.outputs[0], distance),
        Cost(request.macs),
        "thumb",
    )
    if groups > 1 or len(op.outputs[0].shape) != 4:
        return kernel
    return go_backward(op, kernel, window, range(flat.input[2]))


def _of_product(request: MatrixProduct) -> Kernel | None:
    return conv2d_pixel_thumb(request.convolution)


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Groups of channels one after the other, each packed like the units of a FULLY_CONNECTED."""
    groups, data, parts = call.number("groups"), call.words(), []
    step = call.channels // groups
    for group in range(groups):
        part, data = read_units(data, step, call.terms // groups, 5)
        parts.append(replace(part, rows=part.rows + group * step))
    if data:
        raise ValueError("the stream has more than its groups")
    return parts


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (
        Computes(Convolution, conv2d_pixel_thumb),
        Computes(GroupedConvolution, conv2d_pixel_thumb),
        Computes(MatrixProduct, _of_product),
    ),
    {
        "conv2d_pixel_thumb": convolution_cost(
            "conv2d or groups", "pixel row dilated_tap border_tap window output mac", 1, 4, 2
        )
    },
    (Cases("scaled_conv2d scaled_grouped"),),
    preference=4,
    read=_read,
)
