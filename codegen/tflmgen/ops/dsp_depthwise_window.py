"""DEPTHWISE_CONV_2D in int8 with any window for cores with the DSP extension: packed weights, and when it is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Scratch
from tflmgen.ops.dsp_channels import Layer, Rescalings, rescalings
from tflmgen.ops.rules import input_type, zero_point
from tflmgen.ops.weights import overlaps, params
from tflmgen.ops.window import Window
from tflmgen.types import DType

HEADER = "depthwise_window_dsp.h"
POINTER_BYTES = 4
SIGN_FIX = 128


def depthwise_window_dsp(op: OperatorInstance, window: Window, layer: Layer) -> Kernel | None:
    """The kernel of a layer with one filter per channel; None where it would not be exact, or under four channels.

    layer.weights: [channels, taps].
    """
    channels, taps = layer.weights.shape
    exact = rescalings(layer)
    if exact is None or channels < 4:
        return None
    pairs = -(-taps // 2)
    fields = params(
        "tflmgen_depthwise_window_dsp_s8",
        window.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("pairs", pairs)),
        (("sign_fix", SIGN_FIX if exact.signed else 0),),
        (("output_min", layer.low if exact.clamped else -128), ("output_max", layer.high if exact.clamped else 127)),
    )
    stream = ConstantArray.of("stream", _stream(layer, exact), DType.UINT32)
    scratch = Scratch(2 * pairs * POINTER_BYTES + channels)
    over_input = overlaps(op.outputs[0], window.overlap_distance(channels))
    operands = (Input(0), stream, scratch, Output(0))
    macs = op.outputs[0].elements * taps
    return Kernel("tflmgen_depthwise_window_dsp_s8", HEADER, operands, fields, over_input, macs, "dsp")


def _stream(layer: Layer, exact: Rescalings) -> NDArray[np.uint32]:
    channels, taps = layer.weights.shape
    firsts = [min(first, channels - 4) for first in range(0, channels, 4)]
    pairs = -(-taps // 2)
    padded = np.zeros((channels, 2 * pairs), dtype=np.int8)
    padded[:, :taps] = layer.weights
    stream = np.zeros((len(firsts), 4 + 2 * pairs + 9), dtype=np.uint32)
    for row, first in zip(stream, firsts, strict=True):
        group = exact.channels[first : first + 4]
        row[:4] = [channel.bias % 2**32 for channel in group]
        # [channel, pair, tap] -> for each pair two words: the lower channels' first taps, their second taps; the upper.
        four = padded[first : first + 4].reshape(2, 2, pairs, 2).transpose(2, 0, 3, 1)
        row[4 : 4 + 2 * pairs] = np.ascontiguousarray(four).reshape(-1).view("<u4")
        row[-9] = sum(channel.shift << 8 * i for i, channel in enumerate(group))
        row[-8:-4] = [channel.multiplier for channel in group]
        row[-4:] = [channel.addend % 2**32 for channel in group]
    return stream.reshape(-1)
