"""SVDF in int8 for every Cortex-M: the packed weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np

from tflmgen.ir.kernel import Kernel, PackedCall, UnpackedSums
from tflmgen.kernels.costs.cost_model import svdf_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.operators.svdf_numbers import biases_are_known, biases_of, fast_kernel, integer_params, offsets
from tflmgen.kernels.requests import Svdf
from tflmgen.kernels.thumb.sums_thumb import fits, read_sums, sums_operand


def svdf_thumb(request: Svdf) -> Kernel | None:
    """The kernel; None where a row has no room on the stack, or biases are known at run time only."""
    op = request.op
    weights = np.asarray(op.constants[1], dtype=np.int64)
    if not fits(weights) or not biases_are_known(op):
        return None
    stream = sums_operand("stream", weights, offsets(op).tolist())
    return fast_kernel(op, "thumb", stream, integer_params(op, request.to_state, request.to_output))


def _read(call: PackedCall) -> list[UnpackedSums]:
    return [UnpackedSums(*read_sums(call.words(), call.channels, call.terms)), biases_of(call)]


KERNEL = KernelDeclaration(
    "svdf_thumb.h",
    "thumb",
    (Computes(Svdf, svdf_thumb),),
    {"svdf_thumb": svdf_cost("svdf", "unit filter step value state wide_state", 1, 4, 2)},
    (Cases("svdf_int8 svdf_int16"),),
    read=_read,
)
