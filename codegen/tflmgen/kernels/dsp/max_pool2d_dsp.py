"""MAX_POOL_2D in int8 for cores with the DSP extension."""

from __future__ import annotations

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.requests import Pooling

HEADER = "max_pool2d_dsp.h"
GROUP = 4
"""Channels that are computed at a time."""


def max_pool2d_dsp(request: Pooling) -> Kernel | None:
    """The kernel of maxima of four channels at a time; None for fewer."""
    channels = request.window.input[3]
    if request.kind != "max" or channels < GROUP:
        return None
    return request.kernel("dsp", HEADER, GROUP)


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(Pooling, max_pool2d_dsp),),
    {"max_pool2d_dsp": depthwise_cost("max_pool2d", "pixel large_four_row block group_tap clamp", 1, 4)},
    (Cases("max_pool2d padded_max_pool2d"),),
)
