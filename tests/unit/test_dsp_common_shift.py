"""One shift for all channels: the constants that are found give TFLite's outputs at every threshold."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tflmgen.kernels.dsp.common_shift import SHIFT, with_common_shift
from tflmgen.kernels.dsp.dsp_requantisation import Requantisation, requantisations
from tflmgen.kernels.numeric.fixed_point import requantize
from tflmgen.kernels.numeric.int8_layer import Int8Layer, accumulators


def layer(rng: np.random.Generator, zero_point: int, low: int, rights: tuple[int, ...]) -> Int8Layer:
    """Channels whose shifts to the right are `rights`; the last one's weights are zeros."""
    channels = len(rights)
    weights = rng.integers(-127, 128, (channels, 48))
    weights[-1] = 0
    scales = tuple((int(rng.integers(2**30, 2**31)), -right) for right in rights)
    return Int8Layer(weights, rng.integers(-5000, 5000, channels), scales, zero_point, low, 127)


def output(channel: Requantisation, accumulator: int, low: int) -> int:
    sum_ = (accumulator << 8) + channel.offset
    return min(max((sum_ * channel.multiplier >> 32) + channel.addend >> channel.shift, low), 127)


@pytest.mark.parametrize("zero_point", [-128, 3])
@pytest.mark.parametrize("rights", [(5, 6, 9, 7, 8, 5), (6, 6, 6, 6, 6, 6), (7, 10, 12, 9, 8, 7)])
def test_outputs_are_those_of_two_roundings(zero_point: int, rights: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(rights))
    drawn = layer(rng, zero_point, zero_point, rights)
    exact = requantisations(drawn)
    assert exact is not None
    shifted = with_common_shift(drawn, exact)
    assert shifted is not None
    assert shifted.common_shift
    assert {channel.shift for channel in shifted.channels} <= {SHIFT}
    assert len({channel.shift for channel in shifted.channels}) == 1
    bounds = zip(*(b.tolist() for b in accumulators(drawn)), strict=True)
    for channel, scale, (least, greatest) in zip(shifted.channels, drawn.scales, bounds, strict=True):
        tried = {least, greatest, *rng.integers(least, greatest + 1, 300).tolist()}
        at = [a for a in range(0, greatest, max(1, greatest // 20000)) if a]
        changes = [b for a, b in pairwise(at) if requantize(a, *scale) != requantize(b, *scale)]
        for change in changes:
            tried |= {a for a in range(change - 30, change + 30) if least <= a <= greatest}
        for accumulator in tried:
            expected = min(max(zero_point + requantize(accumulator, *scale), zero_point), 127)
            assert output(channel, accumulator, zero_point) == expected, accumulator


def test_negative_outputs_have_none() -> None:
    drawn = layer(np.random.default_rng(0), 3, -128, (6, 7, 8))
    exact = requantisations(drawn)
    assert exact is not None
    assert exact.signed
    assert with_common_shift(drawn, exact) is None


def test_shifts_that_are_too_small_have_none() -> None:
    drawn = layer(np.random.default_rng(0), -128, -128, (1, 1, 8))
    exact = requantisations(drawn)
    assert exact is not None
    assert with_common_shift(drawn, exact) is None
