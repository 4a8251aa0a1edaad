"""TRANSPOSE_CONV in int8 for every Cortex-M: a convolution for each phase of the stride, and when it is applicable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import transposed_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.phases import transposed_fields
from tflmgen.kernels.requests import TransposedConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import params
from tflmgen.kernels.thumb.fully_connected_thumb import read_units, stream_of
from tflmgen.kernels.thumb.thumb_requantisation import raised_requantisations

HEADER = "transpose_conv_thumb.h"


def transpose_conv_thumb(request: TransposedConvolution) -> Kernel | None:
    """The kernel; None where it would not be exact, or the stride leaves outputs that no input reaches."""
    op, window, layer = request.op, request.window, request.layer
    channels, steps = len(layer.weights), window.steps
    if window.taps[0] < steps.stride_height or window.taps[1] < steps.stride_width:
        return None
    filters = layer.weights.reshape(channels, *window.taps, -1)
    point = zero_point(input_type(op, 2))
    bias = layer.bias + point * layer.weights.sum(axis=1)
    parts = []
    for rest_y in range(steps.stride_height):
        for rest_x in range(steps.stride_width):
            part = filters[:, rest_y :: steps.stride_height, rest_x :: steps.stride_width]
            weights = part[:, ::-1, ::-1].reshape(channels, -1)
            parts.append(replace(layer, weights=weights, bias=bias - point * weights.sum(axis=1)))
    known = [requantisation for part in parts if (requantisation := raised_requantisations(part)) is not None]
    if len(known) < len(parts):
        return None
    clamped = any(requantisation.clamped for requantisation in known)
    streams = [
        stream_of(part.weights, requantisation.all_words) for part, requantisation in zip(parts, known, strict=True)
    ]
    longest = max(part.weights.shape[1] for part in parts)
    return Kernel(
        "tflmgen_transpose_conv_thumb_s8",
        HEADER,
        (
            Input(2),
            ConstantArray.of("stream", np.concatenate(streams), DType.UINT32),
            Scratch(longest + longest % 2, 1),
            Output(0),
        ),
        params(
            "tflmgen_transpose_conv_thumb_s8",
            transposed_fields(op, window),
            (("padding_value", point),),
            layer.limit_fields(clamped),
        ),
        cost=Cost(input_type(op, 2).elements * layer.weights.size // filters.shape[3]),
        variant="thumb",
    )


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Phases of the stride one after the other, rows first, each packed like a FULLY_CONNECTED: its taps, reversed."""
    data, parts = call.words(), []
    for down in range(call.number("stride_height")):
        for across in range(call.number("stride_width")):
            rows = [tap for tap in reversed(range(call.taps[0])) if tap % call.number("stride_height") == down]
            columns = [tap for tap in reversed(range(call.taps[1])) if tap % call.number("stride_width") == across]
            part, data = read_units(data, call.channels, len(rows) * len(columns) * call.inputs, 5)
            parts.append(replace(part, tap_rows=rows, tap_columns=columns))
    if data:
        raise ValueError("the stream has more than its parts")
    return parts


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (Computes(TransposedConvolution, transpose_conv_thumb),),
    {
        "transpose_conv_thumb": transposed_cost(
            "transpose_conv", "pixel row gathered_step alone_value output mac", 1, 4, 2
        )
    },
    (Cases("transpose_conv"),),
    read=_read,
)
