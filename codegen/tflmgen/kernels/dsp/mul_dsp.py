"""MUL in int8 for cores with the DSP extension: two roundings as one, proved over all pairs of inputs."""

from __future__ import annotations

import numpy as np

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import FEW, elements_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.fixed_point import requantized
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operators.mul_kernels import all_products, mul_kernel
from tflmgen.kernels.requests import Multiplication
from tflmgen.kernels.specification.rules import zero_point

SHIFT = header_constant("mul_dsp.h", "TFLMGEN_MUL_DSP_SHIFT")
"""Fraction bits of the DSP kernel's sums."""

MAX_LEFT = 15
"""Products have 16 bits and a sign."""


def mul_dsp(request: Multiplication) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, (low, high) = request.op, request.limits
    multiplier, shift = quantize_multiplier(request.factor)
    left, products, zero = SHIFT + 1 + shift, all_products(op), zero_point(op.outputs[0])
    if not 2 <= left <= MAX_LEFT:
        return None
    wanted = np.clip(requantized(products, multiplier, shift) + zero, low, high)
    addend = (1 << (left - 2)) + (((2 * zero + 1) << SHIFT) >> 1 if shift < 0 else zero << SHIFT)
    scaled = ((products << left) * multiplier >> 32) + addend
    for negative in (0, -1 << (left - 1)):
        outputs = np.clip((scaled + np.where(products < 0, negative, 0)) >> SHIFT, low, high)
        if (outputs == wanted).all():
            fields = (("left", left), ("multiplier", multiplier), ("addend", addend), ("negative", negative))
            return mul_kernel(request, "dsp", fields)
    return None


KERNEL = KernelDeclaration(
    "mul_dsp.h",
    "dsp",
    (Computes(Multiplication, mul_dsp),),
    {"mul_dsp": elements_cost("mul or rows", "row vector full_vector element full_rest clamp", 1, 1, 4, inlined=FEW)},
    (Cases("mul"),),
)
