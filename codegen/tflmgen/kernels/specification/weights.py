"""Support rules, folded biases and output multipliers of operators with weights and biases.

Inputs are [input, filter, bias]. Quantised operators compute
output = requantise(bias + sum((input - zero point) * weight)). int16 inputs have zero point 0, int8 weights, and a bias
and accumulators of 32 or 64 bits. float32 inputs with int8 weights are quantised at run time (hybrid.py). int4 weights
are stored as int8.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, Quantization, TensorType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, Null, Operand, OperatorInstance, Overlap, Params
from tflmgen.kernels.numeric.quantize_math import (
    MAX_SHIFT,
    Activation,
    activation_range,
    is_representable,
    quantize_multiplier,
)
from tflmgen.kernels.specification.operator import Rule
from tflmgen.kernels.specification.rules import (
    STATIC,
    input_type,
    per_tensor,
    scale,
    tensors,
    where_computed,
    zero_point,
)
from tflmgen.kernels.specification.window import Fields, Window

INPUT_SPAN = 255
"""Greatest magnitude of an int8 value minus its zero point."""


MAX_SHIFT_S64 = 7
"""Greatest left shift of sums of 64 bits."""
MAX_BIAS_S64 = 2**46
"""Greatest magnitude of a 64-bit bias, so that 2^24 products do not take the sum to 2^47."""


SMALL = (DType.INT8, DType.INT4)
"""Types of weights that are stored as int8."""


def filter_operand(op: OperatorInstance) -> Operand:
    """The filter as the kernel gets it: int4 as int8, since cores without instructions for nibbles take longer to
    unpack them than to multiply."""
    if input_type(op, 1).dtype is DType.INT4:
        return ConstantArray.of("weights", np.asarray(op.constants[1]), DType.INT8)
    return Input(1)


def bias_type(op: OperatorInstance) -> TensorType | None:
    """Type of the bias, input 2, or None if there is none."""
    return op.inputs[2] if len(op.inputs) > 2 else None


def filter_quantization(op: OperatorInstance) -> Quantization:
    """Quantisation of the filter, input 1. Raises ValueError if it has none."""
    quantization = input_type(op, 1).quantization
    if quantization is None:
        raise ValueError("the filter is not quantised")
    return quantization


def output_multipliers(op: OperatorInstance, channels: int) -> list[float]:
    """Real factor from accumulator to output, per output channel."""
    source, result = scale(input_type(op, 0)), scale(op.outputs[0])
    factors = [source * s / result for s in filter_quantization(op).scales]
    return factors if len(factors) == channels else factors * channels


def _channel_sums(weights: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
    """Sum of the weights of each output channel [channels]; `axis` is the dimension of output channels."""
    sums: NDArray[np.int64] = np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1).sum(axis=1)
    return sums


def has_zero_point(op: OperatorInstance) -> bool:
    """Whether the filter has a zero point other than 0 in some channel."""
    quantization = input_type(op, 1).quantization
    return quantization is not None and any(quantization.zero_points)


def sums_fit(op: OperatorInstance, axis: int) -> bool:
    """Whether no sum of products can leave 32 bits."""
    zero = 0 if is_by_blocks(op) else zero_point(input_type(op, 1))
    if op.constants[1] is None:
        shape = input_type(op, 1).max_shape
        greatest = (128 + abs(zero)) * math.prod(shape) // shape[axis]
    else:
        weights = np.abs(np.asarray(op.constants[1], dtype=np.int64) - zero)
        greatest = int(_channel_sums(weights, axis).max(initial=0))
    return greatest * INPUT_SPAN < 2**31


def input_offset(op: OperatorInstance) -> int:
    """Offset that the kernel adds to each int8 input: minus the zero point; 0 where `bias_operand` has it folded in."""
    return 0 if op.constants[1] is not None and _bias_is_known(op) else -zero_point(input_type(op, 0))


def _bias_is_known(op: OperatorInstance) -> bool:
    return bias_type(op) is None or op.constants[2] is not None


def bias_operand(op: OperatorInstance, axis: int) -> Operand:
    """The bias as the kernel gets it; the input's zero point is folded in where filter and bias are constant."""
    bias = bias_type(op)
    if input_type(op, 0).dtype is DType.INT8 and op.constants[1] is not None and _bias_is_known(op):
        folded: NDArray[Any] = -zero_point(input_type(op, 0)) * _channel_sums(
            np.asarray(op.constants[1], dtype=np.int64), axis
        )
        if bias is not None:
            folded = folded + np.asarray(op.constants[2], dtype=np.int64).reshape(-1)
        if not folded.any():
            return Null()
        return ConstantArray.of("bias", folded.astype(np.uint64).astype(np.uint32).view(np.int32), DType.INT32)
    return Null() if bias is None else Input(2)


def float_rows(op: OperatorInstance) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
    """Weights [output channels, terms] and biases of a float32 layer whose filter [output channels, ...] and bias are
    constant, else None."""
    weights, bias = op.constants[1], bias_type(op)
    if op.outputs[0].dtype is not DType.FLOAT32 or weights is None or is_hybrid(op) or not _bias_is_known(op):
        return None
    rows = np.asarray(weights, dtype=np.float32).reshape(len(weights), -1)
    added = np.zeros(len(rows)) if bias is None else op.constants[2]
    return rows, np.asarray(added, dtype=np.float32).reshape(-1)


def channel_scales(op: OperatorInstance, channels: int) -> tuple[tuple[int, int], ...]:
    """(multiplier, shift) of tflmgen_requantize, per output channel."""
    return _quantized(tuple(output_multipliers(op, channels)))


@lru_cache(maxsize=128)
def _quantized(factors: tuple[float, ...]) -> tuple[tuple[int, int], ...]:
    """Cached: range analysis, several kernels and their cost models ask for the multipliers of the same layer."""
    return tuple(map(quantize_multiplier, factors))


def multiplier_operands(op: OperatorInstance, channels: int) -> tuple[ConstantArray, ConstantArray]:
    """Multipliers and shifts of tflmgen_requantize, per output channel."""
    return channel_operands(channel_scales(op, channels))


def channel_operands(pairs: Sequence[tuple[int, int]]) -> tuple[ConstantArray, ConstantArray]:
    """Pairs of (multiplier, shift) as two arrays."""
    return (
        ConstantArray.of("multipliers", np.array([m for m, _ in pairs]), DType.INT32),
        ConstantArray.of("shifts", np.array([s for _, s in pairs]), DType.INT8),
    )


def range_fields(op: OperatorInstance, activation: Activation) -> Fields:
    """The params fields for the output's range, where its zero point is 0."""
    return tuple(field for field in output_fields(op, activation) if field[0] != "output_zero_point")


def sum_suffix(op: OperatorInstance) -> str:
    """Suffix of an int16 kernel: the width of its accumulators, which is the width of the bias."""
    bias = bias_type(op)
    return "b32" if bias is not None and bias.dtype is DType.INT32 else "b64"


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


FORWARD: Fields = (("backward", False),)
"""Params field of kernels that may process pixels last to first: here first to last."""


def go_backward(op: OperatorInstance, kernel: Kernel, window: Window, firsts: Iterable[int], unread: int = 0) -> Kernel:
    """`kernel`, which may process pixels last to first if its window is pointwise; see Window.backward_distance."""
    if not window.is_pointwise or kernel.params is None:
        return kernel
    output = op.outputs[0]
    distance = window.backward_distance(output.max_shape[3], firsts, unread) * output.dtype.bits // 8
    fields = tuple((name, True if name == "backward" else value) for name, value in kernel.params.fields)
    backward = replace(
        kernel, params=replace(kernel.params, fields=fields), overlaps=(Overlap(0, 0, distance, behind=True),)
    )
    return replace(kernel, backward=backward)


def params(struct: str, *groups: Fields) -> Params:
    """The params struct of a kernel with the fields of several groups, in their order."""
    return Params(struct, tuple(field for group in groups for field in group))


def _types_fit(op: OperatorInstance) -> bool:
    dtype, weights = input_type(op, 0).dtype, input_type(op, 1).dtype
    known = {DType.INT8: SMALL, DType.INT16: SMALL, DType.FLOAT32: (DType.FLOAT32, *SMALL)}
    return weights in known.get(dtype, ()) and op.outputs[0].dtype is dtype


def _bias_fits(op: OperatorInstance) -> bool:
    bias = bias_type(op)
    fitting = {DType.INT8: (DType.INT32,), DType.INT16: (DType.INT32, DType.INT64)}
    return bias is None or bias.dtype in fitting.get(input_type(op, 0).dtype, (DType.FLOAT32,))


def is_quantized(op: OperatorInstance) -> bool:
    """Whether the first input is int8 or int16."""
    return input_type(op, 0).dtype in (DType.INT8, DType.INT16)


def _is_int8(op: OperatorInstance) -> bool:
    return input_type(op, 0).dtype is DType.INT8


def is_hybrid(op: OperatorInstance) -> bool:
    """Whether int8 weights meet a float32 input, which is quantised at run time."""
    return input_type(op, 0).dtype is DType.FLOAT32 and has_int8_filter(op)


def is_by_blocks(op: OperatorInstance) -> bool:
    """Whether the int8 weights beside a float32 input are quantised by blocks."""
    return is_hybrid(op) and input_type(op, 1).blocks is not None


def has_int8_filter(op: OperatorInstance) -> bool:
    """Whether the kernel multiplies by int8 weights, int4 ones among them."""
    return input_type(op, 1).dtype in SMALL


def is_int16(op: OperatorInstance) -> bool:
    """Whether the first input is int16."""
    return input_type(op, 0).dtype is DType.INT16


def _wide_sums_fit(op: OperatorInstance) -> bool:
    """Whether sums that start at a 64-bit bias cannot overflow: it is constant and below MAX_BIAS_S64."""
    bias = bias_type(op)
    if bias is None or bias.dtype is not DType.INT64:
        return True
    values = op.constants[2]
    return values is not None and int(np.abs(np.asarray(values, dtype=np.float64)).max(initial=0)) < MAX_BIAS_S64


def shifts_fit(op: OperatorInstance, factors: Iterable[float]) -> bool:
    """Whether the kernel can multiply its sums by each of `factors`."""
    limit = MAX_SHIFT_S64 if is_int16(op) and sum_suffix(op) == "b64" else MAX_SHIFT
    return all(is_representable(f) and quantize_multiplier(f)[1] <= limit for f in factors)


TYPE_RULES = (
    Rule("an input and a filter", lambda op: op.inputs[0] is not None and op.inputs[1] is not None),
    STATIC,
    Rule(
        "an int8 input, filter and output, or all float32, or int16 or float32 with an int8 "
        "filter; a filter may be int4 instead of int8",
        _types_fit,
    ),
    Rule(
        "an int4 filter to be constant",
        lambda op: input_type(op, 1).dtype is not DType.INT4 or op.constants[1] is not None,
    ),
    Rule(
        "a bias, if any, of int32 for int8 inputs, int32 or int64 for int16 inputs, float32 for float32 inputs",
        _bias_fits,
    ),
    where_computed("dimensions other than 0", lambda op: all(t.elements > 0 for t in tensors(op))),
)


ZERO_POINT_RULE = Rule(
    "an int8 input, and one zero point for all channels, with a filter whose zero point is not 0",
    lambda op: not has_zero_point(op) or (input_type(op, 0).dtype is DType.INT8 and per_tensor(input_type(op, 1))),
)


def _filter_is_quantized(op: OperatorInstance, symmetric: bool, by_blocks: bool) -> bool:
    if by_blocks and is_by_blocks(op):
        return True
    return input_type(op, 1).quantization is not None and not (symmetric and has_zero_point(op))


def _channels_are_on_axis(op: OperatorInstance, axis: int) -> bool:
    if is_by_blocks(op):
        return True
    quantization = filter_quantization(op)
    on_axis = quantization.axis == axis and len(quantization.scales) == input_type(op, 1).max_shape[axis]
    return not quantization.per_channel or on_axis


def quantization_rules(axis: int, symmetric: bool = True, by_blocks: bool = False) -> tuple[Rule, ...]:
    """Rules about int8 quantisation and arithmetic; `axis` is the filter's dimension of output channels.

    symmetric: kernels take no filter that has a zero point. by_blocks: there is one for filters quantised by blocks.
    """

    return (
        Rule(
            "one scale and one zero point each for a quantised input and output",
            lambda op: not is_quantized(op) or (per_tensor(input_type(op, 0)) and per_tensor(op.outputs[0])),
        ),
        Rule(
            "zero point 0 for an int16 input and output",
            lambda op: not is_int16(op) or zero_point(input_type(op, 0)) == 0 == zero_point(op.outputs[0]),
        ),
        Rule(
            "an int8 or int4 filter to be quantised"
            f"{' with zero point 0' if symmetric else ''}"
            f"{'; with a float32 input, also blockwise along its rows' if by_blocks else ''}",
            lambda op: not has_int8_filter(op) or _filter_is_quantized(op, symmetric, by_blocks),
        ),
        Rule(
            f"a filter quantised per channel to have one scale for each index of dimension {axis}",
            lambda op: not has_int8_filter(op) or _channels_are_on_axis(op, axis),
        ),
        Rule(
            "an input scale times filter scale of less than 2^30 output scales, less than 2^7 with 64-bit accumulators",
            lambda op: not is_quantized(op) or shifts_fit(op, output_multipliers(op, 1)),
        ),
        Rule("an int64 bias to be constant, each value less than 2^46", _wide_sums_fit),
        Rule(
            "sums of int8 products that fit into 32 bits",
            lambda op: not (_is_int8(op) or is_hybrid(op)) or sums_fit(op, axis),
        ),
    )


def bias_size_rule(axis: int) -> Rule:
    """Rule: one bias per output channel, of which the filter has shape[axis]."""

    def holds(op: OperatorInstance) -> bool:
        bias = bias_type(op)
        return bias is None or bias.elements == input_type(op, 1).max_shape[axis]

    return Rule("a bias, if any, of one value per output channel", holds)
