"""AVERAGE_POOL_2D in int8 for cores with the DSP extension."""

from __future__ import annotations

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.requests import Pooling

HEADER = "average_pool2d_dsp.h"
GROUP = 4
"""Channels that are computed at a time."""


def average_pool2d_dsp(request: Pooling) -> Kernel | None:
    """The kernel of sums of four channels at a time; None for fewer, or where sums need more than 16 bits."""
    channels = request.window.input[3]
    if request.kind != "average" or channels < GROUP or not request.sums_fit_16_bits:
        return None
    return request.kernel("dsp", HEADER, 1 if channels % GROUP else GROUP)


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(Pooling, average_pool2d_dsp),),
    {"average_pool2d_dsp": depthwise_cost("average_pool2d", "pixel row step four rest_tap clamp", 1, 4)},
    (Cases("average_pool2d padded_average_pool2d"),),
)
