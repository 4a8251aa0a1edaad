"""One shift for all channels of a layer whose outputs are clamped at the zero point.

There TFLite's double rounding is one nested floor, so that an output is known by its thresholds: the least accumulator
t[v] that gives v or more. (hi32((256 a + offset) m) + addend) >> shift reproduces them, for a multiplier m that lost
bits to a smaller shift too, if the sum of both additions, c = offset m + addend 2^32, meets for every v

    256 t[v] m + c >= v 2^(32 + shift) > 256 (t[v] - 1) m + c.

That is one interval for c. Where no offset meets it with the usual addend, one does with an addend nearby.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tflmgen.kernels.dsp.dsp_requantisation import SCALE_BITS, Rescaling, Rescalings
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.numeric.fixed_point import requantize
from tflmgen.kernels.numeric.int8_layer import Integers, Layer, accumulators

SHIFT = header_constant("dsp.h", "TFLMGEN_DSP_SHIFT")
"""The shift that kernels are compiled for: the one that fits most layers."""

_ADDENDS = 256
"""Addends that are tried around the usual one."""

_MOST_SHIFT = 20
_INT32 = 2**31


def with_common_shift(layer: Layer, exact: Rescalings) -> Rescalings | None:
    """`exact` with the same shift in every channel; None where there is none, or where sums need the sign fix."""
    if exact.signed:
        return None
    bounds = list(zip(*(b.tolist() for b in accumulators(layer)), strict=True))
    channels = _channels(layer, exact.channels, bounds)
    return None if channels is None else replace(exact, channels=channels, common_shift=True)


def _channels(
    layer: Layer, exact: Sequence[Rescaling], bounds: Sequence[tuple[int, int]]
) -> tuple[Rescaling, ...] | None:
    channels = []
    for number, (channel, (least, greatest)) in enumerate(zip(exact, bounds, strict=True)):
        scale = layer.scales[number]
        if channel.shift == SHIFT:
            channels.append(channel)
        elif channel.multiplier == 0:
            output = channel.addend >> channel.shift
            channels.append(Rescaling(0, 0, (output << SHIFT) + (1 << (SHIFT - 1)), SHIFT))
        else:
            other = _searched(channel, scale, (layer.zero_point, layer.low), (least, greatest))
            if other is None:
                return None
            channels.append(other)
    return tuple(channels)


def _searched(
    channel: Rescaling, scale: tuple[int, int], zero: tuple[int, int], bounds: tuple[int, int]
) -> Rescaling | None:
    """The channel with a smaller shift and a multiplier of fewer bits. zero: the zero point, and the least output."""
    lost = channel.shift - SHIFT
    multiplier = (channel.multiplier >> (lost - 1)) + 1 >> 1 if lost > 0 else 0
    if multiplier == 0 or zero[1] < zero[0] or channel.shift > _MOST_SHIFT:
        return None
    outputs, thresholds = _thresholds(scale, zero[0], bounds)
    if not len(outputs):
        return None
    wanted = outputs << (32 + SHIFT)
    low = int((wanted - (thresholds << SCALE_BITS) * multiplier).max())
    high = int((wanted - (thresholds - 1 << SCALE_BITS) * multiplier).min()) - 1
    usual = ((2 * zero[0] + 1) << (SHIFT - 1)) + (1 << SCALE_BITS - 2 >> lost)
    for distance in range(_ADDENDS):
        for addend in (usual + distance, usual - distance):
            offset = -((addend * 2**32 - low) // multiplier)
            if offset * multiplier + addend * 2**32 <= high:
                candidate = Rescaling(channel.bias, multiplier, addend, SHIFT, offset)
                return candidate if _fits(candidate, *bounds) else None
    return None


def _thresholds(scale: tuple[int, int], zero_point: int, bounds: tuple[int, int]) -> tuple[Integers, Integers]:
    """Outputs above the zero point that the layer reaches, and the least accumulator for each."""
    multiplier, left = scale
    greatest = min(127, zero_point + requantize(bounds[1], multiplier, left))
    outputs = np.arange(zero_point + 1, greatest + 1, dtype=np.int64)
    above = outputs - zero_point
    # The second rounding's half, then the first one's.
    halves = 2 * above - 1 << -left - 1 if left < 0 else above
    thresholds = -((2**30 - (halves << 31)) // (multiplier << max(left, 0)))
    reached = thresholds > bounds[0]
    return outputs[reached], thresholds[reached]


def _fits(channel: Rescaling, least: int, greatest: int) -> bool:
    """Neither the sums nor what they become leave 32 bits."""
    sums = [(a << SCALE_BITS) + channel.offset for a in (least, greatest)]
    scaled = [(s * channel.multiplier >> 32) + channel.addend for s in sums]
    return min(*sums, *scaled) >= -_INT32 and max(*sums, *scaled) < _INT32
