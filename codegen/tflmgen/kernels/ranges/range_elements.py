"""Intervals through element-wise operators.

A function of one 8-bit element is evaluated for each of the 256, one that is monotone in each operand at the ends of
the operands' intervals: both by the operator's fold, so that nothing is rounded otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.folding.fold_elements import Array, Fold
from tflmgen.kernels.ranges.intervals import Inputs, Integers, Interval, Outputs, Transfer, channels_of
from tflmgen.kernels.specification.rules import input_type


def _flat(kind: TensorType, count: int) -> TensorType:
    return replace(kind, shape=(count,))


def evaluated(fold: Fold, op: OperatorInstance, arrays: Sequence[Array]) -> Integers | None:
    """Results of an operator for vectors of one length as its first inputs; None where the fold does not know them."""
    count = len(arrays[0])
    types = [_flat(input_type(op, i), count) for i in range(len(arrays))]
    typed = [array.astype(kind.dtype.numpy) for array, kind in zip(arrays, types, strict=True)]
    inputs, constants = (*types, *op.inputs[len(types) :]), (*typed, *op.constants[len(types) :])
    results = fold(OperatorInstance(inputs, (_flat(op.outputs[0], count),), constants, op.attributes))
    return None if results is None else results[0].astype(np.int64).reshape(-1)


def elements_of(fold: Fold, op: OperatorInstance) -> Integers | None:
    """Table of a unary operator's results for each element of its input's type, from the least on.

    None where that has more than 8 bits, or the output is of floats.
    """
    kind = input_type(op, 0)
    if kind.dtype not in (DType.INT8, DType.UINT8, DType.BOOL) or op.outputs[0].dtype.is_float:
        return None
    least, greatest = kind.dtype.limits
    return evaluated(fold, op, [np.arange(least, greatest + 1)])


def by_table(fold: Fold) -> Transfer:
    """Ranges of a function of one element: least and greatest entry of each channel's part of its table of results."""

    def ranges(op: OperatorInstance, inputs: Inputs) -> Outputs:
        table, x = elements_of(fold, op), inputs[0]
        if table is None or x is None:
            return None
        first = input_type(op, 0).dtype.limits[0]
        pairs = list(zip(x.low.tolist(), x.high.tolist(), strict=True))
        parts = {(low, high): table[low - first : high - first + 1] for low, high in pairs}
        ends = {pair: (part.min(), part.max()) for pair, part in parts.items()}
        columns = np.array([ends[pair] for pair in pairs], np.int64)
        return [Interval(columns[:, 0], columns[:, 1])]

    return ranges


def broadcast_pair(op: OperatorInstance, inputs: Inputs) -> tuple[Interval, Interval] | None:
    """Intervals of the two operands, broadcast to the channels of the output."""
    left, other = inputs
    if left is None or other is None:
        return None
    channels = channels_of(op.outputs[0])
    return broadcast(left, channels), broadcast(other, channels)


def broadcast(interval: Interval, channels: int) -> Interval:
    """An interval of one channel, or of so many, in a tensor of so many."""
    shape = (channels,)
    return Interval(np.broadcast_to(interval.low, shape), np.broadcast_to(interval.high, shape))


def corners(left: Interval, other: Interval) -> list[tuple[Integers, Integers]]:
    """All pairs of an end of one interval and an end of the other: monotone functions have their extremes there."""
    return list(itertools.product((left.low, left.high), (other.low, other.high)))


def hull(ends: Sequence[Integers]) -> Interval:
    """The interval of each channel that contains all of `ends`."""
    return Interval(np.minimum.reduce(ends), np.maximum.reduce(ends))


def growing(function: Callable[[Integers, Integers], Integers]) -> Transfer:
    """Ranges of a function of two elements that decreases in neither: its results for the intervals' ends."""

    def ranges(op: OperatorInstance, inputs: Inputs) -> Outputs:
        pair = broadcast_pair(op, inputs)
        if pair is None:
            return None
        left, other = pair
        return [Interval(function(left.low, other.low), function(left.high, other.high))]

    return ranges
