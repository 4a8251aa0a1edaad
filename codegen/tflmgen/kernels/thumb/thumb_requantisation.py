"""Numbers of a layer's output channels for the Thumb kernels (ARMv6-M has no long multiplication).

They requantise a sum a = 2^10 h + l by y = h m + ((l m + h f) >> 10) + c, out = (y >> s) - 128, saturated: products
of 32 bits only. The multiplier has the bits of m and the 10 more of f. It, c and s are searched such that this equals
TFLite's double rounding for every sum that the layer can have. Both are staircases that only ascend, so it is enough
that each output begins at the same sum in both: at its threshold. TFLite's second rounding goes the other way for
negative sums; where their outputs are not clamped away, they get a sign fix, which is added to c.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.numeric.fixed_point import INT32_END, requantized
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers, accumulators

MAX_TERMS = 2**16
"""Sums of more products of 16 bits could leave 32."""

_BITS = 10
"""Bits by which an accumulator is cut in two for its product, and those of the multiplier's fine part."""

OFFSETS = (
    0,
    *(sign * n for n in (*range(1, 97), *(k * 2**e for e in range(5, 11) for k in (4, 5, 6, 7))) for sign in (1, -1)),
)
"""Steps that are added to the nearest multiplier, in its finest unit, until one is exact."""

_TOGETHER = 32
"""Multipliers of channels that are tried together: NumPy takes as long for one as for some dozen."""

_FINE = 2**12
"""Steps of the multiplier move the last output's beginning by such a part of a unit of the accumulator."""

_FINEST = 22
"""Greatest shift."""

OUTPUTS: Integers = np.arange(-127, 128, dtype=np.int64)
"""Output values that some accumulator value maps to, in ascending order."""


Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ThumbRequantisations:
    """Constants per channel: m; addend c; 256 f + s; and the sign fix, which is added to c where a + bias < 0, as `a`
    lacks the bias.

    signed   some channel's `sign_fixes` is not 0
    clamped  outputs can leave the layer's range and not int8's
    """

    multipliers: Integers
    addends: Integers
    shifts: Integers
    sign_fixes: Integers
    biases: Integers
    signed: bool
    clamped: bool

    @property
    def words(self) -> NDArray[np.uint32]:
        """The constants as the kernels read them, uint32: [channels, 3], or [channels, 5] where signed."""
        return self.all_words if self.signed else self.all_words[:, :3]

    @property
    def all_words(self) -> NDArray[np.uint32]:
        """The packed words of all channels, uint32 [channels, 5]."""
        columns = self.multipliers, self.addends, self.shifts, self.biases, self.sign_fixes
        return (np.stack(columns, axis=1) % 2**32).astype(np.uint32)


def requantisations(layer: Int8Layer, biases: Integers) -> ThumbRequantisations | None:
    """Constants with which the kernels are exact for every input, or None where there are none.

    biases: what the kernel's sums lack, per channel.
    """
    least, greatest = (bound[:, None] for bound in accumulators(layer))
    left = np.maximum([[shift] for _, shift in layer.scales], 0)
    if (np.maximum(-least, greatest) << left).max() >= INT32_END:
        return None
    ends = [output_of(layer, bound) for bound in (least, greatest)]
    low, high = (np.clip(end, layer.low, layer.high) for end in ends)
    staircase = _Staircase(layer, biases[:, None], least, greatest, thresholds(layer, least, greatest))
    shifts = staircase.finest_shifts()
    requantisation = np.zeros((4, len(biases), 1), dtype=np.int64)
    constant = low == high
    requantisation[1] = np.where(constant, low + 128, 0)
    missing = ~constant
    if (missing & staircase.leaves_32_bits(shifts)).any():
        return None
    nearest = np.rint(factors(layer) * 2.0 ** (2 * _BITS + shifts)).astype(np.int64)
    steps = finest_steps(layer, nearest)
    tried = 0
    while tried < len(OFFSETS) and missing.any():
        chosen = np.flatnonzero(missing)
        offsets = next_offsets(tried, len(chosen))
        tried += len(offsets)
        exact, values = staircase.channels(chosen).first_exact(
            nearest[chosen] + offsets * steps[chosen], shifts[chosen]
        )
        requantisation[:, chosen[exact], 0] = values[:, exact]
        missing[chosen[exact]] = False
    if missing.any():
        return None
    saturated = [np.clip(end, -128, 127) for end in ends]
    clamped = bool((((saturated[0] != low) | (saturated[1] != high)) & ~constant).any())
    multiplier, addend, shift, sign_fix = requantisation[:, :, 0]
    return ThumbRequantisations(multiplier, addend, shift, sign_fix, biases, bool(sign_fix.any()), clamped)


@lru_cache(maxsize=2)
def own_requantisations(layer: Int8Layer) -> ThumbRequantisations | None:
    """Requantisations of sums that lack the layer's bias."""
    return requantisations(layer, layer.bias)


@lru_cache(maxsize=2)
def raised_requantisations(layer: Int8Layer) -> ThumbRequantisations | None:
    """Requantisations of sums of products with inputs to which 128 was added; None where sums could leave 32 bits."""
    if layer.weights.shape[1] > MAX_TERMS:
        return None
    return requantisations(layer, layer.bias - 128 * layer.weights.sum(axis=1))


def factors(layer: Int8Layer) -> NDArray[np.float64]:
    """Real factors from accumulators to outputs, [channels, 1]."""
    return np.array([[multiplier * 2.0 ** (shift - 31)] for multiplier, shift in layer.scales])


def next_offsets(tried: int, channels: int) -> Integers:
    """The next of OFFSETS to try at once, after the first `tried`, for so many channels: more for fewer channels."""
    return np.array(OFFSETS[tried : tried + (max(1, _TOGETHER // channels) if tried else 1)])


def finest_steps(layer: Int8Layer, multipliers: Integers) -> Integers:
    """Change of `multipliers` [channels, 1] for an offset of 1 (OFFSETS): at least 1."""
    steps: Integers = np.maximum(np.rint(multipliers * factors(layer) / (len(OUTPUTS) * _FINE)), 1).astype(np.int64)
    return steps


def output_of(layer: Int8Layer, accumulator: Integers) -> Integers:
    """zero point + tflmgen_requantize(accumulator), for [channels, n]."""
    multiplier, shift = np.array(layer.scales, dtype=np.int64).T[:, :, None]
    result: Integers = requantized(accumulator, multiplier, shift) + layer.zero_point
    return result


def thresholds(layer: Int8Layer, least: Integers, greatest: Integers) -> Integers:
    """[channels, 255]: the least accumulator of an output of -127 ... 127 or more; where none has, one too many."""
    low, high = np.repeat(least, 255, axis=1), np.repeat(greatest + 1, 255, axis=1)
    while (low < high).any():
        middle = (low + high) >> 1
        reached = output_of(layer, middle) >= OUTPUTS
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    return low


@dataclass(frozen=True, slots=True)
class _Staircase:
    """Outputs as a step function of each channel's accumulator: thresholds [channels, 255], others [channels, 1]."""

    layer: Int8Layer
    biases: Integers
    least: Integers
    greatest: Integers
    thresholds: Integers

    def channels(self, rows: NDArray[np.intp]) -> _Staircase:
        """The staircases of some of the channels."""
        parts = (part[rows] for part in (self.biases, self.least, self.greatest, self.thresholds))
        return _Staircase(self.layer.channels(rows), *parts)

    def finest_shifts(self) -> Integers:
        """The greatest shifts with which no product and no sum can leave 32 bits; 0 where all of them can."""
        shifts = np.full(self.least.shape, _FINEST, dtype=np.int64)
        while (too_large := self.leaves_32_bits(shifts) & (shifts > 0)).any():
            shifts = shifts - too_large
        return shifts

    def leaves_32_bits(self, shifts: Integers) -> Booleans:
        """Whether a product or a sum could leave 32 bits with these shifts, as it could with any greater ones."""
        span = np.maximum(-self.least, self.greatest) + np.abs(self.biases)
        multipliers = factors(self.layer) * 2.0 ** (_BITS + shifts) + 1
        scaled = multipliers * (2.0 * span / 2**_BITS + 2) + 512.0 * 2.0**shifts
        return np.asarray((multipliers >= 2 ** (30 - _BITS)) | (scaled >= INT32_END))

    def first_exact(self, multipliers: Integers, shifts: Integers) -> tuple[Booleans, Integers]:
        """Whether one of some multipliers [channels, n] is exact, and (m, c, 256 f + s, sign fix) with the first
        one that is, each [channels].
        """
        addends, sign_fixes, exact = (part[:, :, 0] for part in self._addends(multipliers[:, :, None], shifts[:, None]))
        controls = (multipliers % 2**_BITS << 8) + shifts
        chosen = np.arange(len(exact)), exact.argmax(axis=1)
        values = np.stack([part[chosen] for part in (multipliers >> _BITS, addends, controls, sign_fixes)])
        return exact[chosen], values

    def _addends(self, multipliers: Integers, shifts: Integers) -> tuple[Integers, Integers, Booleans]:
        """(addend c, sign fix, whether they are exact), for multipliers 2^10 m + f.

        All but shifts [channels, 1, 1] are [channels, n, 1]; what is said of all thresholds is in a last axis.
        Each threshold bounds c from both sides: there the output must be reached, one before it must not.
        """

        biases, least_sum, greatest_sum, at = (
            part[:, None] for part in (self.biases, self.least, self.greatest, self.thresholds)
        )

        def scaled(accumulators: Integers) -> Integers:
            high, low = np.divmod(accumulators - biases, 2**_BITS)
            coarse, fine = np.divmod(multipliers, 2**_BITS)
            result: Integers = high * coarse + ((low * coarse + high * fine) >> _BITS)
            return result

        unclamped = (self.layer.low < OUTPUTS) & (self.layer.high >= OUTPUTS)
        steps = (OUTPUTS + 128) << shifts
        before = at - 1
        reached, missed = unclamped & (at <= greatest_sum), unclamped & (before >= least_sum)
        least, greatest = steps - scaled(at), steps - 1 - scaled(before)

        def bounds(reached: Booleans, missed: Booleans) -> tuple[Integers, Integers]:
            return (
                np.where(reached, least, -INT32_END).max(axis=-1, keepdims=True),
                np.where(missed, greatest, INT32_END - 1).min(axis=-1, keepdims=True),
            )

        low, high = bounds(reached & (at >= 0), missed & (before >= 0))
        negative_low, negative_high = bounds(reached & (at < 0), missed & (before < 0))
        both = np.maximum(low, negative_low), np.minimum(high, negative_high)
        is_first = both[0] <= both[1]
        addends = np.where(is_first, _between(*both), _between(low, high))
        sign_fixes = np.where(is_first, 0, _between(negative_low, negative_high) - addends)
        exact = (multipliers >= 2 ** (2 * _BITS)) & (is_first | ((low <= high) & (negative_low <= negative_high)))
        return addends, sign_fixes, exact


def _between(low: Integers, high: Integers) -> Integers:
    """The middle; where one side is open, near the other."""
    middle = (low + high) >> 1
    result: Integers = np.where(low == -INT32_END, high, np.where(high == INT32_END - 1, low, middle))
    return result
