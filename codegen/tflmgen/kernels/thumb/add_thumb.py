"""ADD and SUB of int8 for every Cortex-M: the affine map of dsp/add_dsp.py, in products of 32 bits."""

from __future__ import annotations

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import FEW, elements_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.add_dsp import affine_kernel
from tflmgen.kernels.requests import Addition


def add_thumb(request: Addition) -> Kernel | None:
    """The kernel; None where no affine map is exact."""
    return affine_kernel(request, "thumb", 0)


KERNEL = KernelDeclaration(
    "add_thumb.h",
    "thumb",
    (Computes(Addition, add_thumb),),
    {
        "add_thumb": elements_cost("add", "inlined vector clamp", inlined=FEW),
        "add_rows_thumb": elements_cost("add rows", "row restart broadcast_row vector full_vector clamp", inlined=FEW),
    },
    (Cases("narrow_add"),),
    beside=("add_rows_thumb.h",),
)
