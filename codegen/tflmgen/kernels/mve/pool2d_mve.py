"""AVERAGE_POOL_2D and MAX_POOL_2D in int8 for cores with MVE."""

from __future__ import annotations

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.requests import Pooling


def pool2d_mve(request: Pooling) -> Kernel | None:
    """The kernel: groups of 16 channels of a maximum, of up to 8 or 32 of a sum; None if that needs over 16 bits."""
    channels = request.window.input[3]
    if request.kind == "max":
        return request.kernel("mve", "pool2d_mve.h", channels if channels <= 16 else 1)
    if not request.sums_fit_16_bits:
        return None
    return request.kernel("mve", "pool2d_mve.h", channels if channels <= 8 or 16 < channels <= 32 else 1)


KERNEL = KernelDeclaration(
    "pool2d_mve.h",
    "mve",
    (Computes(Pooling, pool2d_mve),),
    {
        "average_pool2d_mve": depthwise_cost(
            "average_pool2d", "pixel row wide wide_row wide_tap narrow narrow_tap", 1, 16
        ),
        "max_pool2d_mve": depthwise_cost("max_pool2d", "line pixel border vector_row vector_tap block", 1, 16),
    },
    (Cases("average_pool2d padded_average_pool2d max_pool2d padded_max_pool2d"),),
)
