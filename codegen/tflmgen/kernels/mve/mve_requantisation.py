"""Numbers of a layer's output channels for the MVE kernels, and whether their arithmetic is exact for it.

VQRDMULH and VRSHL are TFLite's two roundings (firmware/kernels/mve.h), for multipliers that are at most 1 and sums that
fit 32 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.numeric.fixed_point import INT32_END, requantize
from tflmgen.kernels.numeric.int8_layer import Int8Layer, accumulators


@dataclass(frozen=True, slots=True)
class Fit:
    """Variant of the kernels that computes a layer exactly.

    signed   sums below zero need the sign fix
    fixable  kernels that have the sign fix are exact, too
    clamped  outputs can leave the layer's range and not int8's
    """

    signed: bool
    fixable: bool
    clamped: bool


def fit(layer: Int8Layer) -> Fit | None:
    """The kernels' variant that computes a layer exactly, or None if none does."""
    signed = clamped = unshifted = False
    for (multiplier, shift), least, greatest in zip(
        layer.scales, *(bounds.tolist() for bounds in accumulators(layer)), strict=True
    ):
        if shift > 0 or least < -INT32_END or greatest >= INT32_END:
            return None
        ends = [layer.zero_point + requantize(a, multiplier, shift) for a in (least, greatest)]
        clamped |= ends[1] > layer.high < 127 or (layer.low > -128 and ends[0] < layer.low)
        if least < 0:
            # The sign fix is for two roundings. Where there is but one, it makes outputs below the zero point less.
            clamped |= shift == 0 and layer.low > -128
            unshifted |= shift == 0
            signed |= shift < 0 and layer.low < layer.zero_point
    fixable = not unshifted or layer.low >= layer.zero_point
    return None if signed and unshifted else Fit(signed, fixable, clamped)


def padded_bytes(weights: NDArray[np.int64]) -> NDArray[np.uint32]:
    """int8 weights [channels, terms] in vectors of 16, zeros behind: words [channels, vectors, 4]."""
    channels, terms = weights.shape
    padded = np.zeros((channels, terms + -terms % 16), np.int8)  # in rows, whatever order `weights` have
    padded[:, :terms] = weights
    return padded.view("<u4").reshape(channels, -1, 4)
