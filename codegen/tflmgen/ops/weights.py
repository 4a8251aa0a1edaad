"""What operators with weights and biases share: support rules, folded biases and output multipliers.

Inputs are [input, filter, bias]; int8 ones compute output = rescale(bias + sum((input - zero point) * weight)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import ConstantArray, Input, Null, Operand, OperatorInstance, Overlap, Params
from tflmgen.ops.operator import Rule
from tflmgen.ops.quantize_math import Activation, activation_range, is_representable, quantize_multiplier
from tflmgen.ops.rules import STATIC, input_type, per_tensor, scale, zero_point
from tflmgen.ops.window import Fields
from tflmgen.types import DType, Quantization, TensorType

INPUT_SPAN = 255
"""Greatest magnitude of an int8 value less its zero point."""


def bias_type(op: OperatorInstance) -> TensorType | None:
    return op.inputs[2] if len(op.inputs) > 2 else None


def filter_quantization(op: OperatorInstance) -> Quantization:
    quantization = input_type(op, 1).quantization
    if quantization is None:
        raise ValueError("the filter is not quantised")
    return quantization


def output_multipliers(op: OperatorInstance, channels: int) -> list[float]:
    """Real factor from accumulator to output, per output channel."""
    scales = filter_quantization(op).scales
    factors = [scale(input_type(op, 0)) * s / scale(op.outputs[0]) for s in scales]
    return factors if len(factors) == channels else factors * channels


def channel_sums(op: OperatorInstance, axis: int, absolute: bool = False) -> NDArray[np.int64]:
    """Sum of a constant filter's weights per output channel, which lie along `axis`."""
    weights = np.asarray(op.constants[1], dtype=np.int64)
    values = np.abs(weights) if absolute else weights
    sums: NDArray[np.int64] = np.moveaxis(values, axis, 0).reshape(weights.shape[axis], -1).sum(axis=1)
    return sums


def sums_fit(op: OperatorInstance, axis: int) -> bool:
    """Whether no sum of products can leave 32 bits."""
    if op.constants[1] is None:
        shape = input_type(op, 1).max_shape
        greatest = 128 * math.prod(shape) // shape[axis]
    else:
        greatest = int(channel_sums(op, axis, absolute=True).max(initial=0))
    return greatest * INPUT_SPAN < 2**31


def input_offset(op: OperatorInstance) -> int:
    """What the kernel adds to each int8 input: 0 where `bias_operand` has it folded in."""
    return 0 if op.constants[1] is not None and _bias_is_known(op) else -zero_point(input_type(op, 0))


def _bias_is_known(op: OperatorInstance) -> bool:
    return bias_type(op) is None or op.constants[2] is not None


def bias_operand(op: OperatorInstance, axis: int) -> Operand:
    """The bias as the kernel gets it; the input's zero point is folded in where filter and bias are constant."""
    bias = bias_type(op)
    if input_type(op, 0).dtype is DType.INT8 and op.constants[1] is not None and _bias_is_known(op):
        folded: NDArray[Any] = -zero_point(input_type(op, 0)) * channel_sums(op, axis)
        if bias is not None:
            folded = folded + np.asarray(op.constants[2], dtype=np.int64).reshape(-1)
        if not folded.any():
            return Null()
        return ConstantArray.of("bias", folded.astype(np.uint64).astype(np.uint32).view(np.int32), DType.INT32)
    return Null() if bias is None else Input(2)


def channel_scales(op: OperatorInstance, channels: int) -> list[tuple[int, int]]:
    """(multiplier, shift) of tflmgen_requantize, per output channel."""
    return [quantize_multiplier(m) for m in output_multipliers(op, channels)]


def multiplier_operands(op: OperatorInstance, channels: int) -> tuple[ConstantArray, ConstantArray]:
    """Multipliers and shifts of tflmgen_requantize, per output channel."""
    pairs = channel_scales(op, channels)
    return (
        ConstantArray.of("multipliers", np.array([m for m, _ in pairs]), DType.INT32),
        ConstantArray.of("shifts", np.array([s for _, s in pairs]), DType.INT8),
    )


def output_fields(op: OperatorInstance, activation: Activation) -> Fields:
    """The params fields for the output's zero point (int8) and range."""
    output = op.outputs[0]
    if output.dtype is DType.FLOAT32 or output.quantization is None:
        least, greatest = activation.bounds
        return ("output_min", least), ("output_max", greatest)
    low, high = activation_range(activation, output.dtype, output.quantization)
    return ("output_zero_point", zero_point(output)), ("output_min", low), ("output_max", high)


def overlaps(output: TensorType, elements: int) -> tuple[Overlap, ...]:
    """The claim that the output may lie over input 0 at a distance of `elements`, where that saves anything."""
    distance = elements * output.dtype.bits // 8
    return (Overlap(0, 0, distance),) if distance < output.bytes else ()


def params(struct: str, *groups: Fields) -> Params:
    return Params(struct, tuple(field for group in groups for field in group))


def _types_fit(op: OperatorInstance) -> bool:
    dtype = input_type(op, 0).dtype
    return dtype in (DType.INT8, DType.FLOAT32) and input_type(op, 1).dtype is dtype is op.outputs[0].dtype


def _bias_fits(op: OperatorInstance) -> bool:
    bias = bias_type(op)
    return bias is None or bias.dtype is (DType.INT32 if _is_int8(op) else DType.FLOAT32)


def _is_int8(op: OperatorInstance) -> bool:
    return input_type(op, 0).dtype is DType.INT8


TYPE_RULES = (
    Rule("the input and the filter are present", lambda op: op.inputs[0] is not None and op.inputs[1] is not None),
    STATIC,
    Rule("the input, the filter and the output are all int8 or all float32", _types_fit),
    Rule("the bias, if any, is int32 beside int8 and float32 beside float32", _bias_fits),
    Rule("no dimension is zero", lambda op: all(t is None or t.elements > 0 for t in (*op.inputs, *op.outputs))),
)


def quantization_rules(axis: int) -> tuple[Rule, ...]:
    """Rules about int8 quantisation and arithmetic; `axis` is the filter's dimension of output channels."""

    def filter_is_symmetric(op: OperatorInstance) -> bool:
        quantization = input_type(op, 1).quantization
        return quantization is not None and not any(quantization.zero_points)

    def channels_are_on_axis(op: OperatorInstance) -> bool:
        quantization = filter_quantization(op)
        on_axis = quantization.axis == axis and len(quantization.scales) == input_type(op, 1).max_shape[axis]
        return not quantization.per_channel or on_axis

    def representable(op: OperatorInstance) -> bool:
        return all(map(is_representable, output_multipliers(op, 1)))

    return (
        Rule(
            "an int8 input and output have one scale and one zero point each",
            lambda op: not _is_int8(op) or (per_tensor(input_type(op, 0)) and per_tensor(op.outputs[0])),
        ),
        Rule("an int8 filter is quantised with zero point 0", lambda op: not _is_int8(op) or filter_is_symmetric(op)),
        Rule(
            f"a filter quantised per channel has one scale for each index of dimension {axis}",
            lambda op: not _is_int8(op) or channels_are_on_axis(op),
        ),
        Rule(
            "input scale times filter scale is less than 2^30 output scales",
            lambda op: not _is_int8(op) or representable(op),
        ),
        Rule("no sum of products can exceed 32 bits", lambda op: not _is_int8(op) or sums_fit(op, axis)),
    )


def bias_size_rule(axis: int) -> Rule:
    """One bias per output channel, which the filter's dimension `axis` counts."""

    def holds(op: OperatorInstance) -> bool:
        bias = bias_type(op)
        return bias is None or bias.elements == input_type(op, 1).max_shape[axis]

    return Rule("the bias, if any, has one value per output channel", holds)
