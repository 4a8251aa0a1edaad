"""Operands, parameters and products of the kernels of MUL in int8 for instruction sets."""

from __future__ import annotations

import numpy as np

from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.operators.binary import Fields, binary_overlaps, nest_fields
from tflmgen.kernels.requests import Multiplication
from tflmgen.kernels.specification.rules import input_type, zero_point


def mul_kernel(request: Multiplication, variant: str, fields: Fields) -> Kernel:
    """fields: those that only this instruction set has."""
    op, limits = request.op, request.limits
    offsets = (("offset1", -zero_point(input_type(op, 0))), ("offset2", -zero_point(input_type(op, 1))))
    ends = (("least", limits[0]), ("greatest", limits[1]))
    return Kernel(
        f"tflmgen_mul_{variant}_s8",
        f"mul_{variant}.h",
        (Input(0), Input(1), Output(0)),
        Params(f"tflmgen_mul_{variant}_s8", (*nest_fields(op), *offsets, *fields, *ends)),
        binary_overlaps(op),
        variant=variant,
    )


def all_products(op: OperatorInstance) -> Integers:
    """Distinct products (a - zero point) (b - zero point) over all int8 a and b, in ascending order."""
    values = np.arange(-128, 128, dtype=np.int64)
    products: Integers = np.unique(
        np.outer(values - zero_point(input_type(op, 0)), values - zero_point(input_type(op, 1)))
    )
    return products
