"""SOFTMAX: int8 to int8 or int16 by a table of exponentials, int16 by interpolation, and float32."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.numeric.fixed_point import doubling_high_multiply, exp_on_negative
from tflmgen.kernels.numeric.int16_tables import interpolated_table
from tflmgen.kernels.numeric.quantize_math import capped_multiplier, is_representable, quantize_multiplier
from tflmgen.kernels.operators.quantized_unary import SHARES
from tflmgen.kernels.operators.row_wise import not_last_axis
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule, Shape
from tflmgen.kernels.specification.option_fields import present
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED_PER_TENSOR,
    input_is,
    input_shape,
    input_type,
    output_is,
    scale,
    zero_point,
)
from tflmgen.kernels.traits import Traits

HEADER = "softmax.h"
INTEGER_BITS = 5
"""Integer bits of the exponentials' arguments, which are in Q5.26."""
FRACTION_BITS = 31 - INTEGER_BITS
MAX_DEPTH = 4095
"""Longest row whose sum of exponentials fits into Q12.19."""


@dataclass(frozen=True, slots=True)
class SoftmaxAttributes:
    """`beta` is the factor of the exponents."""

    beta: float


def parse(options: Options | None) -> SoftmaxAttributes:
    """Raises ValueError for a beta that is not positive."""
    beta = float(present(options).get("beta", 0.0))
    if not (math.isfinite(beta) and beta > 0):
        raise ValueError(f"beta is {beta:g}, but must be a positive number")
    return SoftmaxAttributes(beta)


def infer(op: OperatorInstance) -> tuple[Shape]:
    """The shape of the input."""
    return (input_type(op, 0).shape,)


def scaling(input_scale: float, beta: float) -> float:
    """The factor from an int8 difference to Q5.26, capped where exp() is 0 for every difference but 0."""
    return min(beta * input_scale * (1 << FRACTION_BITS), 2.0**31 - 1)


def input_radius(shift: int) -> int:
    """Greatest magnitude of an int8 difference that Q5.26 holds after a left shift by `shift`."""
    return (((1 << INTEGER_BITS) - 1) << FRACTION_BITS) >> shift


def exponentials(input_scale: float, beta: float) -> list[int]:
    """exp(-i * input_scale * beta) in Q0.31 for i = 0, 1, ... 255, as far as it isn't 0."""
    multiplier, shift = capped_multiplier(scaling(input_scale, beta))
    arguments = (doubling_high_multiply(-i << shift, multiplier) for i in range(min(input_radius(shift), 255) + 1))
    table = [exp_on_negative(argument, INTEGER_BITS) for argument in arguments]
    while table[-1] == 0:
        table.pop()
    return table


def _int16_scaling(op: OperatorInstance) -> float:
    """Factor from int16 differences, times beta, to steps of the table of exponentials, which are 10 / 65535 wide."""
    return scale(input_type(op, 0)) * float(op.attributes.beta) / (10.0 / 65535.0)


def _int16_tables() -> tuple[ConstantArray, ConstantArray]:
    """exp(x) from -10 to 0 and 1 / (1 + x) from 0 to 1, in Q0.15."""
    unit, half = np.float32(1) / np.float32(65535), np.float32(2) / np.float32(65535)
    exps = interpolated_table(np.exp, np.float32(10) / np.float32(65535), 32767, half)
    reciprocals = interpolated_table(lambda x: 1.0 / (1.0 + x), unit, -32768, half)
    return ConstantArray.of("exps", exps, DType.INT16), ConstantArray.of("reciprocals", reciprocals, DType.INT16)


def kernel(op: OperatorInstance, target: Target) -> Kernel:
    """The C99 kernel over rows of the last dimension, with tables of exponentials for integers."""
    del target
    shape = input_shape(op)
    sizes = (("rows", math.prod(shape[:-1])), ("depth", shape[-1]))
    beta = op.attributes.beta
    if op.outputs[0].dtype is DType.FLOAT32:
        fields = Params("tflmgen_softmax_f32", (*sizes, ("beta", beta)))
        return Kernel("tflmgen_softmax_f32", HEADER, (Input(0), Output(0)), fields, (Overlap(0, 0),))
    if input_type(op, 0).dtype is DType.INT16:
        multiplier, shift = quantize_multiplier(_int16_scaling(op))
        fields = Params("tflmgen_softmax_s16", (*sizes, ("multiplier", multiplier), ("shift", shift)))
        operands = (Input(0), *_int16_tables(), Output(0))
        return Kernel("tflmgen_softmax_s16", HEADER, operands, fields, (Overlap(0, 0),))
    exps = exponentials(scale(input_type(op, 0)), beta)
    table = ConstantArray.of("exps", np.array(exps), DType.INT32)
    fields = Params("tflmgen_softmax_s8", (*sizes, ("entries", len(exps))))
    if op.outputs[0].dtype is DType.INT16:
        return Kernel("tflmgen_softmax_s8_s16", HEADER, (Input(0), table, Output(0)), fields)
    return Kernel("tflmgen_softmax_s8", HEADER, (Input(0), table, Output(0)), fields, (Overlap(0, 0),))


def _types_fit(op: OperatorInstance) -> bool:
    pair = input_type(op, 0).dtype, op.outputs[0].dtype
    same = ((DType.FLOAT32, DType.FLOAT32), (DType.INT8, DType.INT8), (DType.INT16, DType.INT16))
    return pair in (*same, (DType.INT8, DType.INT16))


def _output_is_probability(op: OperatorInstance) -> bool:
    output = op.outputs[0]
    if output.dtype is DType.FLOAT32:
        return True
    unit, least = 2.0**-output.dtype.bits, output.dtype.limits[0]
    if input_type(op, 0).dtype is DType.INT16:
        unit, least = 2.0**-15, 0
    return zero_point(output) == least and abs(scale(output) - unit) <= unit * 1e-3


def _scale_is_representable(op: OperatorInstance) -> bool:
    if input_type(op, 0).dtype is DType.INT16:
        return is_representable(_int16_scaling(op)) and quantize_multiplier(_int16_scaling(op))[1] <= 14
    return input_type(op, 0).dtype is not DType.INT8 or scaling(scale(input_type(op, 0)), op.attributes.beta) > 1


NOT_SCALAR = Rule("an input of at least 1 dimension", lambda op: bool(input_type(op, 0).shape))
DEPTH_RULE = Rule(
    f"a last dimension of at most {MAX_DEPTH} for an int8 or int16 input",
    lambda op: input_type(op, 0).dtype is DType.FLOAT32 or input_shape(op)[-1] <= MAX_DEPTH,
)
SAME_SHAPE = Rule("an output of the input's shape", lambda op: op.outputs[0].shape == input_type(op, 0).shape)

RULES = (
    *COMMON,
    input_is(0, "input", DType.INT8, DType.INT16, DType.FLOAT32),
    output_is(DType.INT8, DType.INT16, DType.FLOAT32),
    Rule("a float32 output for float32, int16 for int16, int8 or int16 for int8", _types_fit),
    NOT_SCALAR,
    QUANTIZED_PER_TENSOR,
    Rule(
        "scale 1/256 and zero point -128 for an int8 output, 1/65536 and -32768 for an int16 "
        "output of int8, 1/32768 and 0 for an int16 output of int16",
        _output_is_probability,
    ),
    Rule("an input scale times beta of more than 2^-26 with int8, less than 2 with int16", _scale_is_representable),
    DEPTH_RULE,
    SAME_SHAPE,
)

TRAITS = Traits(row_wise=not_last_axis, along_last=True, neutral=-math.inf)

OPERATORS = (OperatorSpec("SOFTMAX", parse, (1, 1), 1, RULES, infer, kernel, fixed=SHARES, traits=TRAITS),)
