"""Tables of int8 functions for cores with MVE."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import elements_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.requests import LookUp


def lookup_mve(request: LookUp) -> Kernel:
    """The kernel of int8 tables on cores with MVE, which supports every such request."""
    return replace(request.portable, function="tflmgen_lookup_mve_s8", header="lookup_mve.h", variant="mve")


KERNEL = KernelDeclaration(
    "lookup_mve.h",
    "mve",
    (Computes(LookUp, lookup_mve),),
    {"lookup_mve": elements_cost("lookup", "vector", 1, 1, 16)},
    (Cases("lookup"),),
)
