"""Requantisation by two products of 32 bits, for the Thumb kernels, where all sums not clamped lie in a window.

The kernels have negated sums S = -(accumulator - bias). In the window, d = S + b is no less than 0 and no more than r;
y = 2^31 - c - (d h + (d l >> 12)), and the output is y >> 24. The multiplier is 2^12 h + l, and c = f h >> 10 a part of
a unit of the accumulator. Below the window the output is 127, above it -128. As in thumb_requantisation.py, constants
are searched such that each output begins at the same sum as TFLite's: that proves them for every sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.numeric.fixed_point import INT32_END
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers, accumulators
from tflmgen.kernels.thumb.thumb_requantisation import (
    OFFSETS,
    OUTPUTS,
    Booleans,
    factors,
    finest_steps,
    next_offsets,
    output_of,
    thresholds,
)

_LOW_BITS = 12
"""Bits of a multiplier that are multiplied apart, so that products of distances have 32 bits."""

_FRACTION_BITS = 10
"""Bits of a start below the unit of the accumulator."""

_SHIFT = 24
"""Bits below an output in the scaled distance: the output is its upper byte."""

_WIDEST = 2**20 - 1
"""Largest width of a window: its product with the low bits of the multiplier, d l, must fit 32 bits."""

_FARTHEST = 2**21
"""Magnitude that a start must stay below: it shares a word with its fraction bits."""

FEWEST_REQUANTISED = 4
"""Channels that are searched for thoroughly though they are most of a layer's."""


@dataclass(frozen=True, slots=True)
class BoundedConstants:
    """Constants per channel: 2^12 h + l; 2^10 b + f; r.

    clamped  outputs can leave the layer's range and not int8's
    """

    multipliers: Integers
    starts: Integers
    widths: Integers
    clamped: bool

    @property
    def words(self) -> NDArray[np.uint32]:
        """The constants as the kernels read them, uint32 [channels, 3]; the low ten bits of the second one are 0."""
        columns = [self.starts, self.widths << _FRACTION_BITS, self.multipliers]
        return (np.stack(columns, axis=1) % 2**32).astype(np.uint32)


def bounded(layer: Int8Layer) -> BoundedConstants | None:
    """Constants with which the kernels are exact for every input, or None where there are none."""
    known = bounded_channels(layer)
    return known[0] if known and known[1].all() else None


@lru_cache(maxsize=2)
def bounded_channels(layer: Int8Layer) -> tuple[BoundedConstants, Booleans] | None:
    """Constants as bounded() returns them, and whether they are exact for each channel, [channels]; None where sums may
    overflow.
    """
    least, greatest = (bound[:, None] for bound in accumulators(layer))
    left = np.maximum([[shift] for _, shift in layer.scales], 0)
    if (np.maximum(-least, greatest) << left).max() >= INT32_END:
        return None
    ends = [output_of(layer, bound) for bound in (least, greatest)]
    low, high = (np.clip(end, layer.low, layer.high) for end in ends)
    search = _Search(layer, least, greatest, thresholds(layer, least, greatest))
    constants = search.constants(low == high, low)
    nearest = np.rint(factors(layer) * 2.0 ** (_LOW_BITS + _SHIFT)).astype(np.int64)
    steps = finest_steps(layer, nearest)
    tried = 0
    while tried < len(OFFSETS):
        rows = np.flatnonzero(constants[2] < 0)
        if not len(rows) or (tried and len(rows) > max(FEWEST_REQUANTISED, len(nearest) // 2)):
            break
        offsets = next_offsets(tried, len(rows))
        tried += len(offsets)
        multipliers = np.clip(nearest[rows] + offsets * steps[rows], 1, 2**32 - 1)
        constants[:, rows, 0] = search.channels(rows).first_exact(multipliers)
    exact = (constants >= 0)[2, :, 0]
    saturated = [np.clip(end, -128, 127) for end in ends]
    clamped = (saturated[0] != low) | (saturated[1] != high)
    multipliers, starts, widths = np.where(exact, constants[:, :, 0], 0)
    return BoundedConstants(multipliers, starts, widths, bool(clamped[exact].any())), exact


@dataclass(frozen=True, slots=True)
class _Search:
    """Search for constants: a layer's least and greatest accumulators [channels, 1], thresholds [channels, 255]."""

    layer: Int8Layer
    least: Integers
    greatest: Integers
    thresholds: Integers

    def channels(self, rows: NDArray[np.intp]) -> _Search:
        """The search for some of the channels."""
        return _Search(self.layer.channels(rows), self.least[rows], self.greatest[rows], self.thresholds[rows])

    @property
    def _bias(self) -> Integers:
        return self.layer.bias[:, None]

    def constants(self, constant: Booleans, outputs: Integers) -> Integers:
        """(multiplier, start, width) of channels that always have one output; a width of -1 for all others."""
        terms = np.full((3, *constant.shape), -1, dtype=np.int64)
        ones, none = np.ones_like(outputs), np.zeros_like(outputs)
        above, below = self.greatest - self._bias + 1, self.least - self._bias - 1
        fixed = constant & (self.least == self.greatest)
        for chosen, multiplier, start, width in (
            (constant & (outputs == self.layer.low), ones, above, none),
            (constant & (outputs == self.layer.high), ones, below, none),
            (fixed, (2**32 - 1) * ones, (127 - outputs) * 16 + 8, 2**12 * ones),
        ):
            values = np.stack([multiplier, (start << _FRACTION_BITS) + (1 << (_FRACTION_BITS - 1)), width])
            terms = np.where(chosen & (np.abs(start) < _FARTHEST), values, terms)
        return terms

    def first_exact(self, multipliers: Integers) -> Integers:
        """(multiplier, start, width), each [channels], of the first of some multipliers [channels, n] that is exact; a
        width of -1 where none is.
        """
        tops = self._tops()
        tries = np.repeat(multipliers, tops.shape[1], axis=1), np.tile(tops, multipliers.shape[1])
        exact, values = self._attempt(*(each[:, :, None] for each in tries))
        first = exact[:, :, 0].argmax(axis=1)
        chosen = np.arange(len(first)), first
        result: Integers = np.where(exact[chosen][:, 0], values[:, chosen[0], first, 0], -1)
        return result

    def _tops(self) -> Integers:
        """The accumulators at which windows begin, [channels, 3], the likeliest first."""
        real = (127.5 - self.layer.zero_point) / np.maximum(factors(self.layer), 2.0**-40)
        top = np.floor(np.clip(real, -INT32_END, INT32_END)).astype(np.int64)
        return np.concatenate([top, top + 1, top - 1], axis=1)

    def _attempt(self, multipliers: Integers, top: Integers) -> tuple[Booleans, Integers]:
        """(whether it is exact, (multiplier, start, width)) for windows that begin at `top`, all [channels, tries, 1].

        Of each try, what is said of all thresholds is in a last axis.
        """
        high, low = np.divmod(multipliers, 2**_LOW_BITS)

        def product(distance: Integers) -> Integers:
            result: Integers = distance * high + ((distance * low) >> _LOW_BITS)
            return result

        unclamped = (self.layer.low < OUTPUTS) & (self.layer.high >= OUTPUTS)
        at, least, greatest, bias = (part[:, None] for part in (self.thresholds, self.least, self.greatest, self._bias))
        before = at - 1
        reached, missed = unclamped & (at <= greatest), unclamped & (before >= least)
        widest = np.minimum((2**32 - 1) * 2**_LOW_BITS // multipliers, _WIDEST)
        missed = missed & (top - before <= widest)
        steps = INT32_END - (OUTPUTS.astype(np.int64) << _SHIFT)
        at_distance, before_distance = (np.clip(top - a, -1, _WIDEST) for a in (at, before))
        upper = np.where(reached, steps - product(at_distance), 2**40).min(axis=-1, keepdims=True)
        fewest = np.where(missed, steps - product(before_distance) + 1, -(2**40)).max(axis=-1, keepdims=True)
        upper, fewest = np.minimum(upper, high), np.maximum(fewest, 1)
        fraction = (((fewest + upper) >> 1 << _FRACTION_BITS) + high - 1) // np.maximum(high, 1)
        fraction = np.clip(fraction, 1, 2**_FRACTION_BITS - 1)
        offset = (fraction * high) >> _FRACTION_BITS
        width = np.minimum((2**32 - offset) * 2**_LOW_BITS // multipliers, _WIDEST)
        starts = top - bias
        exact = (offset >= fewest) & (offset <= upper) & (np.abs(starts) < _FARTHEST) & (multipliers < 2**32)
        exact &= (~reached | ((top - at >= 0) & (top - at <= width))).all(axis=-1, keepdims=True)
        exact &= (~missed | (top - before >= 0)).all(axis=-1, keepdims=True)
        highest = np.where(unclamped, at, -INT32_END).max(axis=-1, keepdims=True)
        lowest = np.where(unclamped, at, INT32_END).min(axis=-1, keepdims=True)
        exact &= (top + 1 >= highest) | (greatest <= top)
        exact &= (top - width - 1 < lowest) | (least >= top - width)
        return exact, np.stack([multipliers, (starts << _FRACTION_BITS) + fraction, width])
