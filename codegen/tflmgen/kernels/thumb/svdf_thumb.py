"""SVDF in int8 for every Cortex-M: the packed weights, and when there is a kernel."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import Kernel, OperatorInstance
from tflmgen.kernels.operators.svdf_numbers import Factor, biases_are_known, fast_kernel, integer_params, offsets
from tflmgen.kernels.thumb.sums_thumb import fits, sums_operand


def svdf_thumb(op: OperatorInstance, to_state: Factor, to_output: Factor) -> Kernel | None:
    """The kernel; None where a row has no room on the stack, or biases are known at run time only."""
    weights = np.asarray(op.constants[1], dtype=np.int64)
    if not fits(weights) or not biases_are_known(op):
        return None
    stream = sums_operand("stream", weights, offsets(op).tolist())
    return fast_kernel(op, "thumb", stream, integer_params(op, to_state, to_output))
