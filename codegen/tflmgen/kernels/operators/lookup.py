"""Functions of one int8 element as tables of 256 results (firmware/kernels/lookup.h, lookup_mve.h)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tflmgen.ir import DType
from tflmgen.ir.kernel import (
    ConstantArray,
    Input,
    Kernel,
    KernelChoice,
    Operand,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    Target,
)
from tflmgen.kernels.choice import choose_fastest, fast_kernels
from tflmgen.kernels.requests import LookUp
from tflmgen.kernels.specification.rules import input_type


def table_operand(results: ArrayLike) -> ConstantArray:
    """results: those of -128 to 127."""
    return ConstantArray.of("table", np.array(results), DType.INT8)


def lookup_kernel(op: OperatorInstance, table: Operand, target: Target) -> KernelChoice:
    """output 0 = table[input 0 + 128]."""

    fields = Params("tflmgen_lookup", (("elements", input_type(op, 0).elements),))
    portable = Kernel("tflmgen_lookup_s8", "lookup.h", (Input(0), table, Output(0)), fields, (Overlap(0, 0),))
    return choose_fastest([*fast_kernels(LookUp(op, target, portable)), portable], target)
