"""Element-wise operators on quantised integers evaluated at compile time, bit for bit as their kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, OperatorInstance
from tflmgen.kernels.numeric.int8_tables import TABLES
from tflmgen.kernels.numeric.quantize_math import activation_range, quantize_multiplier
from tflmgen.kernels.operators.arithmetic import LEFT_SHIFT, QUANTIZED, add_scales, mul_scale
from tflmgen.kernels.rules import input_type, zero_point

Array = NDArray[Any]
Integers = NDArray[np.int64]


def rescaled(values: Integers, factor: float) -> Integers:
    """Every value times `factor`, rounded as tflmgen_requantize does it."""
    return requantized(values, *quantize_multiplier(factor))


def requantized(values: Integers, multiplier: int | Integers, shift: int | Integers) -> Integers:
    """fixed_point.requantize of arrays; each value may have a multiplier and a shift of its own."""
    shifted = (values << np.maximum(shift, 0)).astype(np.uint32).view(np.int32).astype(np.int64)
    high = np.minimum((shifted * multiplier + (1 << 30)) >> 31, 2**31 - 1)
    right = np.maximum(np.negative(shift), 0)
    magnitude = (np.abs(high) + ((1 << right) >> 1)) >> right
    rounded: Integers = np.where(high < 0, -magnitude, magnitude)
    return rounded


def _centred(op: OperatorInstance, index: int) -> Integers:
    values: Integers = np.asarray(op.constants[index]).astype(np.int64) - zero_point(input_type(op, index))
    return values


def _sum(sign: int) -> Callable[[OperatorInstance], Integers]:
    def evaluate(op: OperatorInstance) -> Integers:
        shift = LEFT_SHIFT[op.outputs[0].dtype]
        first, second, output = add_scales(op)
        one, other = (rescaled(_centred(op, i) << shift, factor) for i, factor in ((0, first), (1, second)))
        return rescaled(one + sign * other, output)

    return evaluate


ARITHMETIC: Mapping[str, Callable[[OperatorInstance], Integers]] = {
    "ADD": _sum(1),
    "SUB": _sum(-1),
    "MUL": lambda op: rescaled(_centred(op, 0) * _centred(op, 1), mul_scale(op)),
}


def fold_quantized(name: str, op: OperatorInstance) -> list[Array] | None:
    """The output of ADD, SUB, MUL or a function of one int8 element; None for other operators and types."""
    output = op.outputs[0]
    if name in TABLES and output.dtype is DType.INT8:
        table = np.array(TABLES[name](op), np.int8)
        return [table[np.asarray(op.constants[0], np.int64) + 128]]
    if name not in ARITHMETIC or output.dtype not in QUANTIZED or output.quantization is None:
        return None
    least, greatest = activation_range(op.attributes.activation, output.dtype, output.quantization)
    values = np.clip(ARITHMETIC[name](op) + zero_point(output), least, greatest)
    return [values.astype(output.dtype.numpy)]
