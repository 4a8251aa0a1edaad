"""Functions of one int8 element as tables of 256 results, each bit what TFLite Micro computes at run time."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.fixed_point import (
    doubling_high_multiply,
    inverse_sqrt,
    logistic,
    requantize,
    rounding_divide,
    saturate,
    tanh,
    wrap,
)
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.quantize_math import FLOAT_MAX, quantize_multiplier, round_half_away
from tflmgen.kernels.numeric.real_functions import Real
from tflmgen.kernels.specification.rules import input_type, same_quantization, scale, zero_point

INTEGER_BITS = 4
"""Integer bits of the fixed-point argument of TANH and LOGISTIC."""
RSQRT_BITS = header_constant("inverse_sqrt.h", "TFLMGEN_INVERSE_SQRT_BITS")
"""Bits of fraction that RSQRT keeps of 1 / sqrt(x)."""

Table = list[int]


def of_real(function: Real) -> Callable[[OperatorInstance], Table]:
    """A function of reals in single precision, from input scale to output scale."""

    def table(op: OperatorInstance) -> Table:
        in_scale, in_point = np.float32(scale(input_type(op, 0))), zero_point(input_type(op, 0))
        inverse, out_point = np.float32(1) / np.float32(scale(op.outputs[0])), zero_point(op.outputs[0])
        inputs = in_scale * (np.arange(-128, 128) - in_point).astype(np.float32)
        with np.errstate(all="ignore"):
            scaled = function(op, [inputs.astype(np.float64)]).astype(np.float32) * inverse
        rounded = (round_half_away(value) for value in np.clip(scaled.astype(np.float64), -1e9, 1e9).tolist())
        return [saturate(value + out_point, 8) for value in rounded]

    return table


def tanh_table(op: OperatorInstance) -> Table:
    """TANH: fixed-point output with 7 bits after the point."""
    return _saturating_sigmoid(op, tanh, 31 - 7, 0)


def logistic_table(op: OperatorInstance) -> Table:
    """LOGISTIC: fixed-point output with 8 bits after the point and zero point -128."""
    return _saturating_sigmoid(op, logistic, 31 - 8, -128)


def _saturating_sigmoid(op: OperatorInstance, function: Callable[[int, int], int], shift: int, point: int) -> Table:
    """TANH and LOGISTIC: fixed point within the radius where the argument fits, the limits outside."""
    source = input_type(op, 0)
    multiplier, left_shift = quantize_multiplier(scale(source) * 2.0 ** (31 - INTEGER_BITS))
    radius = math.floor((2**INTEGER_BITS - 1) * 2.0 ** (31 - INTEGER_BITS) / 2.0**left_shift)
    results = []
    for value in range(-128, 128):
        centred = value - zero_point(source)
        if abs(centred) >= radius:
            results.append(-128 if centred <= -radius else 127)
            continue
        raw = function(requantize(centred, multiplier, left_shift), INTEGER_BITS)
        results.append(saturate(rounding_divide(raw, shift) + point, 8))
    return results


def slopes_table(op: OperatorInstance, positive: float, negative: float) -> Table:
    """Table of an int8 function with one factor for elements >= the zero point and another below it."""
    up, down = quantize_multiplier(positive), quantize_multiplier(negative)
    results = []
    for value in range(-128, 128):
        centred = value - zero_point(input_type(op, 0))
        scaled = requantize(centred, *(up if centred >= 0 else down))
        results.append(saturate(scaled + zero_point(op.outputs[0]), 8))
    return results


def slopes_of(op: OperatorInstance) -> tuple[float, float]:
    """The factors of LEAKY_RELU for positive and negative elements."""
    source, result = scale(input_type(op, 0)), scale(op.outputs[0])
    return source / result, source * op.attributes.alpha / result


def scale_ratio_of(op: OperatorInstance) -> float:
    """Scale of the first input over that of the output."""
    return scale(input_type(op, 0)) / scale(op.outputs[0])


def sum_scale_of(op: OperatorInstance) -> float:
    """The factor that brings sums in halves of the first input's scale, with 20 more bits, to the output's scale."""
    return 2.0 * scale(input_type(op, 0)) / (2.0**20 * scale(op.outputs[0]))


def six_of(op: OperatorInstance) -> int:
    """6.0 in the output's quantisation, within its type."""
    result = op.outputs[0]
    quotient = float(np.float32(6.0) / np.float32(scale(result)))
    return saturate(round_half_away(quotient) + zero_point(result), result.dtype.bits)


def rsqrt_scale(op: OperatorInstance) -> float:
    """Factor from 1 / sqrt(q) of an input's integer q, less its zero point, to steps of the output."""
    return 1.0 / (math.sqrt(scale(input_type(op, 0))) * scale(op.outputs[0]))


def relu6_table(op: OperatorInstance) -> Table:
    """RELU6: the integers, clamped to those of 0 and 6; requantised where input and output differ in quantisation."""
    if not same_quantization(input_type(op, 0), op.outputs[0]):
        return clamped_table(op, 0.0, 6.0)
    low, high = zero_point(input_type(op, 0)), six_of(op)
    return [min(max(value, low), high) for value in range(-128, 128)]


def clamped_table(op: OperatorInstance, least: float, greatest: float) -> Table:
    """The input on the output's scale, between two real numbers."""
    scaled, result = slopes_table(op, scale_ratio_of(op), scale_ratio_of(op)), op.outputs[0]
    low, high = (round_half_away(v / scale(result)) + zero_point(result) for v in (least, greatest))
    return [saturate(min(max(value, low), high), 8) for value in scaled]


def rsqrt_table(op: OperatorInstance) -> Table:
    """Table of 1 / sqrt(x); x <= 0 gives the greatest output."""
    multiplier, shift = quantize_multiplier(rsqrt_scale(op))
    results = []
    for value in range(-128, 128):
        centred = value - zero_point(input_type(op, 0))
        if centred <= 0:
            results.append(127)
            continue
        root, root_shift = inverse_sqrt(centred)
        inverse = requantize(1, root, root_shift + RSQRT_BITS)
        scaled = requantize(inverse, multiplier, shift - RSQRT_BITS)
        results.append(saturate(scaled + zero_point(op.outputs[0]), 8))
    return results


def hard_swish_factors(op: OperatorInstance) -> tuple[tuple[int, int], tuple[int, int]]:
    """(16-bit multiplier, shift) to the output's scale, and to the scale on which 3.0 is 32768."""
    fine = np.float32(1.0 / 128.0) * np.float32(scale(input_type(op, 0)))
    factors = []
    for target in (np.float32(scale(op.outputs[0])), np.float32(3.0) / np.float32(32768.0)):
        with np.errstate(over="ignore"):
            ratio = min(float(fine / target), FLOAT_MAX)
        multiplier, shift = quantize_multiplier(ratio)
        factors.append((saturate(multiplier + (1 << 15)) >> 16, shift))
    return factors[0], factors[1]


def hard_swish_table(op: OperatorInstance) -> Table:
    """x * relu6(x + 3) / 6 in 16-bit fixed point."""
    (out_multiplier, out_shift), (relu_multiplier, relu_shift) = hard_swish_factors(op)
    results = []
    for value in range(-128, 128):
        fine = wrap((value - zero_point(input_type(op, 0))) * 128, 16)
        on_output_scale = doubling_high_multiply(fine, out_multiplier, 16)
        gate = saturate(fine << (relu_shift - 1), 16) if relu_shift > 0 else fine
        gate = doubling_high_multiply(gate, relu_multiplier, 16)
        if relu_shift > 0:
            gate = saturate(gate << 1, 16)
        elif relu_shift < 0:
            gate = rounding_divide(gate, -relu_shift)
        gate = (gate + (1 << 15)) >> 1
        product = gate * on_output_scale
        towards_zero = product >> 15 if product >= 0 else -(-product >> 15)
        results.append(saturate(rounding_divide(towards_zero, -out_shift) + zero_point(op.outputs[0]), 8))
    return results
