"""SVDF in int8 for cores with MVE: the packed weights, and when there is a kernel."""

from __future__ import annotations

import numpy as np

from tflmgen.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Params
from tflmgen.ops.mve_sums import STACK_BYTES, row_bytes, sums_operand
from tflmgen.ops.rules import input_type
from tflmgen.ops.svdf_numbers import (
    STATE,
    Factor,
    biases,
    biases_are_known,
    offsets,
    products,
    scale_fields,
    size_fields,
)
from tflmgen.types import DType

MOST_RANK = 8
"""So that the sums of eight units fit TFLMGEN_SVDF_MVE_FILTERS."""


def svdf_mve(op: OperatorInstance, to_state: Factor, to_output: Factor) -> Kernel | None:
    """The kernel; None where a row or a rank has no room on the stack, or biases are known at run time only."""
    weights = np.asarray(op.constants[1], dtype=np.int64)
    if row_bytes(weights) > STACK_BYTES or op.attributes.rank > MOST_RANK or not biases_are_known(op):
        return None
    return Kernel(
        f"tflmgen_svdf_mve_{'s8' if input_type(op, STATE).dtype is DType.INT8 else 's8_s16'}",
        "svdf_mve.h",
        (
            Input(0),
            sums_operand("stream", weights, offsets(op)),
            Input(2),
            ConstantArray.of("biases", biases(op), DType.INT32),
            Input(STATE),
            Output(0),
            Output(1),
        ),
        Params("tflmgen_svdf_mve", (*size_fields(op), *scale_fields(op, to_state, to_output))),
        (Overlap(STATE, 1),),
        products(op),
        "mve",
    )
