"""Operators of two operands with broadcasting: arithmetic, comparisons, logic and selection.

Sources: TFLite's reference_ops (add.h, sub.h, mul.h, div.h, comparisons.h, ...) and TFLite Micro's Prepare functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.definitions.fixed_point_numbers import (
    leading_sign_bits,
    quantized_multiplier,
    reciprocal,
    scaled,
    scaled_by,
)
from tflmgen.reference.operation import Array, Evaluation, Operation

QUANTIZED = (DType.INT8, DType.UINT8, DType.INT16)
COMPARISON_SHIFT = 8
"""Left shift of quantised operands before they are compared, as TFLite's kernels have it."""


def is_quantized(op: Operation, index: int = 0) -> bool:
    """Whether an input has quantised integers; false if it is absent."""
    tensor = op.input_types[index]
    return tensor is not None and tensor.dtype in QUANTIZED and tensor.quantization is not None


def plain(function: Callable[[Any, Any], Any], is_clamped: bool = False) -> Evaluation:
    """A function of real numbers or of integers that wrap; where `is_clamped`, then the fused activation."""

    def evaluate(op: Operation) -> Sequence[Array]:
        if op.gives_floats:
            result = np.asarray(function(op.real(0), op.real(1)))
            return [op.clamped_real(result) if is_clamped else op.rounded(result)]
        kind = op.output.dtype.numpy
        result = np.asarray(function(op.integers(0), op.integers(1))).astype(kind)
        return [_activated(op, result)]

    return evaluate


def _activated(op: Operation, result: Array) -> Array:
    """Integers that are not quantised after the fused activation, whose bounds are whole numbers."""
    bounds = {1: (0, None), 2: (-1, 1), 3: (0, 6)}.get(op.fused_activation)
    return result if bounds is None else np.clip(result, *bounds).astype(result.dtype)


def by_type(quantised: Evaluation, other: Evaluation) -> Evaluation:
    """An evaluation that takes `quantised` if the first input has quantised integers, else `other`."""
    return lambda op: quantised(op) if is_quantized(op) else other(op)


def _operands_at_common_scale(op: Operation, left_shift: int) -> tuple[Array, Array, float]:
    """The two operands times 2**left_shift at twice the larger scale, and that scale."""
    twice = 2 * max(op.scale(0), op.scale(1))
    first, second = (scaled_by(op.centred(i) << left_shift, op.scale(i) / twice) for i in (0, 1))
    return first, second, twice


def _sum(function: Callable[[Array, Array], Array]) -> Evaluation:
    def evaluate(op: Operation) -> Sequence[Array]:
        left_shift = 15 if op.output.dtype is DType.INT16 else 20
        first, second, twice = _operands_at_common_scale(op, left_shift)
        total = scaled_by(function(first, second), twice / ((1 << left_shift) * op.output_scale))
        return [op.clamped(total + op.output_zero_point)]

    return evaluate


def _product(op: Operation) -> Sequence[Array]:
    product = scaled_by(op.centred(0) * op.centred(1), op.scale(0) * op.scale(1) / op.output_scale)
    return [op.clamped(product + op.output_zero_point)]


def _squared_difference(op: Operation) -> Sequence[Array]:
    left_shift = 0 if op.output.dtype is DType.INT16 else 7
    first, second, twice = _operands_at_common_scale(op, left_shift)
    difference = first - second
    total = scaled_by(difference * difference, twice * twice / ((1 << (left_shift * 2)) * op.output_scale))
    return [op.saturated(total + op.output_zero_point)]


def _quotient(op: Operation) -> Sequence[Array]:
    """DIV of quantised integers, by a fixed-point reciprocal of the divisor."""
    numerator, denominator = np.broadcast_arrays(op.centred(0), op.centred(1))
    numerator = np.where(denominator < 0, -numerator, numerator)
    inverse, bits = reciprocal(np.maximum(np.abs(denominator), 1), 31)
    headroom = leading_sign_bits(numerator)
    # Division by zero is refused at run time; what stands there is of no account.
    unscaled = scaled(numerator, inverse, headroom)
    multiplier, shift = quantized_multiplier(op.scale(0) / (op.scale(1) * op.output_scale))
    total = np.asarray(shift - bits - headroom)
    quotient = scaled(unscaled, multiplier, np.maximum(total, -62))
    return [op.clamped(quotient + op.output_zero_point)]


def _truncated_quotient(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return a / b
    divisor = np.where(b == 0, 1, b)
    quotient = np.abs(a) // np.abs(divisor)
    return np.where((a < 0) != (divisor < 0), -quotient, quotient)


def _floor_quotient(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.floor(a.astype(np.float32) / b.astype(np.float32))
    return np.asarray(np.floor_divide(a, np.where(b == 0, 1, b)))


def _floor_remainder(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        remainder = np.fmod(a, b)
        return np.where((remainder != 0) & ((b < 0) != (remainder < 0)), remainder + b, remainder)
    return np.asarray(np.mod(a, np.where(b == 0, 1, b)))


def _power(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.asarray(np.power(a, b))
    # Integers: by repeated multiplication modulo 2**32.
    a, b = np.broadcast_arrays(a, b)
    result, base, exponent = np.ones_like(a), a.astype(np.int32), np.maximum(b, 0).copy()
    while exponent.any():
        result = np.where(exponent & 1, result.astype(np.int32) * base, result).astype(np.int32)
        base, exponent = base * base, exponent >> 1
    return result


def _shifted_right(op: Operation) -> Sequence[Array]:
    """Arithmetic for signed types; distances are limited to the type's width less one."""
    bits = op.output.dtype.bits
    return [(op.integers(0) >> np.clip(op.integers(1), 0, bits - 1)).astype(op.output.dtype.numpy)]


def _shifted_left(op: Operation) -> Sequence[Array]:
    """Bits move out at the top; distances that are not 0 to the type's width less one leave none."""
    bits, count = op.output.dtype.bits, op.integers(1)
    shifted = np.where((count >= 0) & (count < bits), op.integers(0) << np.clip(count, 0, bits - 1), 0)
    return [shifted.astype(op.output.dtype.numpy)]


def _extremum(function: Callable[[Any, Any], Any]) -> Evaluation:
    def evaluate(op: Operation) -> Sequence[Array]:
        result = np.asarray(function(op.array(0), op.array(1)))
        return [op.rounded(result) if op.gives_floats else result.astype(op.output.dtype.numpy)]

    return evaluate


def _greater_of(a: Any, b: Any) -> Any:
    """`a > b ? a : b`, which gives b where either is no number."""
    return np.where(np.greater(a, b), a, b)


def _less_of(a: Any, b: Any) -> Any:
    return np.where(np.less(a, b), a, b)


def _comparison(function: Callable[[Any, Any], Any]) -> Evaluation:
    """int8 operands are scaled by 2**8 times their own scales; int16 ones share one quantisation."""

    def evaluate(op: Operation) -> Sequence[Array]:
        if op.dtype() is not DType.INT8 or not (is_quantized(op) and is_quantized(op, 1)):
            return [np.asarray(function(op.array(0), op.array(1)))]
        sides = (scaled(op.centred(i) << COMPARISON_SHIFT, *quantized_multiplier(op.scale(i))) for i in (0, 1))
        return [np.asarray(function(*sides))]

    return evaluate


def _logical(function: Callable[[Any, Any], Any]) -> Evaluation:
    return lambda op: [np.asarray(function(op.array(0), op.array(1)))]


def _add_n(op: Operation) -> Sequence[Array]:
    """Floats one after another; int8 at twice the greatest scale, times 2**20."""
    indices = range(len(op.inputs))
    if op.gives_floats:
        total = op.array(0).astype(op.float_type)
        for i in indices[1:]:
            total = total + op.array(i).astype(op.float_type)
        return [total]
    if not is_quantized(op):
        return [sum(op.integers(i) for i in indices).astype(op.output.dtype.numpy)]  # type: ignore[union-attr]
    twice = 2 * max(op.scale(i) for i in indices)
    parts = [scaled_by(op.centred(i) << 20, op.scale(i) / twice) for i in indices]
    # TFLite Micro's sums begin with minus the zero point of the first.
    start = scaled_by(np.int64(-op.zero_point(0)) << 20, 0.5)
    total = scaled_by(np.sum(parts, axis=0) + start, twice / ((1 << 20) * op.output_scale))
    return [op.saturated(total + op.output_zero_point)]


def _prelu(op: Operation) -> Sequence[Array]:
    if op.gives_floats:
        x, alpha = op.real(0), op.real(1)
        return [op.rounded(np.where(x >= 0, x, x * alpha))]
    x, alpha = np.broadcast_arrays(op.centred(0), op.centred(1))
    positive = scaled_by(x, op.scale(0) / op.output_scale)
    negative = scaled_by(x * alpha, op.scale(0) * op.scale(1) / op.output_scale)
    return [op.saturated(np.where(x >= 0, positive, negative) + op.output_zero_point)]


def _select(op: Operation) -> Sequence[Array]:
    """The condition of SELECT may be one element per row; SELECT_V2 broadcasts all three."""
    condition, first, second = op.array(0), op.array(1), op.array(2)
    if op.name == "SELECT" and condition.ndim == 1 and first.ndim > 1 and condition.shape != first.shape:
        condition = condition.reshape(-1, *(1 for _ in first.shape[1:]))
    return [np.where(condition, first, second)]


EVALUATIONS: Mapping[str, Evaluation] = {
    "ADD": by_type(_sum(np.add), plain(np.add, is_clamped=True)),
    "SUB": by_type(_sum(np.subtract), plain(np.subtract, is_clamped=True)),
    "MUL": by_type(_product, plain(np.multiply, is_clamped=True)),
    "DIV": by_type(_quotient, plain(_truncated_quotient, is_clamped=True)),
    "SQUARED_DIFFERENCE": by_type(_squared_difference, plain(lambda a, b: (a - b) ** 2)),
    "FLOOR_DIV": plain(_floor_quotient),
    "FLOOR_MOD": plain(_floor_remainder),
    "POW": plain(_power),
    "ATAN2": plain(np.arctan2),
    "BITWISE_XOR": lambda op: [np.bitwise_xor(op.array(0), op.array(1))],
    "RIGHT_SHIFT": _shifted_right,
    "STABLEHLO_AND": lambda op: [np.bitwise_and(op.array(0), op.array(1))],
    "STABLEHLO_SHIFT_LEFT": _shifted_left,
    "MAXIMUM": _extremum(_greater_of),
    "MINIMUM": _extremum(_less_of),
    "LESS": _comparison(np.less),
    "LESS_EQUAL": _comparison(np.less_equal),
    "GREATER": _comparison(np.greater),
    "GREATER_EQUAL": _comparison(np.greater_equal),
    "EQUAL": _comparison(np.equal),
    "NOT_EQUAL": _comparison(np.not_equal),
    "LOGICAL_AND": _logical(np.logical_and),
    "LOGICAL_OR": _logical(np.logical_or),
    "ADD_N": _add_n,
    "PRELU": _prelu,
    "SELECT": _select,
    "SELECT_V2": _select,
}
