"""ADD and SUB of int8 for cores with MVE: the affine map of dsp/add_dsp.py, in products of 32 bits."""

from __future__ import annotations

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import elements_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.add_dsp import affine_kernel
from tflmgen.kernels.requests import Addition


def add_mve(request: Addition) -> Kernel | None:
    """The kernel of input 0 + sign * input 1; None where no affine map is exact."""
    return affine_kernel(request, "mve", 0)


KERNEL = KernelDeclaration(
    "add_mve.h",
    "mve",
    (Computes(Addition, add_mve),),
    {
        "add_mve": elements_cost("add", "element", 1, 1, 8),
        "add_rows_mve": elements_cost("add rows", "row element", 1, 1, 8),
    },
    (Cases("narrow_add"),),
    beside=("add_rows_mve.h",),
)
