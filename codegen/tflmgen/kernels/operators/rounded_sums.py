"""REQUANTIZED_SUMS and AVERAGED_SUMS: what MEAN, SUM and AVERAGE_POOL_2D make of sums of int8 or int16 elements.

Not operators of TFLite: a sliding window keeps the sums as int32, and these round them as the whole operator does
(`Traits.sums`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.numeric.quantize_math import Activation, activation_range, quantize_multiplier
from tflmgen.kernels.operators.quantize_dequantize import same_shape
from tflmgen.kernels.specification.operator import OperatorSpec, no_attributes
from tflmgen.kernels.specification.rules import COMMON, QUANTIZED_PER_TENSOR, input_is, output_is, scale, zero_point
from tflmgen.kernels.specification.window import Fields

HEADER = "rounded_sums.h"


@dataclass(frozen=True, slots=True)
class RequantizedSumsAttributes:
    """Sums of `count` elements of one scale and zero point, and whether the output has their means."""

    input_scale: float
    input_zero_point: int
    count: int
    gives_mean: bool


@dataclass(frozen=True, slots=True)
class AveragedSumsAttributes:
    """Sums of `count` elements in the output's own scale, and the fused activation."""

    count: int
    activation: Activation


def mean_multiplier(multiplier: int, shift: int, count: int) -> tuple[int, int]:
    """The multiplier divided by `count`, which keeps as many bits as TFLite's reference/reduce.h does."""
    bits = min(count.bit_length() - 1, 32, 31 + shift)
    return (multiplier << bits) // count, shift - bits


def requantized_sum_fields(sums: RequantizedSumsAttributes, output: TensorType) -> Fields:
    """Kernel params that make output elements of sums: offset, multiplier, shift and zero point."""
    multiplier, shift = quantize_multiplier(sums.input_scale / scale(output))
    # As in TFLite, a mean of no integers is 0, whatever the zero point.
    of_nothing = sums.gives_mean and not sums.count
    if of_nothing:
        multiplier = 0
    elif sums.gives_mean:
        multiplier, shift = mean_multiplier(multiplier, shift, sums.count)
    return (
        ("offset", -sums.input_zero_point * sums.count),
        ("multiplier", multiplier),
        ("shift", shift),
        ("output_zero_point", 0 if of_nothing else zero_point(output)),
    )


def _averaged(op: OperatorInstance) -> Fields:
    attributes: AveragedSumsAttributes = op.attributes
    output = op.outputs[0]
    assert output.quantization is not None
    least, greatest = activation_range(attributes.activation, output.dtype, output.quantization)
    return (("count", attributes.count), ("output_min", least), ("output_max", greatest))


def _kernel(name: str, op: OperatorInstance, target: Target) -> Kernel:
    del target
    output, struct = op.outputs[0], f"tflmgen_{name.lower()}"
    fields = requantized_sum_fields(op.attributes, output) if name == "REQUANTIZED_SUMS" else _averaged(op)
    suffix = {DType.INT8: "s8", DType.INT16: "s16"}[output.dtype]
    params = Params(struct, (("elements", output.elements), *fields))
    return Kernel(f"{struct}_{suffix}", HEADER, (Input(0), Output(0)), params)


OPERATORS = tuple(
    OperatorSpec(
        name,
        no_attributes,
        (1, 1),
        1,
        (*COMMON, input_is(0, "sums", DType.INT32), output_is(DType.INT8, DType.INT16), QUANTIZED_PER_TENSOR),
        same_shape,
        partial(_kernel, name),
    )
    for name in ("REQUANTIZED_SUMS", "AVERAGED_SUMS")
)
