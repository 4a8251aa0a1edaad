"""Intervals through layers with weights, convolutions and matrices, of int8 and int16."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.fixed_point import requantized
from tflmgen.kernels.numeric.quantize_math import activation_range
from tflmgen.kernels.ranges.intervals import Inputs, Integers, Interval, Outputs, Transfer, channels_of
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import bias_type, channel_scales, is_int16, sum_suffix
from tflmgen.kernels.specification.window import window_of
from tflmgen.kernels.traits import Traits

PART = 1 << 18
"""Weights that are summed at a time, so that all of them are never there in 64 bits."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Constant weights by what they multiply: rows[o, k, c] is tap k of output channel o, on channel first[o] + c.

    A filter's zero point is subtracted. Of int8 weights, rows have 16 bits.
    """

    rows: NDArray[np.signedinteger[Any]]
    first: Integers

    @property
    def outputs(self) -> int:
        """Number of output channels."""
        return int(self.rows.shape[0])


def weights_of(traits: Traits, op: OperatorInstance) -> Weights | None:
    """The weights of an int8 or int16 layer with a `channel_axis`, where they are constant."""
    if op.constants[1] is None or input_type(op, 0).dtype not in (DType.INT8, DType.INT16):
        return None
    constant, kind = np.asarray(op.constants[1]), input_type(op, 1)
    wide: type[np.signedinteger[Any]] = np.int16 if constant.itemsize == 1 else np.int64
    array: NDArray[np.signedinteger[Any]] = constant.astype(wide)
    if kind.quantization is not None and not kind.quantization.per_channel:
        array -= kind.quantization.zero_point
    channels = channels_of(input_type(op, 0))
    if traits.depth_axis is None:
        outputs = array.shape[-1]
        first = np.arange(outputs) // (outputs // channels)
        return Weights(array.reshape(-1, outputs).T[:, :, None], first)
    outputs, *_, depth = array.shape
    groups = channels // depth if traits.window is not None else 1
    return Weights(array.reshape(outputs, -1, depth), np.arange(outputs) // (outputs // groups) * depth)


def reaches_out(traits: Traits, op: OperatorInstance) -> bool:
    """Whether some of its windows reach beyond the input."""
    return traits.window is not None and window_of(op).reaches_out


def sums(traits: Traits, op: OperatorInstance, x: Interval) -> Interval | None:
    """The accumulators before they are requantised, bias included; None where they aren't known."""
    weights, bias = weights_of(traits, op), _bias(op)
    if weights is None or bias is None:
        return None
    depth = weights.rows.shape[2]
    if traits.reshapes_rows and len(x.low) != depth:
        # A row is several pixels, or a part of one.
        repeats, rest = divmod(depth, len(x.low))
        x = x.spread(depth) if rest else Interval(np.tile(x.low, repeats), np.tile(x.high, repeats))
    zero = zero_point(input_type(op, 0))
    low, high = x.low - zero, x.high - zero
    if reaches_out(traits, op):
        # What a window finds outside counts as zero.
        low, high = np.minimum(low, 0), np.maximum(high, 0)
    least, greatest = np.empty(weights.outputs, np.int64), np.empty(weights.outputs, np.int64)
    for rows in np.array_split(np.arange(weights.outputs), max(1, -(-weights.rows.size // PART))):
        columns = weights.first[rows, None] + np.arange(depth)
        positive = np.maximum(weights.rows[rows], 0).sum(axis=1)
        negative = np.minimum(weights.rows[rows], 0).sum(axis=1)
        least[rows] = (positive * low[columns] + negative * high[columns]).sum(axis=1)
        greatest[rows] = (positive * high[columns] + negative * low[columns]).sum(axis=1)
    return Interval(least + bias, greatest + bias)


def _bias(op: OperatorInstance) -> NDArray[Any] | None:
    if bias_type(op) is None:
        return np.zeros(1, np.int64)
    return None if op.constants[2] is None else np.asarray(op.constants[2]).astype(np.int64).reshape(-1)


def requantized_sums(op: OperatorInstance, values: Interval) -> Interval | None:
    """The accumulators on the output's scale, without its zero point; None where one could overflow."""
    pairs = channel_scales(op, len(values.low))
    multipliers, shifts = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    if is_int16(op) and sum_suffix(op) == "b64":
        return Interval(*(_cut(end, multipliers, shifts) for end in (values.low, values.high)))
    room = (1 << 31) >> np.maximum(shifts, 0)
    if (values.low < -room).any() or (values.high >= room).any():
        return None
    return Interval(*(requantized(end, multipliers, shifts) for end in (values.low, values.high)))


def _cut(sums: Integers, multipliers: Integers, shifts: Integers) -> Integers:
    """tflmgen_requantize_s64: the multiplier is cut to 16 bits."""
    reduced = np.where(multipliers < 0x7FFF0000, (multipliers + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - shifts
    rounded: Integers = (sums * reduced + (1 << (total - 1))) >> total
    return rounded


def range_of_sums(traits: Traits) -> Transfer:
    """Monotone in each product's operand and in the sum, so that the ends of intervals give the ends."""

    def ranges(op: OperatorInstance, inputs: Inputs) -> Outputs:
        output = op.outputs[0]
        if inputs[0] is None or output.quantization is None:
            return None
        values = sums(traits, op, inputs[0])
        scaled = None if values is None else requantized_sums(op, values)
        if scaled is None:
            return None
        point = zero_point(output)
        ends = Interval(scaled.low + point, scaled.high + point)
        if not ends.within(-(2**31), 2**31 - 1):
            return None
        return [ends.meet(*activation_range(op.attributes.activation, output.dtype, output.quantization))]

    return ranges
