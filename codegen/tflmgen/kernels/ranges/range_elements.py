"""Intervals through element-wise operators.

A function of one int8 element is evaluated for each of the 256, one that is monotone in each operand at the ends of the
operands' intervals: both by what folds constants (fold_elements, fold_quantized), so that nothing is rounded otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, OperatorInstance, TensorType
from tflmgen.kernels.folding.fold_quantized import rescaled
from tflmgen.kernels.numeric.int8_tables import TABLES
from tflmgen.kernels.numeric.quantize_math import activation_range, quantize_multiplier
from tflmgen.kernels.operators.arithmetic import mul_scale
from tflmgen.kernels.operators.requantize import requantized
from tflmgen.kernels.ranges.intervals import Integers, Interval, channels_of
from tflmgen.kernels.rules import QUANTIZED, input_type, per_tensor, scale, zero_point
from tflmgen.kernels.table import OPERATORS

Array = NDArray[Any]
Inputs = Sequence[Interval | None]
Found = Sequence[Interval | None] | None

UNARY = frozenset({*TABLES, "LOGICAL_NOT", "LOOKUP", "QUANTIZE", "REQUANTIZE"})
"""Functions of one element, a table apart."""

LARGEST = 2**31
"""Magnitude up to which plain integers are computed with; products of two then fit 64 bits."""


def _flat(kind: TensorType, count: int) -> TensorType:
    return replace(kind, shape=(count,))


def _evaluated(name: str, op: OperatorInstance, arrays: Sequence[Array]) -> Integers | None:
    """What the operator makes of vectors of one length, one for each input; None where folding doesn't know it."""
    count = len(arrays[0])
    types = tuple(_flat(input_type(op, i), count) for i in range(len(arrays)))
    typed = tuple(array.astype(kind.dtype.numpy) for array, kind in zip(arrays, types, strict=True))
    instance = OperatorInstance(types, (_flat(op.outputs[0], count),), typed, op.attributes)
    fold = OPERATORS[name].fold
    found = None if fold is None else fold(instance)
    return None if found is None else found[0].astype(np.int64).reshape(-1)


def table_of(name: str, op: OperatorInstance) -> Integers | None:
    """What one of UNARY makes of each element of its input's type, from the least on; None of more than 8 bits."""
    kind = input_type(op, 0)
    if kind.dtype not in (DType.INT8, DType.UINT8, DType.BOOL) or op.outputs[0].dtype.is_float:
        return None
    least, greatest = kind.dtype.limits
    values = np.arange(least, greatest + 1)
    if name == "LOOKUP":
        return None if op.constants[1] is None else np.asarray(op.constants[1]).astype(np.int64)
    if name == "REQUANTIZE":
        return requantized(op, values.astype(np.int8)).astype(np.int64)
    return _evaluated(name, op, [values])


def _tabled(name: str) -> Callable[[OperatorInstance, Inputs], Found]:
    def ranges(op: OperatorInstance, inputs: Inputs) -> Found:
        table, x = table_of(name, op), inputs[0]
        if table is None or x is None:
            return None
        first = input_type(op, 0).dtype.limits[0]
        found = {
            (low, high): (table[low - first : high - first + 1].min(), table[low - first : high - first + 1].max())
            for low, high in zip(x.low.tolist(), x.high.tolist(), strict=True)
        }
        ends = np.array([found[pair] for pair in zip(x.low.tolist(), x.high.tolist(), strict=True)], np.int64)
        return [Interval(ends[:, 0], ends[:, 1])]

    return ranges


def _quantize(op: OperatorInstance, inputs: Inputs) -> Found:
    """Monotone, as long as no left shift overflows."""
    x, source = inputs[0], input_type(op, 0)
    if x is None or not per_tensor(source):
        return None
    if source.dtype is DType.INT8:
        return _tabled("QUANTIZE")(op, inputs)
    factor = scale(source) / scale(op.outputs[0])
    centred = Interval(x.low - zero_point(source), x.high - zero_point(source))
    left = max(0, quantize_multiplier(factor)[1])
    if not centred.within(-(2**31 >> left), (2**31 >> left) - 1):
        return None
    least, greatest = op.outputs[0].dtype.limits
    low, high = (rescaled(end, factor) + zero_point(op.outputs[0]) for end in (centred.low, centred.high))
    return [Interval(low, high).meet(least, greatest)]


def _pair(op: OperatorInstance, inputs: Inputs) -> tuple[Interval, Interval] | None:
    """Both operands, broadcast to the channels of the output."""
    one, other = inputs
    if one is None or other is None:
        return None
    channels = channels_of(op.outputs[0])
    return _widened(one, channels), _widened(other, channels)


def _widened(interval: Interval, channels: int) -> Interval:
    shape = (channels,)
    return Interval(np.broadcast_to(interval.low, shape), np.broadcast_to(interval.high, shape))


def _corners(one: Interval, other: Interval) -> list[tuple[Integers, Integers]]:
    return list(itertools.product((one.low, one.high), (other.low, other.high)))


def _hull(ends: Sequence[Integers]) -> Interval:
    return Interval(np.minimum.reduce(ends), np.maximum.reduce(ends))


def _arithmetic(name: str) -> Callable[[OperatorInstance, Inputs], Found]:
    """ADD, SUB and MUL are monotone in each operand, or bilinear and then rounded monotonely: corners suffice."""

    def ranges(op: OperatorInstance, inputs: Inputs) -> Found:
        pair, dtype = _pair(op, inputs), op.outputs[0].dtype
        if pair is None:
            return None
        if dtype in QUANTIZED:
            if name == "MUL" and not _product_fits(op, *pair):
                return None
            ends = [_evaluated(name, op, corner) for corner in _corners(*pair)]
            return None if any(end is None for end in ends) else [_hull([end for end in ends if end is not None])]
        if not all(interval.within(-LARGEST, LARGEST) for interval in pair):
            return None
        function = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}[name]
        exact = _hull([function(a, b) for a, b in _corners(*pair)])
        if not exact.within(*dtype.limits):
            return None
        low, high = op.attributes.activation.bounds
        least, greatest = dtype.limits
        return [exact.meet(int(max(least, low)), int(min(greatest, high)))]

    return ranges


def _product_fits(op: OperatorInstance, one: Interval, other: Interval) -> bool:
    """Whether no left shift of a product overflows."""
    left = max(0, quantize_multiplier(mul_scale(op))[1])
    points = zero_point(input_type(op, 0)), zero_point(input_type(op, 1))
    products = _hull([(a - points[0]) * (b - points[1]) for a, b in _corners(one, other)])
    return products.within(-(2**31 >> left), (2**31 >> left) - 1)


def _extreme(name: str) -> Callable[[OperatorInstance, Inputs], Found]:
    def ranges(op: OperatorInstance, inputs: Inputs) -> Found:
        pair = _pair(op, inputs)
        if pair is None:
            return None
        function = np.maximum if name == "MAXIMUM" else np.minimum
        return [Interval(function(pair[0].low, pair[1].low), function(pair[0].high, pair[1].high))]

    return ranges


def comparable(op: OperatorInstance, inputs: Inputs) -> tuple[Interval, Interval] | None:
    """What a comparison compares: int8 elements as multiples of 1/256, other integers as they are."""
    pair = _pair(op, inputs)
    if pair is None or input_type(op, 0).dtype is not DType.INT8:
        return pair
    scaled = []
    for index, interval in enumerate(pair):
        kind = input_type(op, index)
        low, high = (rescaled((end - zero_point(kind)) << 8, scale(kind)) for end in (interval.low, interval.high))
        scaled.append(Interval(low, high))
    return scaled[0], scaled[1]


def _comparison(name: str) -> Callable[[OperatorInstance, Inputs], Found]:
    def ranges(op: OperatorInstance, inputs: Inputs) -> Found:
        pair = comparable(op, inputs)
        if pair is None:
            return None
        a, b = pair
        if name.startswith("GREATER"):
            a, b = b, a
        if name in ("LESS", "GREATER"):
            always, possible = a.high < b.low, a.low < b.high
        elif name in ("LESS_EQUAL", "GREATER_EQUAL"):
            always, possible = a.high <= b.low, a.low <= b.high
        else:
            always = a.known & b.known & (a.low == b.low)
            possible = (a.low <= b.high) & (b.low <= a.high)
            if name == "NOT_EQUAL":
                always, possible = ~possible, ~always
        return [Interval(always.astype(np.int64), possible.astype(np.int64))]

    return ranges


def _logical(name: str) -> Callable[[OperatorInstance, Inputs], Found]:
    def ranges(op: OperatorInstance, inputs: Inputs) -> Found:
        pair = _pair(op, inputs)
        if pair is None:
            return None
        function = np.minimum if name == "LOGICAL_AND" else np.maximum
        return [Interval(function(pair[0].low, pair[1].low), function(pair[0].high, pair[1].high))]

    return ranges


def _select(op: OperatorInstance, inputs: Inputs) -> Found:
    """A condition that is known as a whole decides; else either operand may be taken."""
    condition, *choices = inputs
    channels = channels_of(op.outputs[0])
    if any(choice is None or len(choice.low) not in (1, channels) for choice in choices):
        return None
    one, other = (_widened(choice, channels) for choice in choices if choice is not None)
    if condition is not None and condition.hull in ((0, 0), (1, 1)):
        return [one if condition.hull[0] else other]
    return [one.join(other)]


def _cast(op: OperatorInstance, inputs: Inputs) -> Found:
    x, dtype = inputs[0], op.outputs[0].dtype
    if x is None or dtype.is_float:
        return None
    if dtype is DType.BOOL:
        always, possible = (x.low > 0) | (x.high < 0), (x.low != 0) | (x.high != 0)
        return [Interval(always.astype(np.int64), possible.astype(np.int64))]
    return [x] if x.within(*dtype.limits) else None


def clamped(op: OperatorInstance, interval: Interval) -> Interval:
    """What a fused activation of quantised elements leaves."""
    output = op.outputs[0]
    assert output.quantization is not None
    return interval.meet(*activation_range(op.attributes.activation, output.dtype, output.quantization))


ELEMENTWISE: Mapping[str, Callable[[OperatorInstance, Inputs], Found]] = {
    **{name: _tabled(name) for name in UNARY},
    **{name: _arithmetic(name) for name in ("ADD", "SUB", "MUL")},
    **{name: _extreme(name) for name in ("MAXIMUM", "MINIMUM")},
    **{name: _comparison(name) for name in ("LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL")},
    **{name: _logical(name) for name in ("LOGICAL_AND", "LOGICAL_OR")},
    "QUANTIZE": _quantize,
    "SELECT": _select,
    "SELECT_V2": _select,
    "CAST": _cast,
}
"""Operators of one or two tensors -> their transfer function, which gives None where it knows no better than all."""
