"""DEPTHWISE_CONV_2D of int16 by int8 for cores with the DSP extension: packed weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, UnpackedSums
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.int16_weights import ORDER, in_order
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.packed_readers import agreeing
from tflmgen.kernels.requests import Int16Depthwise
from tflmgen.kernels.specification.weights import overlaps, params, range_fields

CHANNELS = header_constant("depthwise_conv2d_s16_dsp.h", "TFLMGEN_DEPTHWISE_S16_DSP_CHANNELS")
"""Channels that are computed at a time."""


def depthwise_conv2d_s16_dsp(request: Int16Depthwise) -> Kernel | None:
    """The kernel of a convolution with one filter per channel; None on cores with MVE, whose kernel is faster."""
    if "mve" in request.target.instructions:
        return None
    op, window, layer = request.op, request.window, request.layer
    channels, taps = layer.weights.shape
    rows = _rows_of_groups(channels)
    padded = [
        np.pad(values, (0, max(0, CHANNELS - channels))) for values in (*layer.weights.T, layer.bias, layer.multipliers)
    ]
    weights = np.stack(padded[:taps])[:, rows[:, ORDER]].reshape(taps, -1)
    bias, multipliers = padded[taps][rows], padded[taps + 1][rows]
    steps = 2 * np.diff(rows[:, 0], append=rows[-1, 0])
    fields = params(
        "tflmgen_depthwise_conv2d_s16_dsp",
        window.channel_fields,
        window.dilation_fields,
        range_fields(op, request.activation),
    )
    operands = (
        Input(0),
        ConstantArray.of("weights", weights, DType.INT8),
        ConstantArray.of("bias", bias.reshape(-1), DType.INT32),
        ConstantArray.of("multipliers", np.column_stack([multipliers, steps]).reshape(-1), DType.INT32),
        Output(0),
    )
    distance = window.group_distance(CHANNELS if channels >= CHANNELS else 1)
    input_overlaps = overlaps(op.outputs[0], distance)
    macs = op.outputs[0].elements * taps
    header = "depthwise_conv2d_s16_dsp.h"
    return Kernel("tflmgen_depthwise_conv2d_s16_dsp", header, operands, fields, input_overlaps, Cost(macs), "dsp")


def _rows_of_groups(channels: int) -> NDArray[np.int64]:
    """The channels of each group of four, [groups, 4]; the last ones are the last four."""
    firsts = np.minimum(np.arange(0, channels, CHANNELS), max(0, channels - CHANNELS))
    return firsts[:, None] + np.arange(CHANNELS)


def _read(call: PackedCall) -> list[UnpackedSums]:
    """Weights [taps, groups, 4] in the order 0, 2, 1, 3; biases; multipliers and the bytes to the next group's values.

    The last group are the last four channels; fewer than four are followed by zeros.
    """
    channels, taps = call.channels, call.taps[0] * call.taps[1]
    groups = -(-channels // 4)
    weights = in_order(np.frombuffer(call.words(1), dtype="i1").reshape(taps, groups, 4)).reshape(taps, -1).T
    starts = np.frombuffer(call.words(2), dtype="<i4").reshape(groups, 4).astype(np.int64).reshape(-1)
    scales = np.frombuffer(call.words(3), dtype="<i4").reshape(groups, 5).astype(np.int64)
    high, firsts = scales[:, :4].reshape(-1), np.cumsum([0, *scales[:-1, 4] // 2])
    if channels < 4:
        if weights[channels:].any() or starts[channels:].any() or high[channels:].any() or scales[0, 4]:
            raise ValueError("channels that the group lacks are not zero")
        return [UnpackedSums(weights[:channels], starts[:channels], high[:channels])]
    rows = (firsts[:, None] + np.arange(4)).reshape(-1)
    if scales[-1, 4] or set(rows) != set(range(channels)):
        raise ValueError("the groups are not those of all channels")
    return [UnpackedSums(*agreeing(rows, weights, starts, high))]


KERNEL = KernelDeclaration(
    "depthwise_conv2d_s16_dsp.h",
    "dsp",
    (Computes(Int16Depthwise, depthwise_conv2d_s16_dsp),),
    {"depthwise_conv2d_s16_dsp": depthwise_cost("depthwise int16", "pixel block group_row four_tap clamp", 1, 4)},
    (Cases("depthwise_conv2d_s16"),),
    read=_read,
)
