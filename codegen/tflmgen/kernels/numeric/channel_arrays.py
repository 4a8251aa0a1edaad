"""What the portable kernels of layers have beside the filter: arrays of biases, multipliers and shifts, read back.

An argument each, behind the input and the filter. A filter of int4 is an array of int8, unless it stays packed.
"""

from __future__ import annotations

import numpy as np

from tflmgen.ir import PackedCall, UnpackedSums
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
    """Biases of 32 or 64 bits, and (multiplier, shift) of each channel, or of all by the struct."""
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
    """The filter [channels, terms] less its zero point; None where it is packed, which only a tensor is."""
    if "_s4" in call.function:
        return None
    weights = np.frombuffer(call.words(1), dtype="i1").astype(np.int64)
    if len(weights) % call.channels:
        raise ValueError("channels have no common number of weights")
    by_channel = "depthwise" not in call.function
    rows = weights.reshape(call.channels, -1) if by_channel else weights.reshape(-1, call.channels).T
    return rows + (call.number("filter_offset") if "filter_offset" in call.fields else 0)
