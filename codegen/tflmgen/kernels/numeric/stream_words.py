"""Parts of packed streams that kernels for different instruction sets share: 32-bit words, and pairs of channels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.numeric.int8_layer import Integers


def as_words(values: Integers) -> NDArray[np.uint32]:
    """Integers modulo 2^32, of any shape: int32 constants in two's complement; biases wrap as the kernels' sums do."""
    return (values % 2**32).astype(np.uint32)


def pair_firsts(channels: int) -> list[int]:
    """First channel of each pair of channels that kernels compute together.

    An odd channel at the end is paired with the one before it, computed twice; a single one with itself.
    """
    return [*range(0, channels - 1, 2), *([max(channels - 2, 0)] if channels % 2 else [])]
