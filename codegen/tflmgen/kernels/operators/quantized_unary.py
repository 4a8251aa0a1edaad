"""Functions of one quantised element: kernels of int16, and the rules on scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, Quantization
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params
from tflmgen.kernels.numeric.int8_tables import (
    RSQRT_BITS,
    hard_swish_factors,
    rsqrt_scale,
    scale_ratio_of,
    six_of,
    slopes_of,
)
from tflmgen.kernels.numeric.int16_tables import interpolated_table
from tflmgen.kernels.numeric.quantize_math import MAX_SHIFT, quantize_multiplier
from tflmgen.kernels.numeric.real_functions import Real, Reals
from tflmgen.kernels.operators.binary import Fields
from tflmgen.kernels.operators.quantize_dequantize import unary_overlaps
from tflmgen.kernels.specification.operator import Rule
from tflmgen.kernels.specification.rules import input_type, same_quantization, scale, zero_point
from tflmgen.kernels.specification.weights import is_quantized

HEADER = "quantized_unary.h"

Factory = Callable[[OperatorInstance], Kernel]


def unary_s16(op: OperatorInstance, function: str, fields: Fields) -> Kernel:
    """A kernel of one int16 input and output, in place, with a struct of its name."""
    params = Params(function, (("elements", input_type(op, 0).elements), *fields))
    return Kernel(function, HEADER, (Input(0), Output(0)), params, unary_overlaps(op))


def two_slopes_s16(op: OperatorInstance, positive: float, negative: float) -> Kernel:
    """The kernel that multiplies by one factor above the zero point and by another below."""
    fields: Fields = ()
    for name, factor in (("positive", positive), ("negative", negative)):
        multiplier, shift = quantize_multiplier(factor)
        fields += ((f"multiplier_{name}", multiplier), (f"shift_{name}", shift))
    return unary_s16(op, "tflmgen_two_slopes_s16", fields)


def relu6_s16(op: OperatorInstance) -> Kernel:
    """The kernel of RELU6: a clamp, or requantisation of what is not negative up to the type's greatest."""
    if same_quantization(input_type(op, 0), op.outputs[0]):
        return unary_s16(op, "tflmgen_clamp_s16", (("least", 0), ("greatest", six_of(op))))
    return two_slopes_s16(op, scale_ratio_of(op), 0.0)


def rsqrt_s16(op: OperatorInstance) -> Kernel:
    """The kernel of RSQRT: a multiplier to the output's steps, and integer square roots."""
    multiplier, shift = quantize_multiplier(rsqrt_scale(op))
    return unary_s16(op, "tflmgen_rsqrt_s16", (("multiplier", multiplier), ("shift", shift)))


def exact_log2(value: float) -> int | None:
    """log2 of a power of two (to 1 part in 1000), else None."""
    log2 = math.log2(value)
    return round(log2) if abs(log2 - round(log2)) < 1e-3 else None


def _sigmoid_steps(op: OperatorInstance, greatest_shift: int) -> tuple[int, int]:
    """(multiplier, shift) to steps of 1 / 12288. Powers of two near 2^-12 are exact, without a shift."""
    source = scale(input_type(op, 0))
    log2 = exact_log2(source)
    if log2 is not None and 0 <= log2 + 12 <= greatest_shift:
        return 3 << (log2 + 12), 0
    multiplier, shift = source * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2.0, shift + 1
    return int(multiplier), shift


def sigmoid_table() -> NDArray[np.float64]:
    """65536 times the logistic function of i / 24, raised halfway towards what makes chords touch the curve.

    Equal to the table of TFLite (kernels/internal/common.h) but made by formula: a chord of length h lies h^2 / 8 times
    the second derivative below the curve in its middle.
    """
    sigmoid = 1.0 / (1.0 + np.exp(-np.arange(256) / 24.0))
    curvature = sigmoid * (1.0 - sigmoid) * (1.0 - 2.0 * sigmoid)
    table = np.round(65536.0 * (sigmoid - curvature / 24.0**2 / 16.0))
    table[-1] = 65535.0
    return table


def sigmoid_s16(name: str, greatest_shift: int) -> Factory:
    """LOGISTIC and TANH of int16."""

    def kernel(op: OperatorInstance) -> Kernel:
        table = ConstantArray.of("sigmoid", sigmoid_table(), DType.UINT16)
        multiplier, shift = _sigmoid_steps(op, greatest_shift)
        fields = (("elements", input_type(op, 0).elements), ("multiplier", multiplier), ("shift", shift))
        params = Params("tflmgen_sigmoid_s16", fields)
        function = f"tflmgen_{name}_s16"
        return Kernel(function, HEADER, (Input(0), table, Output(0)), params, unary_overlaps(op))

    return kernel


def interpolated_s16(function: Real) -> Factory:
    """A function of reals by a table, as LiteRT has it."""

    def kernel(op: OperatorInstance) -> Kernel:
        def each(values: Reals) -> Reals:
            return function(op, [values])

        scales = np.float32(scale(input_type(op, 0))), 0, np.float32(scale(op.outputs[0]))
        table = ConstantArray.of("table", interpolated_table(each, *scales), DType.INT16)
        params = Params("tflmgen_interpolated", (("elements", input_type(op, 0).elements),))
        operands = (Input(0), table, Output(0))
        return Kernel("tflmgen_interpolated_s16", "interpolate.h", operands, params, unary_overlaps(op))

    return kernel


def where_quantized(requirement: str, holds: Callable[[OperatorInstance], bool]) -> Rule:
    """A rule for quantised operators; others fulfil it."""
    return Rule(requirement, lambda op: not is_quantized(op) or holds(op))


def _output_is(fixed: Mapping[DType, Quantization]) -> Callable[[OperatorInstance], bool]:
    def holds(op: OperatorInstance) -> bool:
        result, wanted = op.outputs[0], fixed[op.outputs[0].dtype]
        return exact_log2(scale(result)) == exact_log2(wanted.scale) and zero_point(result) == wanted.zero_point

    return holds


def _fits(factor: float, extra: int = 0) -> bool:
    return (
        math.isfinite(factor)
        and quantize_multiplier(factor)[1] - extra >= -31
        and (quantize_multiplier(factor)[1] <= MAX_SHIFT)
    )


GREATEST_SHIFT = {DType.INT8: 23, DType.INT16: 16}
"""Left shifts that the type's elements, less a zero point, survive in 32 bits."""


def _shifts_fit(op: OperatorInstance) -> bool:
    factor = scale_ratio_of(op)
    return _fits(factor) and quantize_multiplier(factor)[1] <= GREATEST_SHIFT[input_type(op, 0).dtype]


RATIO = where_quantized("an input scale of less than 2^23 (int8) or 2^16 (int16) times the output scale", _shifts_fit)


def _is_clamped_at_six(op: OperatorInstance) -> bool:
    source, result = input_type(op, 0), op.outputs[0]
    return result.dtype is not DType.INT16 or same_quantization(source, result) or six_of(op) == DType.INT16.limits[1]


REQUANTISED_SIX = where_quantized(
    "an int16 input and output of one scale, or an output scale of at most 6/32767", _is_clamped_at_six
)
RELU6_FAULT = "it gives the integers of the input's scale, whatever scale the output has"


def _int16_scale_is_small(op: OperatorInstance) -> bool:
    return input_type(op, 0).dtype is not DType.INT16 or scale(input_type(op, 0)) <= 2.0**-9


SMALL_SCALE = where_quantized(
    "an int16 input scale of at most 1/512, so that no exponential is infinite", _int16_scale_is_small
)

SLOPES_FIT = (
    Rule("a finite slope", lambda op: math.isfinite(op.attributes.alpha)),
    RATIO,
    where_quantized("a requantised slope of less than 2^30", lambda op: _fits(slopes_of(op)[1])),
)

ROOT_FITS = where_quantized("scales that leave 11 bits of the result", lambda op: _fits(rsqrt_scale(op), RSQRT_BITS))

TANH_RESULTS = {DType.INT8: Quantization((1 / 128,), (0,)), DType.INT16: Quantization((1 / 32768,), (0,))}

TANH_OUTPUT = where_quantized(
    "scale 1/128 and zero point 0 for an int8 output, scale 1/32768 for an int16 output",
    _output_is(TANH_RESULTS),
)

SHARES = {DType.INT8: Quantization((1 / 256,), (-128,)), DType.INT16: Quantization((1 / 32768,), (0,))}
"""Quantisation of results from 0 to 1."""

LOGISTIC_OUTPUT = where_quantized(
    "scale 1/256 and zero point -128 for an int8 output, scale 1/32768 for an int16 output",
    _output_is(SHARES),
)

AT_MOST_1 = where_quantized(
    "an int16 input scale of at most 1",
    lambda op: input_type(op, 0).dtype is not DType.INT16 or scale(input_type(op, 0)) <= 1.0,
)

HARD_SWISH_SCALES = where_quantized(
    "an input scale of less than 128 times and more than 1/256 of the output scale",
    lambda op: -15 <= hard_swish_factors(op)[0][1] <= 0,
)
