"""DEPTHWISE_CONV_2D of int16 by int8 for cores with MVE: the stream of packed weights."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, UnpackedSums
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.conv2d_s16_mve import HALVES, grouped
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.requests import Int16Depthwise
from tflmgen.kernels.specification.weights import overlaps, params, range_fields

HEADER = "depthwise_conv2d_s16_mve.h"
GROUP = header_constant(HEADER, "TFLMGEN_DEPTHWISE_S16_MVE_CHANNELS")
"""Channels that are computed at a time."""


def depthwise_conv2d_s16_mve(request: Int16Depthwise) -> Kernel:
    """The kernel of a convolution with one filter per channel."""
    op, window, layer = request.op, request.window, request.layer
    channels, taps = layer.weights.shape
    groups = -(-channels // GROUP)
    weights = np.zeros((groups * GROUP, taps), dtype=np.int8)
    weights[:channels] = layer.weights
    by_tap = np.ascontiguousarray(weights.reshape(groups, GROUP, taps).transpose(0, 2, 1))
    bias, multipliers = (grouped(values)[:, HALVES] for values in (layer.bias, layer.multipliers))
    stream = np.concatenate([bias, multipliers, by_tap.reshape(groups, -1).view("<u4")], axis=1)
    fields = params(
        "tflmgen_depthwise_conv2d_s16_mve",
        window.channel_fields,
        window.dilation_fields,
        range_fields(op, request.activation),
    )
    operands = (Input(0), ConstantArray.of("stream", stream.reshape(-1), DType.UINT32), Output(0))
    input_overlaps = overlaps(op.outputs[0], window.group_distance(channels if groups == 1 else 1))
    macs = op.outputs[0].elements * taps
    return Kernel("tflmgen_depthwise_conv2d_s16_mve", HEADER, operands, fields, input_overlaps, Cost(macs), "mve")


def _read(call: PackedCall) -> list[UnpackedSums]:
    """Groups of eight channels: biases and multipliers, even ones before odd ones, and eight weights of each tap."""
    channels, taps = call.channels, call.taps[0] * call.taps[1]
    fields = [("bias", "<i4", (2, 4)), ("high", "<i4", (2, 4)), ("weights", "i1", (taps, 8))]
    stream = records(call.words(), fields, -(-channels // 8))
    starts, high = (stream[name].transpose(0, 2, 1).reshape(-1) for name in ("bias", "high"))
    weights = stream["weights"].transpose(0, 2, 1).reshape(-1, taps)
    if weights[channels:].any() or starts[channels:].any() or high[channels:].any():
        raise ValueError("channels that the last group lacks are not zero")
    return [UnpackedSums(*(values[:channels].astype(np.int64) for values in (weights, starts, high)))]


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(Int16Depthwise, depthwise_conv2d_s16_mve),),
    {"depthwise_conv2d_s16_mve": depthwise_cost("depthwise int16", "pixel line group_row group_tap block", 1, 8)},
    (Cases("depthwise_conv2d_s16"),),
    read=_read,
)
