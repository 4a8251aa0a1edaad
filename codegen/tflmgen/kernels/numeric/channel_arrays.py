"""Reads back the constants of portable layer kernels: filter, biases, multipliers and shifts.

Each is an argument of the call, in this order after the input. An int4 filter is stored as int8 unless it stays packed.
"""

from __future__ import annotations

import numpy as np

from tflmgen.ir.kernel import PackedCall, UnpackedSums
from tflmgen.kernels.numeric.int8_layer import Integers

HEADERS = (
    "conv2d.h",
    "conv2d_s16.h",
    "depthwise_conv2d.h",
    "depthwise_conv2d_s16.h",
    "fully_connected.h",
    "fully_connected_s16.h",
    "packed_s4.h",
    "transpose_conv.h",
)


def read_channel_arrays(call: PackedCall) -> list[UnpackedSums]:
    """Filter [channels, terms], biases [channels] and (multiplier, shift) [channels, 2] that the call reads.

    Biases have 32 or 64 bits. A struct with a field `multiplier` has one scale for all channels.
    Raises ValueError where the number of biases or scales is not the number of channels.
    """
    bias, channels = call.arguments[2], call.channels
    wide = "_b64" in call.function or ("_s16" in call.function and "_b32" not in call.function)
    starts: Integers = np.zeros(channels, dtype=np.int64)
    if bias is not None:
        starts = np.frombuffer(bias, dtype="<i8" if wide else "<i4").astype(np.int64)
    if "multiplier" in call.fields:
        scale = call.number("multiplier"), call.number("shift")
        starts = starts + call.fields_product("filter_offset", "row_offset")
        scales = np.tile(np.array(scale, dtype=np.int64), (channels, 1))
    else:
        multipliers = np.frombuffer(call.words(3), dtype="<i4").astype(np.int64)
        scales = np.column_stack([multipliers, np.frombuffer(call.words(4), dtype="i1")])
    if len(starts) != channels or len(scales) != channels:
        raise ValueError("there is not one bias or multiplier per channel")
    return [UnpackedSums(_weights(call), starts, scales=scales)]


def _weights(call: PackedCall) -> Integers | None:
    """The filter [channels, terms] minus its zero point; None where int4 weights stay packed.

    Raises ValueError where the number of weights is not a multiple of the number of channels.
    """
    if "_s4" in call.function:
        return None
    weights = np.frombuffer(call.words(1), dtype="i1").astype(np.int64)
    if len(weights) % call.channels:
        raise ValueError("channels have no common number of weights")
    by_channel = "depthwise" not in call.function
    rows = weights.reshape(call.channels, -1) if by_channel else weights.reshape(-1, call.channels).T
    return rows + (call.number("filter_offset") if "filter_offset" in call.fields else 0)
