"""Requantisation as the kernels for DSP, MVE and Thumb compute it, modelled on integers for proofs.

`outputs` maps sums [rows, n] to int8 outputs [rows, n]; the sums of a row must ascend on either side of an accumulator
of 0. Constants have shape [rows]. ValueError is raised where a kernel's 32-bit arithmetic would wrap. The formulas are
those that the kernels' headers document.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from tflmgen.kernels.numeric.fixed_point import INT32_END
from tflmgen.kernels.numeric.int8_layer import Integers


def _fitting(values: Integers, subject: str) -> Integers:
    """`values` unchanged. Raises ValueError where one needs more than 32 bits; `subject` names them."""
    if values.size and (values.min() < -INT32_END or values.max() >= INT32_END):
        raise ValueError(f"{subject} leave 32 bits")
    return values


def _saturated(values: Integers) -> Integers:
    return np.clip(values, -128, 127)


def wrapped(values: Integers) -> Integers:
    """`values` modulo 2^32, as signed 32-bit integers."""
    result: Integers = (values + INT32_END) % (2 * INT32_END) - INT32_END
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """MVE (mve.h): start + sum, VQRDMULH by the multiplier, VRSHL by the shift, plus the zero point.

    negative_shifts: right shifts as negative numbers, as VRSHL takes them. signed: products below zero lose one unit
    before the shift, which rounds halves away from zero.
    """

    starts: Integers
    multipliers: Integers
    negative_shifts: Integers
    _: KW_ONLY
    zero_point: int
    signed: bool

    def outputs(self, sums: Integers) -> Integers:
        """int8 outputs of sums of products, both [channels, sums]. Raises ValueError where the C would overflow."""
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
    """DSP (dsp.h, SMMLA): (hi32((start + scale * sum) * m) + addend - (sign fix if the sum is negative)) >> shift."""

    starts: Integers
    multipliers: Integers
    addends: Integers
    shifts: Integers
    _: KW_ONLY
    scale: Integers | int = 256
    sign_fixes: Integers | int = 0

    def outputs(self, sums: Integers) -> Integers:
        """int8 outputs of sums of products, both [channels, sums]. Raises ValueError where the C would overflow."""
        idle = (self.multipliers == 0)[:, None]
        scaled = np.where(idle, 0, self.starts[:, None] + self.scale * sums)
        high = (_fitting(scaled, "scaled sums") * self.multipliers[:, None] >> 32) + self.addends[:, None]
        sign_fix = np.broadcast_to(np.asarray(self.sign_fixes, dtype=np.int64), self.starts.shape)[:, None]
        shifts = self.shifts[:, None]
        results = _saturated(_fitting(high - np.where(scaled < 0, sign_fix, 0), "scaled sums") >> shifts)
        # Without a multiplier a sum may wrap, so that it has either sign.
        if (idle & (_saturated(high - sign_fix >> shifts) != results)).any():
            raise ValueError("a constant output depends on a sum that may wrap")
        return results


@dataclass(frozen=True, slots=True, eq=False)
class TwoRoundings:
    """DSP (conv2d_dot_dsp.h): both roundings of TFLite, by SMMULR of twice the sum, an addend and a shift."""

    starts: Integers
    multipliers: Integers
    addends: Integers
    shifts: Integers

    def outputs(self, sums: Integers) -> Integers:
        """int8 outputs of sums of products, both [channels, sums]. Raises ValueError where the C would overflow."""
        accumulators = _fitting(2 * (sums + self.starts[:, None]), "sums")
        first = (accumulators * self.multipliers[:, None] + INT32_END) >> 32
        first = _fitting(first - (first < 0) + self.addends[:, None], "rounded sums")
        return _saturated(first >> self.shifts[:, None])


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """Thumb (thumb.h), multiplying in two halves: y = h m + ((l m + h f) >> 10) + c; the output is (y >> s) - 128.

    h and l are sum >> 10 and sum & 1023. words: [rows, 3] with m, c and 256 f + s, or [rows, 5] with the bias and the
    sign fix, which is added to c for sum + bias < 0, behind them. raised: the constant by which the kernel's sums
    exceed the sums of products.
    """

    words: Integers
    raised: Integers

    def outputs(self, sums: Integers) -> Integers:
        """int8 outputs of sums of products, both [channels, sums]. Raises ValueError where the C would overflow."""
        own = _fitting(sums + self.raised[:, None], "sums")
        multiplier, addend, both = (column[:, None] for column in self.words.T[:3])
        fraction, shift = both >> 8, both & 255
        high, low = own >> 10, own & 1023
        _fitting(1023 * multiplier + np.abs(high * fraction), "products")
        fine = (low * multiplier + high * fraction) >> 10
        scaled = _fitting(high * multiplier, "products") + fine + addend
        if self.words.shape[1] > 3:
            bias, sign_fix = (column[:, None] for column in self.words.T[3:])
            scaled = scaled + np.where(own + bias < 0, sign_fix, 0)
        return _saturated((_fitting(scaled, "scaled sums") >> shift) - 128)


@dataclass(frozen=True, slots=True, eq=False)
class BoundedSums:
    """Thumb (thumb.h), linear within a range of sums: with d = b - sum the output is
    (2^31 - (f h >> 10) - (d h + (d l >> 12))) >> 24 for 0 <= d <= r, 127 for d < 0, and -128 for d > r.

    words: 2^10 b + f, 2^10 r and 2^12 h + l [rows, 3], unsigned.
    """

    words: Integers

    def outputs(self, sums: Integers) -> Integers:
        """int8 outputs of sums of products, both [channels, sums]. Raises ValueError where the C would overflow."""
        first, second, third = (column[:, None] for column in self.words.T)
        begin, fraction, width = wrapped(first) >> 10, first & 1023, second >> 10
        high, low = third >> 12, third & 4095
        distance = _fitting(begin - sums, "sums")

        def scaled(inside: Integers) -> Integers:
            value: Integers = INT32_END - (fraction * high >> 10) - (inside * high + (inside * low >> 12))
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
