"""BATCH_MATMUL in int8 for cores with MVE: when the kernel is applicable, and its scratch."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir import Input, Kernel, Null, Output, Scratch
from tflmgen.kernels.costs.cost_model import product_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.mve.fully_connected_mve import GROUP
from tflmgen.kernels.requests import BatchProduct

HEADER = "batch_matmul_mve.h"
FACTOR_BYTES = 4 * (header_constant(HEADER, "TFLMGEN_BATCH_MATMUL_MVE_FACTORS") + GROUP)
"""Bytes of the factors and biases of a group of columns."""

STACK_BYTES = header_constant(HEADER, "TFLMGEN_BATCH_MATMUL_MVE_STACK_BYTES")
"""Bytes of scratch on the stack; more is scratch in the arena."""


def batch_matmul_mve(request: BatchProduct) -> Kernel | None:
    """The kernel with the portable one's parameters; None where sums are not shifted to the right, where rows of the
    left or of the output are in pieces, or both rows and columns of the right."""
    portable = request.portable
    assert portable.params is not None
    fields = dict(portable.params.fields)
    shift, depth = fields["shift"], fields["depth"]
    assert isinstance(shift, int)
    assert isinstance(depth, int)
    together = fields["left_depth_stride"] == 1 == fields["output_column_stride"]
    # Without a shift there is no second rounding, whose halves below zero the other one takes care of.
    if shift >= 0 or not together or 1 not in (fields["right_column_stride"], fields["right_depth_stride"]):
        return None
    chunks = -(-depth // 16)
    scratch = Scratch(16 * GROUP * chunks + FACTOR_BYTES + (16 * chunks if depth % 16 else 0))
    operands = (Input(0), Input(1), Null() if scratch.bytes <= STACK_BYTES else scratch, Output(0))
    return replace(portable, function="tflmgen_batch_matmul_mve_s8", header=HEADER, operands=operands, variant="mve")


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(BatchProduct, batch_matmul_mve),),
    {
        "batch_matmul_mve": product_cost(
            "batch_matmul", "group packed_value packed_step block step copied_step", 1, 8, 16
        )
    },
    (Cases("batch_matmul"),),
)
