"""Requantisation of the kernels for RV32IM: as for DSP, with as many bits of scaling as the sums leave room for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.dsp.dsp_requantisation import requantisations
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers
from tflmgen.kernels.numeric.kernel_requantisation import HighProduct

_SCALE_BITS = (8, 6, 4, 3, 2)
"""Numbers of bits by which sums are scaled, in the order in which they are tried: the more, the finer."""

_ADDEND_LIMIT = 2**30 - 2**9
"""Magnitude of an addend that no upper half of a product, below 2^30, takes beyond 32 bits, sign fix included."""

CHANNEL_WORDS = 4
"""Words of struct tflmgen_rv32m_channel (rv32m.h)."""


@dataclass(frozen=True, slots=True)
class Rv32mRequantisations:
    """Constants of all channels of a layer.

    words    uint32 [channels, 4]: 2^scale_bits times the bias, multiplier, addend, shift
    signed   negative sums need the sign fix, 2^(scale_bits - 1)
    clamped  outputs can leave the layer's range and not int8's
    """

    words: NDArray[np.uint32]
    scale_bits: int
    signed: bool
    clamped: bool


def rv32m_requantisations(layer: Int8Layer) -> Rv32mRequantisations | None:
    """Constants with which the kernels are exact for every input, or None where there are none."""
    for bits in _SCALE_BITS:
        scaled = requantisations(layer, bits)
        if scaled is None:
            continue
        words = np.array(
            [
                ((r.bias << bits) + r.offset, r.multiplier, r.addend + (128 << r.shift), r.shift)
                for r in scaled.channels
            ],
            dtype=np.int64,
        )
        if np.abs(words[:, 2]).max() >= _ADDEND_LIMIT:
            continue
        return Rv32mRequantisations((words % 2**32).astype(np.uint32), bits, scaled.signed, scaled.clamped)
    return None


def read_requantisation(words: Integers, scale_bits: int, signed: bool) -> HighProduct:
    """The function of sums that channels' words [channels, 4] stand for, without the 128 in the addend."""
    starts, multipliers, addends, shifts = words.T
    scale = 1 << scale_bits
    return HighProduct(
        starts,
        multipliers,
        addends - (128 << shifts),
        shifts,
        scale=scale,
        sign_fixes=scale >> 1 if signed else 0,
    )
