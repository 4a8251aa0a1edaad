"""Element-wise operators on quantised integers evaluated at compile time, bit for bit as their kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.folding.fold_elements import Array, Fold, of_constants
from tflmgen.kernels.numeric.fixed_point import requantized
from tflmgen.kernels.numeric.quantize_math import activation_range, quantize_multiplier
from tflmgen.kernels.specification.rules import input_type, zero_point

Integers = NDArray[np.int64]


def requantized_by_factor(values: Integers, factor: float) -> Integers:
    """Every value times `factor`, rounded as tflmgen_requantize does it."""
    return requantized(values, *quantize_multiplier(factor))


def centred(op: OperatorInstance, index: int) -> Integers:
    """Integers of a constant operand less their zero point."""
    values: Integers = np.asarray(op.constants[index]).astype(np.int64) - zero_point(input_type(op, index))
    return values


def quantized(values: Callable[[OperatorInstance], Integers], otherwise: Fold) -> Fold:
    """A fold: `values`, on the output's scale without its zero point, clamped; `otherwise` for float elements."""

    def evaluate(op: OperatorInstance) -> Sequence[Array] | None:
        output = op.outputs[0]
        if output.dtype not in (DType.INT8, DType.INT16) or output.quantization is None:
            return otherwise(op)
        least, greatest = activation_range(op.attributes.activation, output.dtype, output.quantization)
        clipped = np.clip(values(op) + zero_point(output), least, greatest)
        return [clipped.astype(output.dtype.numpy)]

    return of_constants(evaluate)


def tabled(table: Callable[[OperatorInstance], ArrayLike], otherwise: Fold | None) -> Fold:
    """A fold that looks int8 elements up in a table of all 256 results; `otherwise` for elements of other types."""

    def evaluate(op: OperatorInstance) -> Sequence[Array] | None:
        if op.outputs[0].dtype is not DType.INT8:
            return None if otherwise is None else otherwise(op)
        return [np.array(table(op), np.int8)[np.asarray(op.constants[0], np.int64) + 128]]

    return of_constants(evaluate)
