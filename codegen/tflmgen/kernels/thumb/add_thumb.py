"""ADD and SUB of int8 for every Cortex-M: the affine map of dsp/add_dsp.py, in products of 32 bits."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.ir import Kernel, OperatorInstance
from tflmgen.kernels.dsp.add_dsp import affine_kernel


def add_thumb(op: OperatorInstance, factors: Sequence[float], sign: int, low: int, high: int) -> Kernel | None:
    """The kernel of input 0 + sign * input 1; None where no affine map is exact.

    factors: those of both inputs and of their sum (see arithmetic.add_scales).
    """
    return affine_kernel(op, factors, sign, (low, high), "thumb", 0)
