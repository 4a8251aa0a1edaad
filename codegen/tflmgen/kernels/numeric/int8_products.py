"""All products of two int8 elements, and their requantised values: proves a fast MUL kernel exhaustively."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import OperatorInstance
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.rules import input_type, zero_point


def all_products(op: OperatorInstance) -> Integers:
    """Distinct products (a - zero point) (b - zero point) over all int8 a and b, in ascending order."""
    values = np.arange(-128, 128, dtype=np.int64)
    products: Integers = np.unique(
        np.outer(values - zero_point(input_type(op, 0)), values - zero_point(input_type(op, 1)))
    )
    return products
