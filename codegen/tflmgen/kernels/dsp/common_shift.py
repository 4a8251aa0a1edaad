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
from numpy.typing import NDArray

from tflmgen.kernels.dsp.dsp_requantisation import SCALE_BITS, DspRequantisations, Requantisation
from tflmgen.kernels.numeric.fixed_point import INT32_END
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers, accumulators

SHIFT = header_constant("dsp.h", "TFLMGEN_DSP_SHIFT")
"""The shift that kernels are compiled for: the one that fits most layers."""

_ADDENDS = 256
"""Addends that are tried around the usual one."""

_MAX_SHIFT = 20
"""Greatest shift of a channel whose multiplier is rounded to the common shift, which loses bits of it."""


def with_common_shift(layer: Int8Layer, requantisation: DspRequantisations) -> DspRequantisations | None:
    """The requantisation with one shift for all channels; None where there is none, or sums need the sign fix."""
    if requantisation.signed:
        return None
    channels = _channels(layer, requantisation.channels)
    return None if channels is None else replace(requantisation, channels=channels, common_shift=True)


def _channels(layer: Int8Layer, requantisation: Sequence[Requantisation]) -> tuple[Requantisation, ...] | None:
    channels = list(requantisation)
    others = [number for number, channel in enumerate(requantisation) if channel.shift != SHIFT]
    for number in others:
        if requantisation[number].multiplier == 0:
            output = requantisation[number].addend >> requantisation[number].shift
            channels[number] = Requantisation(0, 0, (output << SHIFT) + (1 << (SHIFT - 1)), SHIFT)
    rows = np.array([number for number in others if requantisation[number].multiplier], dtype=np.intp)
    if not len(rows):
        return tuple(channels)
    reduced = [_reduced(requantisation[row]) for row in rows]
    if layer.low < layer.zero_point or not all(reduced):
        return None
    least, greatest = (bound[rows] for bound in accumulators(layer))
    intervals = _intervals(layer, rows, np.array(reduced), (least, greatest))
    for row, multiplier, low, high, *bounds in zip(
        rows.tolist(), reduced, *(column.tolist() for column in (*intervals, least, greatest)), strict=True
    ):
        searched = _searched(requantisation[row], (layer.zero_point, multiplier), (low, high), bounds)
        if searched is None:
            return None
        channels[row] = searched
    return tuple(channels)


def _reduced(channel: Requantisation) -> int:
    """The multiplier rounded to the bits that a smaller shift leaves; 0 where there is none."""
    lost = channel.shift - SHIFT
    return (channel.multiplier >> (lost - 1)) + 1 >> 1 if 0 < lost <= _MAX_SHIFT - SHIFT else 0


def _searched(
    channel: Requantisation, scale: tuple[int, int], interval: tuple[int, int], bounds: Sequence[int]
) -> Requantisation | None:
    """The channel with a smaller shift. scale: the zero point and the multiplier; interval: of c; bounds: of sums."""
    zero_point, multiplier = scale
    low, high = interval
    usual = ((2 * zero_point + 1) << (SHIFT - 1)) + (1 << SCALE_BITS - 2 >> channel.shift - SHIFT)
    for distance in range(_ADDENDS):
        for addend in (usual + distance, usual - distance):
            offset = -((addend * 2**32 - low) // multiplier)
            if offset * multiplier + addend * 2**32 <= high:
                candidate = Requantisation(channel.bias, multiplier, addend, SHIFT, offset)
                return candidate if _fits(candidate, bounds[0], bounds[1]) else None
    return None


def _intervals(
    layer: Int8Layer, rows: NDArray[np.intp], reduced: Integers, bounds: tuple[Integers, Integers]
) -> tuple[Integers, Integers]:
    """The intervals of c for these channels: least and greatest value; empty where a channel reaches no output."""
    scales = layer.channels(rows).scales
    multipliers, shifts = (np.array(column, dtype=np.int64)[:, None] for column in zip(*scales, strict=True))
    thresholds = output_thresholds(np.arange(1, 128 - layer.zero_point, dtype=np.int64), multipliers, shifts)
    reached = (thresholds > bounds[0][:, None]) & (thresholds <= bounds[1][:, None])
    wanted = np.arange(layer.zero_point + 1, 128, dtype=np.int64) << (32 + SHIFT)
    starts = wanted - (thresholds << SCALE_BITS) * reduced[:, None]
    ends = starts + (reduced << SCALE_BITS)[:, None]
    limit = np.iinfo(np.int64).max
    low = np.where(reached, starts, -limit).max(axis=1, initial=-limit)
    high = np.where(reached, ends, limit).min(axis=1, initial=limit) - 1
    any_reached = reached.any(axis=1)
    return np.where(any_reached, low, 0), np.where(any_reached, high, -limit)


def output_thresholds(above: Integers, multiplier: int | Integers, shift: int | Integers) -> Integers:
    """Least accumulator for outputs that are this much above the zero point, at least 1.

    (multiplier, shift) of tflmgen_requantize; for accumulators of 32 bits, neither sum nor shift leaves 64.
    """
    # The second rounding's half, then the first one's.
    halves = np.where(np.less(shift, 0), 2 * above - 1 << np.maximum(np.negative(shift) - 1, 0), above)
    return np.asarray(-((2**30 - (halves << 31)) // np.left_shift(multiplier, np.maximum(shift, 0))))


def _fits(channel: Requantisation, least: int, greatest: int) -> bool:
    """Neither the sums nor what they become leave 32 bits."""
    sums = [(a << SCALE_BITS) + channel.offset for a in (least, greatest)]
    scaled = [(s * channel.multiplier >> 32) + channel.addend for s in sums]
    return min(*sums, *scaled) >= -INT32_END and max(*sums, *scaled) < INT32_END
