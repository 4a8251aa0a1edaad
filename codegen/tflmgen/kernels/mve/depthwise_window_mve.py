"""DEPTHWISE_CONV_2D in int8 for cores with MVE: packed weights, and when the kernel is applicable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.mve_requantisation import fit
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.numeric.kernel_requantisation import Rounding
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.numeric.stream_words import as_words
from tflmgen.kernels.requests import DepthwiseConvolution, GroupedConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.specification.window import POINTER_BYTES

HEADER = "depthwise_window_mve.h"
GROUP = header_constant("depthwise_window_mve.h", "TFLMGEN_DEPTHWISE_WINDOW_MVE_CHANNELS")
"""Channels that are computed at a time."""


def depthwise_window_mve(request: DepthwiseConvolution | GroupedConvolution) -> Kernel | None:
    """The kernel; None where it is not exact."""
    op, layer, window = request.op, request.layer, request.window
    outputs, taps = layer.weights.shape
    channels = window.input[3]
    variant = fit(layer)
    if variant is None or not variant.fixable or layer.weights.min() < -127:
        return None
    whole = channels == outputs >= GROUP
    three = whole and window.taps == (3, 3) and (window.steps.dilation_height, window.steps.dilation_width) == (1, 1)
    stream = ConstantArray.of("stream", _stream(layer, _group_starts(outputs, whole)), DType.UINT32)
    function = "tflmgen_depthwise_window_mve_s8"

    def kernel(by_twos: bool) -> Kernel:
        fields = params(
            "tflmgen_depthwise_window_mve_s8",
            window.channel_fields,
            window.dilation_fields,
            (("filters", outputs // channels),),
            (("padding_value", zero_point(input_type(op, 0))), ("by_twos", by_twos)),
            (("output_zero_point", layer.zero_point),),
            layer.limit_fields(variant.clamped),
        )
        pixels = 4 if by_twos else 3 if three else 1
        table = 0 if whole else 2 * GROUP * -(-outputs // GROUP)
        scratch = Scratch(taps * POINTER_BYTES + table + pixels * channels)
        if channels == outputs:
            # The last group reads again what it has in common with the one before.
            again = -channels % GROUP if whole else 0
            distance = window.group_distance(GROUP) + again + (channels if by_twos and channels > GROUP else 0)
        else:
            distance = window.overlap_distance(outputs)
        operands = (Input(0), stream, scratch, Output(0))
        input_overlaps = overlaps(op.outputs[0], distance)
        return Kernel(function, HEADER, operands, fields, input_overlaps, Cost(request.macs), "mve")

    if three and window.steps.stride_width == 1:
        return replace(kernel(True), smaller=(kernel(False),))
    return kernel(False)


def _of_single_channels(request: GroupedConvolution) -> Kernel | None:
    return depthwise_window_mve(request) if request.group_inputs == 1 else None


def _group_starts(outputs: int, whole: bool) -> list[int]:
    """The first output channel of each group. whole: the last one has eight, some of them once more."""
    return [min(start, outputs - GROUP) if whole else start for start in range(0, outputs, GROUP)]


def _stream(layer: Int8Layer, starts: list[int]) -> NDArray[np.uint32]:
    """Groups of eight output channels; those that the last one lacks are zeros."""
    channels, taps = layer.weights.shape
    missing = ((0, -channels % GROUP), (0, 0))
    weights = np.pad(layer.weights.astype(np.int8), missing)
    factors = np.pad(np.column_stack([as_words(layer.bias), as_words(np.array(layer.scales, dtype=np.int64))]), missing)
    stream = np.zeros((len(starts), 2 * taps + 24), dtype=np.uint32)
    for start, row in zip(starts, stream, strict=True):
        group = slice(start, start + GROUP)
        row[: 2 * taps] = np.ascontiguousarray(weights[group].T).reshape(-1).view("<u4")
        # [4, 2 neighbours, 3 factors] -> even channels' biases, multipliers, shifts; then the odd ones'.
        row[2 * taps :] = factors[group].reshape(4, 2, 3).transpose(1, 2, 0).reshape(-1)
    return stream.reshape(-1)


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Groups of eight channels: eight weights of each tap, and what even channels, then odd ones, are scaled by. Of one
    filter per channel the last group has eight, too, those before the last ones once more."""
    taps, channels = call.taps[0] * call.taps[1], call.channels
    stream = records(call.words(), [("weights", "i1", (taps, 8)), ("scales", "<i4", (2, 3, 4))], -(-channels // 8))
    weights = stream["weights"].transpose(0, 2, 1).reshape(-1, taps).astype(np.int64)
    if weights.min() == -128:
        raise ValueError("a weight is -128")
    constants = stream["scales"].transpose(0, 3, 1, 2).reshape(-1, 3).astype(np.int64)
    again = -channels % 8
    if call.number("filters") == 1 and channels > 8 and again:
        last = slice(len(weights) - 8, len(weights) - 8 + again)
        for rows in (weights, constants):
            if (rows[last] != rows[last.start - again : last.start]).any():
                raise ValueError("channels that two groups have differ")
        weights, constants = (np.delete(rows, last, axis=0) for rows in (weights, constants))
    if weights[channels:].any() or constants[channels:].any():
        raise ValueError("channels that the last group lacks are not zero")
    outputs = Rounding(*constants[:channels].T, zero_point=call.number("output_zero_point"), signed=True).outputs
    return [UnpackedPart(np.arange(channels), weights[:channels], outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(DepthwiseConvolution, depthwise_window_mve), Computes(GroupedConvolution, _of_single_channels)),
    {
        "depthwise_window_mve": depthwise_cost(
            "depthwise vectors", "whole other other_group other_tap border_tap by_ones_tap step", 1, 8
        )
    },
    (Cases("planes scaled_depthwise_window scaled_depthwise3x3 depthwise_filters"),),
    preference=1,
    read=_read,
)
