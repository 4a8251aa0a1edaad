"""Numbers of a layer's output channels for the DSP kernels, and whether their arithmetic is exact for it.

The kernels' requantisation (firmware/kernels/dsp.h) computes (hi32(2^b a m) + addend) >> s for an accumulator a. With
s = b - 1 + r and addend = 2^(b - 2) + 2^(b - 2 + r) + z 2^s that is TFLite's z + round(round(a m / 2^31) / 2^r), but
for the direction in which the second rounding takes halves below zero. Every condition is checked here over the
accumulator's whole range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.numeric.fixed_point import INT32_END, requantize, wrap
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers, accumulators
from tflmgen.kernels.numeric.kernel_requantisation import wrapped

SCALE_BITS = 8
"""Accumulators are scaled by 2^8 (shifted pairs), where a kernel doesn't say otherwise."""

_CONSTANT_SHIFT = 10
"""Shift of channels whose output is always the same: any that leaves room for the output above it."""


@dataclass(frozen=True, slots=True)
class Requantisation:
    """The kernels' constants of one channel: out = (hi32((2^b a + offset) m) + addend) >> shift. `bias` is the
    accumulator's start.
    """

    bias: int
    multiplier: int
    addend: int
    shift: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class DspRequantisations:
    """Requantisations of all channels of a layer.

    signed        negative accumulators need the sign fix
    fixable       a kernel that has the sign fix is exact, too
    clamped       outputs can leave the layer's range and not int8's
    common_shift  the shift is the same for all, as common_shift.py makes it
    """

    channels: tuple[Requantisation, ...]
    signed: bool
    fixable: bool
    clamped: bool
    common_shift: bool = False


@lru_cache(maxsize=4)
def requantisations(layer: Int8Layer, scale_bits: int = SCALE_BITS) -> DspRequantisations | None:
    """Constants with which the kernels are exact for every input, or None where there are none."""
    channels: list[Requantisation] = []
    signed = clamped = rounds_once = False
    for bias, (multiplier, shift), least, greatest in zip(
        layer.bias.tolist(), layer.scales, *(bounds.tolist() for bounds in accumulators(layer)), strict=True
    ):
        if least < -INT32_END or greatest >= INT32_END:
            return None
        ends = [layer.zero_point + requantize(a, multiplier, shift) for a in (least, greatest)]
        outputs = [min(max(end, layer.low), layer.high) for end in ends]
        if outputs[0] == outputs[1] and max(-least, greatest) << max(shift, 0) < INT32_END:
            channels.append(_constant(outputs[0]))
            continue
        requantisation = exact_requantisation(bias, multiplier, -shift, layer.zero_point, least, greatest, scale_bits)
        if requantisation is None:
            return None
        channels.append(requantisation)
        clamped |= any(min(max(end, -128), 127) != output for end, output in zip(ends, outputs, strict=True))
        if least < 0:
            # The sign fix is for two roundings. Where there is but one, it makes outputs below the zero point less.
            clamped |= shift >= 0 and layer.low > -128
            rounds_once |= shift >= 0
            signed |= shift < 0 and layer.low < layer.zero_point
    fixable = not rounds_once or layer.low >= layer.zero_point
    return None if signed and rounds_once else DspRequantisations(tuple(channels), signed, fixable, clamped)


def _constant(output: int) -> Requantisation:
    """A channel whose output is always the same: whatever the accumulator, half a step above `output`."""
    return Requantisation(0, 0, (output << _CONSTANT_SHIFT) + (1 << (_CONSTANT_SHIFT - 1)), _CONSTANT_SHIFT)


def exact_requantisation(
    bias: int, multiplier: int, right: int, zero: int, least: int, greatest: int, scale_bits: int = SCALE_BITS
) -> Requantisation | None:
    """The constants for accumulators from `least` to `greatest`, or None if they are not exact.

    right: the shift to the right, negative for one to the left; zero: the output's zero point.
    """
    half = scale_bits - 2
    shift = half + 1 + right
    if not (half + 1 >= -right and 1 <= shift <= 31) or max(-least, greatest + 1) > INT32_END >> scale_bits:
        return None
    if max(-least, greatest) << max(-right, 0) >= INT32_END:
        return None
    second = 1 << (half + right) if right > 0 else 0
    first = 1 << (half + min(right, 0)) if half + min(right, 0) >= 0 else 0
    if right < -half:
        return None
    addend = first + second + (zero << shift)
    low = (least * multiplier >> (32 - scale_bits)) + addend - (1 << (half + 1))
    high = (greatest * multiplier >> (32 - scale_bits)) + addend
    if low < -INT32_END or high >= INT32_END or not -INT32_END <= addend < INT32_END:
        return None
    return Requantisation(bias, multiplier, addend, shift)


def pair_words(weights: Integers) -> NDArray[np.uint32] | None:
    """Shifted pairs (dsp.h) of weights [channels, terms], filled up with zeros to whole steps of four: [channels,
    steps].

    None where a pair does not fit: an odd weight of -128 after an even one below zero.
    """
    channels, terms = weights.shape
    padded = np.zeros((channels, -(-terms // 4) * 4), dtype=np.int64)
    padded[:, :terms] = weights
    halves = padded[:, 0::2] + 256 * padded[:, 1::2]
    if halves.min(initial=0) < -(2**15) or halves.max(initial=0) >= 2**15:
        return None
    words: NDArray[np.uint32] = np.ascontiguousarray(halves.astype("<i2")).view("<u4")
    return words


def first_sums(layer: Int8Layer, requantisation: DspRequantisations) -> NDArray[np.uint32]:
    """Starts of the accumulators of shifted pairs: 256 * bias + offset, less the constant term of the pairs."""
    even = layer.weights[:, 0::2].sum(axis=1)
    channels = zip(requantisation.channels, even, strict=True)
    starts = [256 * channel.bias + channel.offset - 127 * int(e) for channel, e in channels]
    return np.array([wrap(start, 32) for start in starts], dtype=np.int32).view(np.uint32)


def weights_of_pairs(halves: NDArray[np.integer[Any]]) -> Integers:
    """The weights in shifted pairs of halves w0 + 256 w1 [..., n]: [..., 2 n]."""
    wide = halves.astype(np.int64)
    even = (wide + 128 & 255) - 128
    return np.stack([even, (wide - even) >> 8], axis=-1).reshape(*halves.shape[:-1], -1)


def starts_of_pairs(starts: Integers, weights: Integers) -> Integers:
    """Initial sums of shifted pairs, which contain 127 times the even weights besides the products; wrapped."""
    return wrapped(starts + 127 * weights[:, 0::2].sum(axis=1))
