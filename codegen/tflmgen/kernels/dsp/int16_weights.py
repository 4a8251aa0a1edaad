"""Packed weights of the DSP extension's kernels of int16 by int8.

The kernels (firmware/kernels/conv2d_s16_dsp.h and its neighbours) add up in 32 bits, and requantise by one rounding
high multiplication: (sum * m + 2^(t - 1)) >> t is (sum * (m << (32 - t)) + 2^31) >> 32 where t is 16 to 32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.numeric.int8_layer import Integers

ORDER = [0, 2, 1, 3]
"""The weights in the bytes of a word."""


def words_of_four(weights: Integers) -> NDArray[np.uint32]:
    """Rows in words of four, zeros behind."""
    channels, terms = weights.shape
    padded = np.pad(weights, ((0, 0), (0, -terms % 4))).astype(np.int8).reshape(channels, -1, 4)
    words: NDArray[np.uint32] = np.ascontiguousarray(padded[:, :, ORDER]).view("<u4").reshape(channels, -1)
    return words


def in_order(bytes_: NDArray[np.int8]) -> Integers:
    """Weights of words [..., 4], whose bytes 0, 1, 2, 3 are values 0, 2, 1, 3 (conv2d_s16_dsp.h)."""
    result: Integers = np.stack([bytes_[..., 0], bytes_[..., 2], bytes_[..., 1], bytes_[..., 3]], axis=-1).astype(
        np.int64
    )
    return result
