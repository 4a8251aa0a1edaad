"""What the kernels for instruction sets make of a sum of products: their arithmetic as their headers document it.

Every function returns one of sums [rows, n], which must ascend on either side of an accumulator of 0. Constants are
[rows]. Sums that would wrap raise ValueError.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from tflmgen.kernels.numeric.int8_layer import Integers

_INT32 = 2**31


def _fitting(values: Integers, subject: str) -> Integers:
    """`values`, of 32 bits each."""
    if values.size and (values.min() < -_INT32 or values.max() >= _INT32):
        raise ValueError(f"{subject} leave 32 bits")
    return values


def _saturated(values: Integers) -> Integers:
    return np.clip(values, -128, 127)


def wrapped(values: Integers) -> Integers:
    """Modulo 2^32, as signed numbers."""
    result: Integers = (values + _INT32) % (2 * _INT32) - _INT32
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """VQRDMULH and VRSHL (mve.h): start + sum, multiplied, rounded, shifted with rounding; plus the zero point.

    negative_shifts: as VRSHL takes them. signed: values below zero lose one unit before the shift.
    """

    starts: Integers
    multipliers: Integers
    negative_shifts: Integers
    _: KW_ONLY
    zero_point: int
    signed: bool

    def outputs(self, sums: Integers) -> Integers:
        accumulators = _fitting(sums + self.starts[:, None], "sums")
        first = (accumulators * self.multipliers[:, None] + (1 << 30)) >> 31
        right = -self.negative_shifts[:, None]
        if right.min() < 0:
            raise ValueError("a shift goes to the left")
        if self.signed:
            first = first - (first < 0)
        return _saturated(((first + ((1 << right) >> 1)) >> right) + self.zero_point)


@dataclass(frozen=True, slots=True, eq=False)
class HighProduct:
    """SMMLA (dsp.h): (hi32((start + scale sum) m) + addend) >> shift, where a negative sum loses `fix` before that."""

    starts: Integers
    multipliers: Integers
    addends: Integers
    shifts: Integers
    _: KW_ONLY
    scale: Integers | int = 256
    fixes: Integers | int = 0

    def outputs(self, sums: Integers) -> Integers:
        idle = (self.multipliers == 0)[:, None]
        scaled = np.where(idle, 0, self.starts[:, None] + self.scale * sums)
        high = (_fitting(scaled, "scaled sums") * self.multipliers[:, None] >> 32) + self.addends[:, None]
        fix = np.broadcast_to(np.asarray(self.fixes, dtype=np.int64), self.starts.shape)[:, None]
        shifts = self.shifts[:, None]
        results = _saturated(_fitting(high - np.where(scaled < 0, fix, 0), "scaled sums") >> shifts)
        # Without a multiplier a sum may wrap, so that it has either sign.
        if (idle & (_saturated(high - fix >> shifts) != results)).any():
            raise ValueError("a constant output depends on a sum that may wrap")
        return results


@dataclass(frozen=True, slots=True, eq=False)
class TwoRoundings:
    """Both roundings of TFLite (conv2d_dot_dsp.h): SMMULR of twice the sum, addend, shift."""

    starts: Integers
    multipliers: Integers
    addends: Integers
    shifts: Integers

    def outputs(self, sums: Integers) -> Integers:
        accumulators = _fitting(2 * (sums + self.starts[:, None]), "sums")
        first = (accumulators * self.multipliers[:, None] + _INT32) >> 32
        first = _fitting(first - (first < 0) + self.addends[:, None], "rounded sums")
        return _saturated(first >> self.shifts[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """Products of 32 bits (thumb.h): y = h m + ((l m + h f) >> 10) + c, the output is (y >> s) - 128.

    words: m, c, 256 f + s [rows, 3], or also the bias and what is added to c where sum + bias < 0 [rows, 5]. raised:
    what the kernel's sums have more than the products' sums.
    """

    words: Integers
    raised: Integers

    def outputs(self, sums: Integers) -> Integers:
        own = _fitting(sums + self.raised[:, None], "sums")
        multiplier, addend, both = (column[:, None] for column in self.words.T[:3])
        fraction, shift = both >> 8, both & 255
        high, low = own >> 10, own & 1023
        _fitting(1023 * multiplier + np.abs(high * fraction), "products")
        fine = (low * multiplier + high * fraction) >> 10
        scaled = _fitting(high * multiplier, "products") + fine + addend
        if self.words.shape[1] > 3:
            bias, negative = (column[:, None] for column in self.words.T[3:])
            scaled = scaled + np.where(own + bias < 0, negative, 0)
        return _saturated((_fitting(scaled, "scaled sums") >> shift) - 128)


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A window of sums (thumb.h): d = b - sum, y = 2^31 - (f h >> 10) - (d h + (d l >> 12)), the output y >> 24.

    Below the window the output is 127, above it -128. words: 2^10 b + f, 2^10 r, 2^12 h + l [rows, 3], unsigned.
    """

    words: Integers

    def outputs(self, sums: Integers) -> Integers:
        first, second, third = (column[:, None] for column in self.words.T)
        begin, fraction, width = wrapped(first) >> 10, first & 1023, second >> 10
        high, low = third >> 12, third & 4095
        distance = _fitting(begin - sums, "sums")

        def scaled(inside: Integers) -> Integers:
            value: Integers = _INT32 - (fraction * high >> 10) - (inside * high + (inside * low >> 12))
            return value

        # Between its ends a window's sums wrap if they do so at an end.
        ends = np.stack([distance.min(axis=1), distance.max(axis=1)], axis=1)
        within = (ends[:, :1] <= width) & (ends[:, 1:] >= 0)
        reached = np.where(within, np.clip(ends, 0, width), 0)
        if (reached * low >= 2**32).any():
            raise ValueError("products leave 32 bits")
        _fitting(np.where(within, scaled(reached), 0), "scaled sums")
        inside = scaled(np.clip(distance, 0, width)) >> 24
        results: Integers = np.where(distance < 0, 127, np.where(distance > width, -128, inside))
        return results
