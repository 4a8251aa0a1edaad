"""DEPTHWISE_CONV_2D of int16 by int8 for cores with the DSP extension: packed weights."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Output, PackedCall, UnpackedSums
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.int16_weights import ORDER, in_order
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.numeric.weights import overlaps, params, range_fields
from tflmgen.kernels.requests import Int16Depthwise

CHANNELS = header_constant("depthwise_conv2d_s16_dsp.h", "TFLMGEN_DEPTHWISE_S16_DSP_CHANNELS")
"""Channels that are computed at a time."""


def depthwise_conv2d_s16_dsp(request: Int16Depthwise) -> Kernel | None:
    """The kernel of a convolution with one filter per channel; None on cores with MVE, whose kernel is faster."""
    if "mve" in request.target.instructions:
        return None
    op, window, layer = request.op, request.window, request.layer
    channels, taps = layer.weights.shape
    weights = layer.weights.T.copy()
    whole = channels - channels % CHANNELS
    weights[:, :whole] = weights[:, :whole].reshape(taps, -1, CHANNELS)[:, :, ORDER].reshape(taps, whole)
    fields = params(
        "tflmgen_depthwise_conv2d_s16_dsp",
        window.channel_fields,
        window.dilation_fields,
        range_fields(op, request.activation),
    )
    operands = (
        Input(0),
        ConstantArray.of("weights", weights, DType.INT8),
        ConstantArray.of("bias", layer.bias, DType.INT32),
        ConstantArray.of("multipliers", layer.multipliers, DType.INT32),
        Output(0),
    )
    distance = window.group_distance(CHANNELS if channels == CHANNELS else 1)
    over_input = overlaps(op.outputs[0], distance)
    macs = op.outputs[0].elements * taps
    header = "depthwise_conv2d_s16_dsp.h"
    return Kernel("tflmgen_depthwise_conv2d_s16_dsp", header, operands, fields, over_input, macs, "dsp")


def _read(call: PackedCall) -> list[UnpackedSums]:
    """Weights [taps, channels], where whole fours of channels are in the order 0, 2, 1, 3; biases; multipliers."""
    channels = call.channels
    rows = np.frombuffer(call.words(1), dtype="i1").reshape(-1, channels)
    whole = channels // 4 * 4
    fours = in_order(rows[:, :whole].reshape(len(rows), -1, 4)).reshape(len(rows), whole)
    weights = np.concatenate([fours, rows[:, whole:].astype(np.int64)], axis=1)
    starts, high = (np.frombuffer(call.words(i), dtype="<i4").astype(np.int64) for i in (2, 3))
    return [UnpackedSums(weights.T, starts, high)]


KERNEL = KernelDeclaration(
    "depthwise_conv2d_s16_dsp.h",
    "dsp",
    (Computes(Int16Depthwise, depthwise_conv2d_s16_dsp),),
    {
        "depthwise_conv2d_s16_dsp": depthwise_cost(
            "depthwise int16", "pixel four_tap rest_row block row_output tap_output clamp", 1, 4
        )
    },
    (Cases("depthwise_conv2d_s16"),),
    read=_read,
)
