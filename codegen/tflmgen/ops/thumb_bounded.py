"""Rescaling by two products of 32 bits, for the Thumb kernels, where all sums that are not clamped lie in a window.

The kernels have negated sums S = -(accumulator - bias). In the window, d = S + b is no less than 0 and no more than r;
y = 2^31 - c - (d h + (d l >> 12)), and the output is y >> 24. The multiplier is 2^12 h + l, and c = f h >> 10 a part of
a unit of the accumulator. Below the window the output is 127, above it -128. As in thumb_channels.py, constants are
searched such that each output begins at the same sum as TFLite's: that proves them for every sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.ops.dsp_channels import Integers, Layer, accumulators
from tflmgen.ops.thumb_channels import OUTPUTS, Booleans, factors, output_of, thresholds

_LOW_BITS = 12
_FRACTION_BITS = 10
_SHIFT = 24
_TOP = 2**31
_WIDEST = 2**20 - 1
"""Of windows: d l must fit 32 bits."""

_FARTHEST = 2**21
_OFFSETS = (0, *(sign * 2**n for n in range(11) for sign in (1, -1, 3, -3)))
"""What is added to the nearest multiplier, until one is exact."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """Constants per channel: 2^12 h + l; 2^10 b + f; r.

    clamped  outputs can leave the layer's range and not int8's
    """

    multipliers: Integers
    starts: Integers
    widths: Integers
    clamped: bool

    @property
    def words(self) -> NDArray[np.uint32]:
        """As the kernels read them, [channels, 3]; the low ten bits of the second one are 0."""
        columns = [self.starts, self.widths << _FRACTION_BITS, self.multipliers]
        return (np.stack(columns, axis=1) % 2**32).astype(np.uint32)


def bounded(layer: Layer) -> Bounded | None:
    """Constants with which the kernels are exact for every input, or None where there are none."""
    least, greatest = (bound[:, None] for bound in accumulators(layer))
    left = np.maximum([[shift] for _, shift in layer.scales], 0)
    if (np.maximum(-least, greatest) << left).max() >= _TOP:
        return None
    ends = [output_of(layer, bound) for bound in (least, greatest)]
    low, high = (np.clip(end, layer.low, layer.high) for end in ends)
    search = _Search(layer, least, greatest, thresholds(layer, least, greatest))
    found = search.constants(low == high, low)
    missing = (found < 0)[2]
    nearest = np.rint(factors(layer) * 2.0 ** (_LOW_BITS + _SHIFT)).astype(np.int64)
    missing_for_good = missing & ((nearest + _OFFSETS[-1] >= 2**32) | (nearest <= 0))
    for top in search.tops():
        for offset in _OFFSETS:
            if not missing.any() or missing_for_good.any():
                break
            new, values = search.attempt(np.where(missing_for_good, 1, np.maximum(nearest + offset, 1)), top)
            new &= missing
            found = np.where(new, values, found)
            missing &= ~new
    if missing.any():
        return None
    saturated = [np.clip(end, -128, 127) for end in ends]
    clamped = bool(((saturated[0] != low) | (saturated[1] != high)).any())
    multipliers, starts, widths = found[:, :, 0]
    return Bounded(multipliers, starts, widths, clamped)


@dataclass(frozen=True, slots=True)
class _Search:
    """What a layer's channels give; least and greatest accumulators [channels, 1], thresholds [channels, 255]."""

    layer: Layer
    least: Integers
    greatest: Integers
    thresholds: Integers

    @property
    def _bias(self) -> Integers:
        return self.layer.bias[:, None]

    def constants(self, constant: Booleans, outputs: Integers) -> Integers:
        """(multiplier, start, width) of channels that always have one output; a width of -1 for all others."""
        found = np.full((3, *constant.shape), -1, dtype=np.int64)
        one, none = np.ones_like(outputs), np.zeros_like(outputs)
        above, below = self.greatest - self._bias + 1, self.least - self._bias - 1
        fixed = constant & (self.least == self.greatest)
        for chosen, multiplier, start, width in (
            (constant & (outputs == self.layer.low), one, above, none),
            (constant & (outputs == self.layer.high), one, below, none),
            (fixed, (2**32 - 1) * one, (127 - outputs) * 16 + 8, 2**12 * one),
        ):
            values = np.stack([multiplier, (start << _FRACTION_BITS) + (1 << (_FRACTION_BITS - 1)), width])
            found = np.where(chosen & (np.abs(start) < _FARTHEST), values, found)
        return found

    def tops(self) -> tuple[Integers, ...]:
        """The accumulators at which windows begin, the likeliest first."""
        real = (127.5 - self.layer.zero_point) / np.maximum(factors(self.layer), 2.0**-40)
        top = np.floor(np.clip(real, -_TOP, _TOP)).astype(np.int64)
        return top, top + 1, top - 1

    def attempt(self, multipliers: Integers, top: Integers) -> tuple[Booleans, Integers]:
        """(whether it is exact, (multiplier, start, width)) for windows that begin at `top`."""
        high, low = np.divmod(multipliers, 2**_LOW_BITS)

        def product(distance: Integers) -> Integers:
            result: Integers = distance * high + ((distance * low) >> _LOW_BITS)
            return result

        told_apart = (self.layer.low < OUTPUTS) & (self.layer.high >= OUTPUTS)
        at, before = self.thresholds, self.thresholds - 1
        reached, missed = told_apart & (at <= self.greatest), told_apart & (before >= self.least)
        widest = np.minimum((2**32 - 1) * 2**_LOW_BITS // multipliers, _WIDEST)
        missed &= top - before <= widest
        steps = _TOP - (OUTPUTS.astype(np.int64)[None, :] << _SHIFT)
        at_distance, before_distance = (np.clip(top - a, -1, _WIDEST) for a in (at, before))
        most = np.where(reached, steps - product(at_distance), 2**40).min(axis=1, keepdims=True)
        fewest = np.where(missed, steps - product(before_distance) + 1, -(2**40)).max(axis=1, keepdims=True)
        most, fewest = np.minimum(most, high), np.maximum(fewest, 1)
        fraction = (((fewest + most) >> 1 << _FRACTION_BITS) + high - 1) // np.maximum(high, 1)
        fraction = np.clip(fraction, 1, 2**_FRACTION_BITS - 1)
        offset = (fraction * high) >> _FRACTION_BITS
        width = np.minimum((2**32 - offset) * 2**_LOW_BITS // multipliers, _WIDEST)
        starts = top - self._bias
        exact = (offset >= fewest) & (offset <= most) & (np.abs(starts) < _FARTHEST) & (multipliers < 2**32)
        exact &= (~reached | ((top - at >= 0) & (top - at <= width))).all(axis=1, keepdims=True)
        exact &= (~missed | (top - before >= 0)).all(axis=1, keepdims=True)
        highest = np.where(told_apart, at, -_TOP).max(axis=1, keepdims=True)
        lowest = np.where(told_apart, at, _TOP).min(axis=1, keepdims=True)
        exact &= (top + 1 >= highest) | (self.greatest <= top)
        exact &= (top - width - 1 < lowest) | (self.least >= top - width)
        return exact, np.stack([multipliers, (starts << _FRACTION_BITS) + fraction, width])
