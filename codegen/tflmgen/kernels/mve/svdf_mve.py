"""SVDF in int8 for cores with MVE: the packed weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np

from tflmgen.ir.kernel import Kernel, PackedCall, UnpackedSums
from tflmgen.kernels.costs.cost_model import svdf_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.fully_connected_mve import GROUP
from tflmgen.kernels.mve.sums_mve import STACK_BYTES, read_sums, row_bytes, sums_operand
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.operators.svdf_numbers import biases_are_known, biases_of, fast_kernel, integer_params, offsets
from tflmgen.kernels.requests import Svdf

MAX_SVDF_RANK = header_constant("svdf_mve.h", "TFLMGEN_SVDF_MVE_FILTERS") // GROUP
"""Largest rank for which the sums of a group of units fit the stack."""


def svdf_mve(request: Svdf) -> Kernel | None:
    """The kernel; None where a row or a rank has no room on the stack, or biases are known at run time only."""
    op = request.op
    weights = np.asarray(op.constants[1], dtype=np.int64)
    if row_bytes(weights) > STACK_BYTES or op.attributes.rank > MAX_SVDF_RANK or not biases_are_known(op):
        return None
    stream = sums_operand("stream", weights, offsets(op))
    return fast_kernel(op, "mve", stream, integer_params(op, request.to_state, request.to_output))


def _read(call: PackedCall) -> list[UnpackedSums]:
    return [UnpackedSums(*read_sums(call.words(), call.channels, call.terms)), biases_of(call)]


KERNEL = KernelDeclaration(
    "svdf_mve.h",
    "mve",
    (Computes(Svdf, svdf_mve),),
    {"svdf_mve": svdf_cost("svdf", "row filter step state wide_state", 1, 8, 16)},
    (Cases("svdf_int8 svdf_int16"),),
    read=_read,
)
