"""Rows of padding above and below the input, which convolutions in blocks of pixels leave out of their products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.costs.term import Blocking
from tflmgen.kernels.costs.tuning import TUNING
from tflmgen.kernels.costs.windows import Windows
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.specification.window import Window


@dataclass(frozen=True, slots=True)
class PaddingRows:
    """Rows of a window that lie outside, at most: above the first line of the output, and below the last one."""

    above: int
    below: int

    @classmethod
    def worth_skipping(
        cls, window: Window, channels: int, blocking: Blocking, part_steps: int = 0
    ) -> PaddingRows | None:
        """The rows of padding that a kernel leaves out; None where there are none, or where they take too much flash.

        Each takes 4 bytes of each output channel, for the sum of its products with the padding. None for a single line
        of output, too: calls for the lines of a stream share their weights, which would differ with these sums.
        channels: of the output. blocking: what the kernel computes at a time. part_steps: steps of a part, of kernels
        that compute windows in parts and leave out whole parts; else 0.
        """
        steps, (rows, columns) = window.steps, window.taps
        numbers = {name: int(value) for name, value in (*window.fields(channels), *window.dilation_fields)}
        windows = Windows({**numbers, "skips_padding": 1, "part_steps": part_steps}, blocking, window.input[3])
        last = (window.height.output - 1) * steps.stride_height - window.height.padding
        outside = cls(
            -(-window.height.padding // steps.dilation_height),
            max(0, rows - max(0, -((last - window.input[1]) // steps.dilation_height))),
        )
        max_bytes = TUNING.padding_sums_share * rows * columns * window.input[3]
        if window.height.output == 1 or not windows.skipped_rows or 4 * (outside.above + outside.below) > max_bytes:
            return None
        return outside

    def starts(self, weights: Integers, starts: NDArray[np.uint32], padding: int) -> NDArray[np.uint32]:
        """Starts of sums where rows are left out: [above + below, channels]; one row above first.

        weights: [channels, rows, values]. starts: what they begin with where none is, [channels]. padding: the value of
        the padding.
        """
        products = 256 * padding * weights.sum(axis=2) + 127 * weights[:, :, 0::2].sum(axis=2)
        above = np.cumsum(products, axis=1)[:, : self.above]
        below = np.cumsum(products[:, ::-1], axis=1)[:, : self.below]
        sums: Integers = starts.astype(np.int64)[:, None] + np.concatenate([above, below], axis=1)
        return (sums.T % 2**32).astype(np.uint32)
