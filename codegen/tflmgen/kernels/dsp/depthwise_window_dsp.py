"""DEPTHWISE_CONV_2D in int8 with any window for the DSP extension: packed weights, and when it is applicable."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.common_shift import SHIFT, with_common_shift
from tflmgen.kernels.dsp.depthwise3x3_dsp import ScaledChannel, scaled_channel
from tflmgen.kernels.dsp.dsp_requantisation import SCALE_BITS, requantisations
from tflmgen.kernels.numeric.int8_layer import Int8Layer, accumulators
from tflmgen.kernels.numeric.kernel_requantisation import HighProduct
from tflmgen.kernels.numeric.packed_readers import agreeing, records, without_padding
from tflmgen.kernels.requests import DepthwiseConvolution, GroupedConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.specification.window import POINTER_BYTES

HEADER = "depthwise_window_dsp.h"
NINE = "depthwise_nine_dsp.h"
"""Header of the kernel for nine taps and a common shift."""

SHIFTS = (9, 8, 10, 11, 12)
"""Shifts that are tried for a channel, the one that fits most first."""

GROUP = 4
"""Channels that are computed at a time."""


def depthwise_window_dsp(request: DepthwiseConvolution | GroupedConvolution) -> Kernel | None:
    """The kernel; None where it would not be exact, or under four input channels.

    But for least flash, nine taps may have code of their own.
    """
    op, window, layer = request.op, request.window, request.layer
    channels, taps = window.input[3], layer.weights.shape[1]
    filters = len(layer.weights) // channels
    scaled = _channels(layer) if channels >= GROUP else None
    if scaled is None:
        return None
    pairs = -(-taps // 2)
    fields = params(
        "tflmgen_depthwise_window_dsp_s8",
        window.channel_fields,
        window.dilation_fields,
        (("filters", filters), ("padding_value", zero_point(input_type(op, 0))), ("pairs", pairs)),
        layer.limit_fields(scaled.clamped),
    )
    nine = request.target.optimize != "size" and taps == 9 and scaled.common_shift
    nine = nine and filters == 1
    stream = ConstantArray.of("stream", _stream_of_nine(scaled) if nine else _streams(scaled, filters), DType.UINT32)
    scratch = Scratch(2 * pairs * POINTER_BYTES + channels)
    input_overlaps = overlaps(op.outputs[0], window.group_distance(GROUP)) if filters == 1 else ()
    family = "depthwise_nine_dsp" if nine else "depthwise_window_dsp"
    suffix = "_filters" if filters > 1 else "_odd" if nine and channels % GROUP else ""
    return Kernel(
        f"tflmgen_{family}{suffix}_s8",
        NINE if nine else HEADER,
        (Input(0), stream, scratch, Output(0)),
        fields,
        input_overlaps,
        Cost(request.macs, family),
        "dsp",
    )


def _of_single_channels(request: GroupedConvolution) -> Kernel | None:
    return depthwise_window_dsp(request) if request.group_inputs == 1 else None


@dataclass(frozen=True, slots=True)
class _Channels:
    channels: tuple[ScaledChannel, ...]
    clamped: bool
    common_shift: bool = False


def _channels(layer: Int8Layer) -> _Channels | None:
    """All channels at the finest scale; at coarser ones, each its own, where sums are large and none is negative."""
    requantisation = requantisations(layer)
    # Of sums below zero, outputs that the zero point is to clamp need not be exact.
    clamped = layer.low >= layer.zero_point > -128
    if requantisation is not None and requantisation.fixable:
        requantisation = with_common_shift(layer, requantisation) or requantisation
        channels = [
            ScaledChannel(w.tolist(), SCALE_BITS, (c.bias << SCALE_BITS) + c.offset, c.multiplier, c.addend, c.shift)
            for w, c in zip(layer.weights, requantisation.channels, strict=True)
        ]
        return _Channels(tuple(channels), requantisation.clamped or clamped, requantisation.common_shift)
    if layer.low < layer.zero_point:
        return None
    scaled = []
    bounds = zip(*(b.tolist() for b in accumulators(layer)), strict=True)
    for channel, (least, greatest) in enumerate(bounds):
        trials = (scaled_channel(layer, channel, shift, least, greatest) for shift in SHIFTS)
        layer_channels = next((trial for trial in trials if trial is not None), None)
        if layer_channels is None:
            return None
        scaled.append(layer_channels)
    return _Channels(tuple(scaled), layer.low > -128 or layer.high < 127)


def _streams(layer: _Channels, filters: int) -> NDArray[np.uint32]:
    """The streams of all filters of the channels, one after the other; each holds one filter over all channels."""
    parts = (replace(layer, channels=layer.channels[filter_number::filters]) for filter_number in range(filters))
    return np.concatenate([_stream(part) for part in parts])


def _stream(layer: _Channels) -> NDArray[np.uint32]:
    channels, taps = len(layer.channels), len(layer.channels[0].weights)
    firsts = [min(first, channels - GROUP) for first in range(0, channels, GROUP)]
    pairs = -(-taps // 2)
    padded = np.zeros((channels, 2 * pairs), dtype="<i2")
    for row, channel in zip(padded, layer.channels, strict=True):
        row[:taps] = np.array(channel.weights) << channel.exponent
    # [channel, pair] -> both taps of a pair in one word.
    words = padded.view("<u4")
    stream = np.zeros((len(firsts), 4 + 4 * pairs + 9), dtype=np.uint32)
    for row, first in zip(stream, firsts, strict=True):
        group = layer.channels[first : first + GROUP]
        row[:4] = [channel.start % 2**32 for channel in group]
        row[4 : 4 + 4 * pairs] = words[first : first + GROUP].T.reshape(-1)
        row[-9:-5] = [channel.multiplier for channel in group]
        row[-5:-1] = [channel.addend % 2**32 for channel in group]
        row[-1] = sum(channel.shift << 8 * i for i, channel in enumerate(group))
    return stream.reshape(-1)


def _stream_of_nine(layer: _Channels) -> NDArray[np.uint32]:
    """Four pairs of taps and the last one, see depthwise_nine_dsp.h."""
    count, groups = len(layer.channels), []
    for first in (min(first, count - GROUP) for first in range(0, count, GROUP)):
        group = layer.channels[first : first + GROUP]
        taps = np.array([np.array(channel.weights) << channel.exponent for channel in group], dtype="<i2")
        pairs = np.ascontiguousarray(taps[:, :8]).view("<u4").T.reshape(-1)
        starts = [channel.start % 2**32 for channel in group]
        scales = [channel.multiplier for channel in group] + [channel.addend % 2**32 for channel in group]
        last = np.ascontiguousarray(taps[:, 8]).view("<u4")
        groups.append([*starts, *pairs.tolist(), *last.tolist(), *scales])
    return np.array(groups, dtype=np.uint32).reshape(-1)


def _read(call: PackedCall) -> list[UnpackedPart]:
    """The filters, one after the other, each over all channels."""
    filters, data, parts = call.channels // call.inputs, call.words(), []
    size, left = divmod(len(data), filters)
    if left:
        raise ValueError("the stream has more than its filters")
    for number in range(filters):
        part = _read_filter(call, data[number * size : (number + 1) * size])
        parts.append(replace(part, rows=part.rows * filters + number))
    return parts


def _read_filter(call: PackedCall, data: bytes) -> UnpackedPart:
    """Groups of four channels; the last one ends with the last channel. Weights are scaled by powers of two."""
    channels, taps, nine = call.inputs, call.taps[0] * call.taps[1], "_nine_" in call.function
    pairs, count = taps // 2 if nine else -(-taps // 2), -(-channels // 4)
    last, control = ([("last", "<i2", (4, 1))], []) if nine else ([], [("shift", "u1", (4,))])
    stream = records(
        data,
        [
            ("start", "<i4", (4,)),
            ("pairs", "<i2", (pairs, 4, 2)),
            *last,
            *(("m", "<i4", (4,)), ("addend", "<i4", (4,))),
            *control,
        ],
        count,
    )
    rows = np.minimum(4 * np.arange(count), channels - 4)[:, None] + np.arange(4)
    halves = stream["pairs"].transpose(0, 2, 1, 3).reshape(4 * count, -1)
    if nine:
        halves = np.concatenate([halves, stream["last"].reshape(-1, 1)], axis=1)
    shifts = np.full((count, 4), SHIFT) if nine else stream["shift"]
    weights, *constants = agreeing(
        rows.reshape(-1),
        halves,
        *(part.reshape(-1) for part in (stream["start"], stream["m"], stream["addend"], shifts)),
    )
    outputs = HighProduct(*constants, scale=1, sign_fixes=0 if nine else 128).outputs
    return UnpackedPart(np.arange(channels), without_padding(weights, taps), outputs)


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(DepthwiseConvolution, depthwise_window_dsp), Computes(GroupedConvolution, _of_single_channels)),
    {
        "depthwise_window_dsp": depthwise_cost(
            "depthwise dilated", "line border border_tap four_tap block step clamp", 1, 4, 2
        ),
        "depthwise_nine_dsp": depthwise_cost("depthwise 3x3 fours", "line border row block clamp", 1, 4, 2),
    },
    (Cases("scaled_depthwise_window scaled_depthwise3x3 depthwise_filters"),),
    beside=(NINE,),
    preference=1,
    read=_read,
)
