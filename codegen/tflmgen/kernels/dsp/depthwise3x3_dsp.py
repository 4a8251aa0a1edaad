"""DEPTHWISE_CONV_2D in int8 for the DSP extension: 3x3 filters over channel planes, and when it is applicable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, Overlap, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.common_shift import output_thresholds
from tflmgen.kernels.numeric.fixed_point import INT32_END, requantize
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers, accumulators
from tflmgen.kernels.numeric.kernel_requantisation import HighProduct
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.requests import DepthwiseConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import params
from tflmgen.kernels.specification.window import Window

HEADER = "depthwise3x3_dsp.h"
PAIRS_HEADER = "depthwise3x3_pairs_dsp.h"
SHIFTS = (9, 8, 10)
"""Shifts that the kernels are compiled for, the one that fits most layers first."""

NAMES = {9: "", 8: "_coarse", 10: "_fine"}
"""Shift -> the part of a C function's name that stands for it."""

FINE_SHIFT = 10
"""A shift that the kernels for two lines at a time are not compiled for."""

PITCHES = (16, 32, 64, 128, 256)
"""Bytes from one row of a plane to the next, which functions of the header are compiled for."""

PLANES_BYTES = (2304, 1152, 576, 0)
"""Bytes of four planes that are tried: with more lines, fewer strips."""

LEAST_LINES = (6, 3, 3, 3)
"""Least number of lines of each of the four planes."""

LEAST_SCALE, GREATEST_SCALE = 2, 8
"""Powers of two that weights of 8 bits are scaled by: below, the first rounding is lost; above, 16 bits overflow."""


def depthwise3x3_dsp(request: DepthwiseConvolution) -> tuple[Kernel, ...]:
    """The kernels of 3x3 filters, with strips of several heights; none is exact for some."""
    layer, window = request.layer, request.window
    channels, steps = len(layer.weights), window.steps
    if window.taps != (3, 3) or channels < 4 or (steps.dilation_height, steps.dilation_width) != (1, 1):
        return ()
    if steps.stride_width > 1 or steps.stride_height > 2 or window.width.padding > 1:
        return ()
    if window.input[2] + window.width.padding < 2:
        return ()
    words = -(-window.width.output // 2)
    pitch = next((p for p in PITCHES if p >= 4 * (words + 1)), None)
    scaled = _channels(layer)
    if pitch is None or scaled is None:
        return ()
    line_counts = [max(least, size // (4 * pitch)) for size, least in zip(PLANES_BYTES, LEAST_LINES, strict=True)]
    can_pair = scaled.relu and scaled.shift != FINE_SHIFT and steps.stride_height == 1
    strips = dict.fromkeys(_strip(window, lines, can_pair) for lines in line_counts)
    return tuple(_kernel(request, scaled, pitch, *strip) for strip in strips)


def _strip(window: Window, lines: int, can_pair: bool) -> tuple[int, bool]:
    """Output lines of a strip for which planes have `lines` lines, and whether they are computed two at a time."""
    height = window.height.output
    strip = min(height, (lines - 3) // window.steps.stride_height + 1)
    pairs = strip if strip == height else strip // 2 * 2
    if can_pair and (pairs > 2 or (pairs == 2 and height % 2 == 0)):
        return pairs, True
    return strip, False


def _kernel(request: DepthwiseConvolution, scaled: _Channels, pitch: int, strip: int, pairs: bool) -> Kernel:
    op, window, layer = request.op, request.window, request.layer
    channels = len(layer.weights)
    lines = (strip - 1) * window.steps.stride_height + 3
    odd = window.width.output % 2 == 1
    kind = f"to{pitch // 2 - 2}{NAMES[scaled.shift]}{'_odd' if odd else ''}"
    fields = params(
        "tflmgen_depthwise3x3_dsp_s8",
        window.image_fields,
        (("stride_height", window.steps.stride_height),),
        window.padding_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("output_zero_point", layer.zero_point)),
        layer.limit_fields(scaled.clamped),
        (("strip", strip),),
    )
    packed = ConstantArray.of("channels", scaled.packed, DType.UINT32)
    in_place = channels % 4 == 0 and (window.height.output, window.width.output) == window.input[1:3]
    family = f"depthwise3x3_{'pairs_' if pairs else ''}dsp"
    return Kernel(
        f"tflmgen_{family}_{kind}_s8",
        PAIRS_HEADER if pairs else HEADER,
        (Input(0), packed, Scratch(4 * lines * pitch + pitch + 4 * (odd and not pairs)), Output(0)),
        fields,
        (Overlap(0, 0, 0, exact=True),) if in_place else (),
        Cost(request.macs, family),
        "dsp",
    )


@dataclass(frozen=True, slots=True)
class _Channels:
    """packed: 5 words per channel, as the kernel reads them, for one shift.

    relu: outputs are clamped at the zero point; clamped: some are clamped within int8's range.
    """

    packed: NDArray[np.uint32]
    shift: int
    relu: bool
    clamped: bool


def _channels(layer: Int8Layer) -> _Channels | None:
    """The channels for the first shift that is exact for all of them."""
    relu = layer.low >= layer.zero_point
    bounds = list(zip(*(b.tolist() for b in accumulators(layer)), strict=True))
    for shift in SHIFTS:
        rows = []
        clamped = False
        for channel, (least, greatest) in enumerate(bounds):
            scaled = scaled_channel(layer, channel, shift, least, greatest)
            if scaled is None:
                break
            rows.append(_words(scaled))
            ends = [layer.zero_point + requantize(a, *layer.scales[channel]) for a in (least, greatest)]
            # Of sums below zero, outputs that the zero point is to clamp are not exact.
            below = ends[0] < layer.low or (relu and least < 0)
            clamped |= ends[1] > layer.high < 127 or (layer.low > -128 and below)
        else:
            return _Channels(np.array(rows, dtype=np.uint32).reshape(-1), shift, relu, clamped)
    return None


@dataclass(frozen=True, slots=True)
class ScaledChannel:
    """out = (hi32(2^exponent a multiplier) + addend) >> shift, where 2^exponent a begins as `start`."""

    weights: list[int]
    exponent: int
    start: int
    multiplier: int
    addend: int
    shift: int


def scaled_channel(layer: Int8Layer, channel: int, shift: int, least: int, greatest: int) -> ScaledChannel | None:
    """One channel, where (hi32(2^e a m) + addend) >> shift is exact for every accumulator a in the range.

    That is TFLite's requantisation where 2^e is 2 or more bits finer than its first rounding: shift = e - 1 + r.
    """
    multiplier, scale_shift = layer.scales[channel]
    if max(-least, greatest) << max(scale_shift, 0) >= INT32_END:
        return None
    if least < -INT32_END or greatest >= INT32_END:
        return None
    ends = [layer.zero_point + requantize(a, multiplier, scale_shift) for a in (least, greatest)]
    outputs = [min(max(end, layer.low), layer.high) for end in ends]
    if outputs[0] == outputs[1]:
        zeros = [0] * layer.weights.shape[1]
        start = (outputs[0] - layer.zero_point) << (shift + 2)
        return ScaledChannel(zeros, LEAST_SCALE, start, 2**30, _addend(layer, LEAST_SCALE, shift), shift)
    right = -scale_shift
    if right < 1:
        return None
    candidate = _exact(layer, channel, shift, right, least, greatest)
    if candidate is None and layer.low >= layer.zero_point:
        candidate = _searched(layer, channel, shift, least, greatest)
    if candidate is None:
        return None
    exponent, start, factor = candidate
    addend = _addend(layer, exponent, shift)
    offset = start - (int(layer.bias[channel]) << exponent)
    scaled = [(a << exponent) + offset for a in (least, greatest)]
    requantised = [(a * factor >> 32) + addend for a in scaled]
    if min(*scaled, requantised[0] - (1 << exponent)) < -INT32_END or max(*scaled, *requantised) >= INT32_END:
        return None
    return ScaledChannel(layer.weights[channel].tolist(), exponent, start, factor, addend, shift)


def _addend(layer: Int8Layer, exponent: int, shift: int) -> int:
    return ((2 * layer.zero_point + 1) << (shift - 1)) + (1 << (exponent - 2))


def _exact(
    layer: Int8Layer, channel: int, shift: int, right: int, least: int, greatest: int
) -> tuple[int, int, int] | None:
    """(e, start, multiplier) with the channel's own multiplier."""
    exponent = shift + 1 - right
    if not LEAST_SCALE <= exponent <= GREATEST_SCALE or max(-least, greatest + 1) << exponent > INT32_END:
        return None
    return exponent, int(layer.bias[channel]) << exponent, layer.scales[channel][0]


def _searched(layer: Int8Layer, channel: int, shift: int, least: int, greatest: int) -> tuple[int, int, int] | None:
    """A channel's numbers with a multiplier that lost bits, where an offset of the sum makes all thresholds right.

    A threshold is the least accumulator of an output above the zero point. Each one bounds the offset from both sides:
    that accumulator must reach the output, the one before must not.
    """
    multiplier, scale_shift = layer.scales[channel]
    outputs, thresholds = _thresholds(layer, channel, least, greatest)
    for exponent in range(GREATEST_SCALE, LEAST_SCALE - 1, -1):
        lost = exponent - scale_shift - shift - 1
        if lost <= 0 or max(-least, greatest + 1) << exponent > INT32_END:
            continue
        factor = (multiplier >> (lost - 1)) + 1 >> 1
        if factor == 0:
            continue
        addend = _addend(layer, exponent, shift)
        needed = -(-((outputs << shift) - addend << 32) // factor)
        low = max(-INT32_END, int((needed - (thresholds << exponent)).max(initial=-INT32_END)))
        high = min(INT32_END, int((needed - 1 - (thresholds - 1 << exponent)).min(initial=INT32_END)))
        if low <= high:
            return exponent, (int(layer.bias[channel]) << exponent) + (low + high) // 2, factor
    return None


def _thresholds(layer: Int8Layer, channel: int, least: int, greatest: int) -> tuple[Integers, Integers]:
    """Every output above both the zero point and the least, and the least accumulator that gives it or more."""
    first, last = (requantize(a, *layer.scales[channel]) for a in (least, greatest))
    above = np.arange(max(0, first) + 1, min(127 - layer.zero_point, last) + 1, dtype=np.int64)
    return layer.zero_point + above, output_thresholds(above, *layer.scales[channel])


def _words(channel: ScaledChannel) -> list[int]:
    bytes_ = np.array([*channel.weights, channel.exponent, 0, 0], dtype=np.int8)
    return [*bytes_.view("<u4").tolist(), channel.start % 2**32, channel.multiplier]


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Per channel nine weights, the power of two that they are to be scaled by, the sum's start and the multiplier."""
    stream = records(
        call.words(),
        [("weights", "i1", (9,)), ("power", "i1", ()), ("none", "i1", (2,)), ("start", "<i4", ()), ("m", "<i4", ())],
        call.channels,
    )
    power = stream["power"].astype(np.int64)
    if stream["none"].any() or not ((power >= LEAST_SCALE) & (power <= GREATEST_SCALE)).all():
        raise ValueError("a channel's scale is none")
    shift = 8 if "_coarse" in call.function else 10 if "_fine" in call.function else 9
    addends = ((2 * call.number("output_zero_point") + 1) << (shift - 1)) + (1 << power - 2)
    sign_fixes: NDArray[np.int64] | int = 0 if "_pairs_" in call.function else 1 << power - 1
    rest = HighProduct(
        stream["start"].astype(np.int64),
        stream["m"].astype(np.int64),
        addends,
        np.full(call.channels, shift),
        scale=(1 << power)[:, None],
        sign_fixes=sign_fixes,
    )
    return [UnpackedPart(np.arange(call.channels), stream["weights"].astype(np.int64), rest.outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(DepthwiseConvolution, depthwise3x3_dsp),),
    {
        "depthwise3x3_dsp": depthwise_cost("depthwise 3x3 by one", "plane strip moved_value block clamp", 1, 4),
        "depthwise3x3_pairs_dsp": depthwise_cost("depthwise 3x3 clamped", "strip plane_pair pair block clamp", 2, 4),
    },
    (Cases("planes", in_turn="dsp.depthwise3x3_dsp"),),
    beside=(PAIRS_HEADER,),
    read=_read,
)
