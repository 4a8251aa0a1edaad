"""Intervals through operators that move elements, pad, pool and reduce."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tflmgen.ir import DType, OperatorInstance, TensorType
from tflmgen.kernels.folding.evaluate import fold
from tflmgen.kernels.folding.fold_quantized import requantized
from tflmgen.kernels.numeric.quantize_math import activation_range, quantize_multiplier
from tflmgen.kernels.operators.pad import paddings
from tflmgen.kernels.operators.reduce import axes, mean_multiplier, reduced_count
from tflmgen.kernels.ranges.intervals import Integers, Interval, channels_of, is_tracked, join_all, whole
from tflmgen.kernels.rules import QUANTIZED, input_type, scale, zero_point
from tflmgen.kernels.table import OPERATORS, traits_of

Inputs = Sequence[Interval | None]
Found = Sequence[Interval | None] | None

MOST_ELEMENTS = 1 << 20
"""Of tensors whose elements are followed one by one; in larger ones every channel gets what any of them has."""


def _data(name: str, op: OperatorInstance) -> list[int]:
    if traits_of(name).joins:
        return list(range(len(op.inputs)))
    return [1 if name == "SPLIT" else 0]


def _moved(name: str) -> Callable[[OperatorInstance, Inputs], Found]:
    """What moves by indices that are known moves the numbers of the elements, from which channels follow."""

    def ranges(op: OperatorInstance, inputs: Inputs) -> Found:
        data = _data(name, op)
        found = [interval for i in data if (interval := inputs[i]) is not None]
        if len(found) < len(data):
            return None
        sources = _sources(name, op, data)
        if sources is None:
            everything = join_all([interval.spread(1) for interval in found])
            return [everything.spread(channels_of(kind)) if is_tracked(kind) else None for kind in op.outputs]
        joined = Interval(np.concatenate([i.low for i in found]), np.concatenate([i.high for i in found]))
        return [joined.picked(source) if source.size else None for source in sources]

    return ranges


def _sources(name: str, op: OperatorInstance, data: Sequence[int]) -> list[Integers] | None:
    """For each output, in rows as long as its last dimension, the channels of the data inputs that elements are from.

    The channels of one input are numbered after those of the one before.
    """
    if sum(input_type(op, i).elements for i in data) > MOST_ELEMENTS or any(
        array is None for i, array in enumerate(op.constants) if op.inputs[i] is not None and i not in data
    ):
        return None
    types, constants = list(op.inputs), list(op.constants)
    first = 0
    for i in data:
        kind = input_type(op, i)
        channels = channels_of(kind)
        numbers = first + np.arange(kind.elements, dtype=np.int32) % max(1, channels)
        types[i], constants[i] = _numbered(kind), numbers.reshape(kind.max_shape)
        first += channels
    instance = OperatorInstance(
        tuple(types), tuple(_numbered(kind) for kind in op.outputs), tuple(constants), op.attributes
    )
    found = fold(name, instance)
    if found is None:
        return None
    return [
        array.astype(np.int64).reshape(-1, max(1, channels_of(kind)))
        for array, kind in zip(found, op.outputs, strict=True)
    ]


def _numbered(kind: TensorType) -> TensorType:
    return TensorType(DType.INT32, kind.shape)


def _pad(op: OperatorInstance, inputs: Inputs) -> Found:
    x, kind = inputs[0], op.outputs[0]
    if x is None:
        return None
    if len(op.inputs) > 2:
        filled = inputs[2]
    else:
        zero = kind.quantization.zero_point if kind.quantization and kind.dtype in QUANTIZED else 0
        filled = Interval(np.array([zero]), np.array([zero]))
    if filled is None:
        return None
    *outer, (before, after) = paddings(op) or [(0, 0)]
    (low,), (high,) = filled.low, filled.high
    padded = Interval(
        np.pad(x.low, (before, after), constant_values=low), np.pad(x.high, (before, after), constant_values=high)
    )
    return [padded.join(filled.spread(len(padded.low))) if any(map(any, outer)) else padded]


def _pool(op: OperatorInstance, inputs: Inputs) -> Found:
    """Means, rounded, and maxima lie between the least and the greatest of their elements."""
    x, output = inputs[0], op.outputs[0]
    if x is None or output.quantization is None:
        return None
    if op.attributes.zeros:
        zero = zero_point(input_type(op, 0))
        x = x.join(Interval(np.array([zero]), np.array([zero])))
    return [x.meet(*activation_range(op.attributes.activation, output.dtype, output.quantization))]


def _kept(op: OperatorInstance, x: Interval) -> Interval:
    """What each channel of a reduction's output is made of."""
    gone = axes(op) or frozenset()
    last = len(input_type(op, 0).shape) - 1
    return x if last not in gone else x.spread(channels_of(op.outputs[0]))


def _extreme(op: OperatorInstance, inputs: Inputs) -> Found:
    return None if inputs[0] is None else [_kept(op, inputs[0])]


def _sum(name: str) -> Callable[[OperatorInstance, Inputs], Found]:
    """Of quantised elements: monotone in each, so that the ends are those of tensors of one element."""

    def ranges(op: OperatorInstance, inputs: Inputs) -> Found:
        source, output = input_type(op, 0), op.outputs[0]
        if inputs[0] is None or source.dtype not in (DType.INT8, DType.INT16):
            return None
        x, count = _kept(op, inputs[0]), reduced_count(op)
        multiplier, shift = quantize_multiplier(scale(source) / scale(output))
        if name == "MEAN":
            multiplier, shift = mean_multiplier(multiplier, shift, count)
        sums = [count * (end - zero_point(source)) for end in (x.low, x.high)]
        left = max(0, shift)
        if not Interval(*sums).within(-(2**31 >> left), (2**31 >> left) - 1):
            return None
        least, greatest = output.dtype.limits
        low, high = (requantized(end, multiplier, shift) + zero_point(output) for end in sums)
        return [Interval(low, high).meet(least, greatest)]

    return ranges


def _resized(op: OperatorInstance, inputs: Inputs) -> Found:
    """Each element is one of the channel's, or lies between four of them."""
    del op
    return [inputs[0]]


def _index(op: OperatorInstance, inputs: Inputs) -> Found:
    """ARG_MAX and ARG_MIN of a known axis."""
    del inputs
    kind, axis = whole(op.outputs[0]), op.constants[1]
    if kind is None or axis is None:
        return None
    shape = input_type(op, 0).max_shape
    return [kind.meet(0, shape[int(np.ravel(axis)[0])] - 1)]


def _one_hot(op: OperatorInstance, inputs: Inputs) -> Found:
    """The value on and the value off, wherever they are."""
    on, off = inputs[2], inputs[3]
    return None if on is None or off is None else [on.join(off).spread(channels_of(op.outputs[0]))]


MOVES: Mapping[str, Callable[[OperatorInstance, Inputs], Found]] = {
    **{name: _moved(name) for name, operator in OPERATORS.items() if operator.traits.moves},
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "REDUCE_ANY", "REDUCE_ALL"), _extreme),
    **{name: _sum(name) for name in ("MEAN", "SUM")},
    "PAD": _pad,
    "PADV2": _pad,
    "AVERAGE_POOL_2D": _pool,
    "MAX_POOL_2D": _pool,
    "RESIZE_BILINEAR": _resized,
    "RESIZE_NEAREST_NEIGHBOR": _resized,
    "ARG_MAX": _index,
    "ARG_MIN": _index,
    "ONE_HOT": _one_hot,
}
"""Operators -> their transfer function, which gives None where it knows no better than all."""
