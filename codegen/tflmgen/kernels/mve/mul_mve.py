"""MUL in int8 for cores with MVE."""

from __future__ import annotations

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import elements_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operators.mul_kernels import mul_kernel
from tflmgen.kernels.requests import Multiplication
from tflmgen.kernels.specification.rules import zero_point


def mul_mve(request: Multiplication) -> Kernel | None:
    """The kernel, which rounds as TFLite does where it shifts to the right; else None."""
    multiplier, shift = quantize_multiplier(request.factor)
    if shift >= 0:
        return None
    fields = (("multiplier", multiplier), ("shift", shift), ("zero_point", zero_point(request.op.outputs[0])))
    return mul_kernel(request, "mve", fields)


KERNEL = KernelDeclaration(
    "mul_mve.h",
    "mve",
    (Computes(Multiplication, mul_mve),),
    {"mul_mve": elements_cost("mul or rows", "row vector full_vector", 1, 1, 8)},
    (Cases("mul"),),
)
