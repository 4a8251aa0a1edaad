"""ADD and SUB of int8 for cores with MVE: the affine map of dsp/add_dsp.py, in products of 32 bits."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.ir import Kernel, OperatorInstance
from tflmgen.kernels.dsp.add_dsp import affine_kernel
from tflmgen.kernels.rules import input_type


def add_mve(op: OperatorInstance, factors: Sequence[float], sign: int, low: int, high: int) -> Kernel | None:
    """The kernel of input 0 + sign * input 1; None where no affine map is exact, or one input is broadcast."""
    if input_type(op, 0).elements != input_type(op, 1).elements:
        return None
    return affine_kernel(op, factors, sign, (low, high), "mve", 0)
