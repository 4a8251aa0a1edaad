"""What convolutions and pools consist of, as their kernels compute them: parts that are windows over an image."""

from __future__ import annotations

from math import ceil

import numpy as np

from tflmgen.kernels.costs.term import Blocking, Numbers
from tflmgen.kernels.costs.windows import Windows


def convolution_parts(numbers: Numbers, blocking: Blocking) -> list[tuple[int, Windows]]:
    """CONV_2D: one convolution, or as many as there are groups of channels."""
    channels = numbers["input_channels"]
    depth = numbers.get("filter_channels", numbers.get("group_inputs", channels // numbers.get("groups", 1)))
    groups = numbers.get("groups", channels // depth)
    outputs = numbers.get("group_outputs", numbers["output_channels"] // groups)
    part = {**numbers, "input_channels": depth, "output_channels": outputs, "parts": groups}
    return [(groups, Windows(part, blocking, depth))]


def channel_parts(numbers: Numbers, blocking: Blocking) -> list[tuple[int, Windows]]:
    """DEPTHWISE_CONV_2D and pools, whose outputs depend on one channel of the input each."""
    return [(1, Windows(numbers, blocking, 1))]


def transposed_parts(numbers: Numbers, blocking: Blocking) -> list[tuple[int, Windows]]:
    """TRANSPOSE_CONV: a convolution for each phase of the outputs."""
    parts = []
    for y, x in np.ndindex(numbers["stride_height"], numbers["stride_width"]):
        phase = {**numbers, **_phase(numbers, y, "height", "top"), **_phase(numbers, x, "width", "left")}
        if phase["output_height"] and phase["output_width"]:
            parts.append(
                (1, Windows({**phase, "dilation_height": 1, "dilation_width": 1}, blocking, phase["input_channels"]))
            )
    return parts


def _phase(numbers: Numbers, phase: int, along: str, side: str) -> dict[str, int]:
    """The window, along one dimension, of the outputs of one phase, which are a stride apart from each other.

    As tflmgen_transpose_conv_phase_of() computes it.
    """
    stride, padding = numbers[f"stride_{along}"], numbers[f"padding_{side}"]
    first = (phase + padding) % stride
    taps = ceil((numbers[f"filter_{along}"] - first) / stride)
    return {
        f"output_{along}": ceil((numbers[f"output_{along}"] - phase) / stride),
        f"filter_{along}": taps,
        f"stride_{along}": 1,
        f"padding_{side}": taps - 1 - (phase + padding - first) // stride,
    }
