"""MUL in int8 for every Cortex-M."""

from __future__ import annotations

import numpy as np

from tflmgen.ir.kernel import Kernel
from tflmgen.kernels.costs.cost_model import FEW, elements_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operators.mul_kernels import all_products, mul_kernel
from tflmgen.kernels.requests import Multiplication
from tflmgen.kernels.specification.rules import zero_point
from tflmgen.kernels.thumb.thumb_requantisation import requantisations


def mul_thumb(request: Multiplication) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op = request.op
    products = all_products(op)
    least, greatest = int(products.min()), int(products.max())
    # A layer of one channel and one weight, whose sums are these products, and perhaps a few more.
    weight = -(-(greatest - least) // 255)
    layer = Int8Layer(
        np.array([[weight]], dtype=np.int64),
        np.array([least + 128 * weight], dtype=np.int64),
        (quantize_multiplier(request.factor),),
        zero_point(op.outputs[0]),
        *request.limits,
    )
    requantisation = requantisations(layer, np.zeros(1, dtype=np.int64))
    if requantisation is None:
        return None
    fields = (
        ("multiplier", int(requantisation.multipliers[0])),
        ("fraction", int(requantisation.shifts[0]) >> 8),
        ("addend", int(requantisation.addends[0])),
        ("shift", int(requantisation.shifts[0]) & 255),
        ("sign_fix", int(requantisation.sign_fixes[0])),
    )
    return mul_kernel(request, "thumb", fields)


KERNEL = KernelDeclaration(
    "mul_thumb.h",
    "thumb",
    (Computes(Multiplication, mul_thumb),),
    {"mul_thumb": elements_cost("mul or rows", "row vector clamp", inlined=FEW)},
    (Cases("mul"),),
)
