"""DEPTHWISE_CONV_2D with many taps or filters per channel in int8 for cores with MVE: packed weights, distances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, Overlap, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.depthwise_patch_mve import CHANNELS, distance, distance_of_pixels, without_border
from tflmgen.kernels.mve.mve_requantisation import fit
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.numeric.kernel_requantisation import Rounding
from tflmgen.kernels.numeric.packed_readers import records, without_padding
from tflmgen.kernels.numeric.stream_words import as_words
from tflmgen.kernels.requests import DepthwiseConvolution, GroupedConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.specification.window import Window

HEADER = "depthwise_quads_mve.h"
PIXELS = header_constant(HEADER, "TFLMGEN_DEPTHWISE_QUADS_MVE_PIXELS")
"""Outputs of a line that are computed at a time."""

LOADS = header_constant(HEADER, "TFLMGEN_DEPTHWISE_QUADS_MVE_LOADS")
"""Greatest number of vectors of 16 values in a window."""

QUADS = header_constant(HEADER, "TFLMGEN_DEPTHWISE_QUADS_MVE_QUADS")
"""Greatest number of groups of four rows in a window."""

MAX_SCRATCH = 4096
"""Greatest scratch in bytes."""


def depthwise_quads_mve(request: DepthwiseConvolution | GroupedConvolution) -> Kernel | None:
    """The kernel; None where it would not be exact, or where a window has too many taps."""
    op, layer, window = request.op, request.layer, request.window
    variant = fit(layer)
    channels = len(layer.weights)
    height, width = window.taps
    quads, columns = -(-height // 4), (PIXELS - 1) * window.steps.stride_width + window.reach[1]
    loads, scratch = -(-quads * width // 4), 4 * CHANNELS * quads * columns
    if variant is None or loads > LOADS or quads > QUADS or scratch > MAX_SCRATCH:
        return None
    filters, padding = channels // window.input[3], zero_point(input_type(op, 0))
    fields = params(
        "tflmgen_depthwise_quads_mve_s8",
        window.fields(channels),
        window.dilation_fields,
        (("padding_value", padding), ("loads", loads), ("output_zero_point", layer.zero_point)),
        layer.limit_fields(variant.clamped),
    )
    input_overlaps = overlaps(op.outputs[0], distance(window, 1, PIXELS, filters))
    if window.width.output <= PIXELS and filters == 1 and input_overlaps:
        input_overlaps += (Overlap(0, 0, distance_of_pixels(window, 1), multiple=channels),)
    stream = ConstantArray.of("stream", _stream(layer, window, loads, padding), DType.UINT32)
    function = f"tflmgen_depthwise_quads_mve{'' if variant.signed else '_relu'}_s8"
    operands = (Input(0), stream, Scratch(scratch), Output(0))
    return Kernel(function, HEADER, operands, fields, input_overlaps, Cost(request.macs), "mve")


def _of_single_channels(request: GroupedConvolution) -> Kernel | None:
    return depthwise_quads_mve(request) if request.group_inputs == 1 else None


def _stream(layer: Int8Layer, window: Window, loads: int, padding: int) -> NDArray[np.uint32]:
    channels = len(layer.weights)
    height, width = window.taps
    quads = -(-height // 4)
    rows = np.zeros((channels, 4 * quads, width), dtype=np.int8)
    rows[:, :height] = layer.weights.reshape(channels, height, width)
    weights = np.zeros((channels, 16 * loads), dtype=np.int8)
    weights[:, : 4 * quads * width] = (
        rows.reshape(channels, quads, 4, width).transpose(0, 1, 3, 2).reshape(channels, -1)
    )
    stream = np.zeros((channels, 4 * loads + 4), dtype=np.uint32)
    stream[:, : 4 * loads] = weights.view("<u4")
    stream[:, -4] = as_words(layer.bias)
    stream[:, -3:-1] = as_words(np.array(layer.scales, dtype=np.int64))
    stream[channels // window.input[3] - 1 :: channels // window.input[3], -1] = 4
    return np.concatenate([np.full(4, padding % 256 * 0x01010101, dtype=np.uint32), stream.reshape(-1)])


def _read(call: PackedCall) -> list[UnpackedPart]:
    """A record for each output channel: weights by quads of rows, column by column, filled up to whole vectors of 16,
    and what requantises their sum.
    """
    height, width, channels = call.number("filter_height"), call.number("filter_width"), call.channels
    quads = -(-height // 4)
    loads = -(-quads * width // 4)
    stream = records(
        without_border(call.words(), call),
        [("weights", "i1", (16 * loads,)), ("scales", "<i4", (3,)), ("next", "<i4", ())],
        channels,
    )
    filters = channels // call.inputs
    if (stream["next"] != np.where((np.arange(channels) + 1) % filters, 0, 4)).any():
        raise ValueError("the next words are not the next input channel's")
    rows = without_padding(stream["weights"], 4 * quads * width).reshape(channels, quads, width, 4)
    lines = rows.transpose(0, 1, 3, 2).reshape(channels, -1)
    weights = without_padding(lines, height * width)
    signed = "_relu" not in call.function
    scales, zero = stream["scales"].astype(np.int64), call.number("output_zero_point")
    outputs = Rounding(*scales.T, zero_point=zero, signed=signed).outputs
    return [UnpackedPart(np.arange(channels), weights, outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(DepthwiseConvolution, depthwise_quads_mve), Computes(GroupedConvolution, _of_single_channels)),
    {
        "depthwise_quads_mve": depthwise_cost(
            "depthwise many taps", "alone_row column_vector load line_four left_over", 4, 1, 4
        )
    },
    (Cases("depthwise_filters planes scaled_depthwise_window scaled_depthwise3x3"),),
    preference=2,
    pads_freely=True,
    read=_read,
)
