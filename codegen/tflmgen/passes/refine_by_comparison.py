"""Narrows intervals of a comparison's operands by its known outcome, inside a branch or a loop's body."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.graph import Op, Value
from tflmgen.kernels import Comparison, Connective, traits_of
from tflmgen.kernels.ranges import Interval

Scope = dict[Value, Interval]
Reader = Callable[[Value, Scope], Interval | None]

PLAIN = (DType.INT16, DType.INT32, DType.INT64)
"""Element types that comparisons do not requantise."""


def refined(condition: Value, truth: bool, producers: Mapping[Value, Op], scope: Scope, read: Reader) -> None:
    """Narrows the intervals in `scope` of the operands of `condition`, given that it is `truth`; one element each."""
    op = producers.get(condition)
    if op is None:
        return
    traits = traits_of(op.operator)
    if traits.connective is Connective.NOT and op.inputs[0] is not None:
        refined(op.inputs[0], not truth, producers, scope, read)
    elif traits.connective is (Connective.AND if truth else Connective.OR):
        for value in op.inputs:
            if value is not None and value.type.elements == 1:
                refined(value, truth, producers, scope, read)
    elif traits.compares is not None:
        _compared(op, traits.compares if truth else traits.compares.negated, scope, read)


def _compared(op: Op, comparison: Comparison, scope: Scope, read: Reader) -> None:
    left, right = op.inputs
    if (
        left is None
        or right is None
        or left.type.dtype not in PLAIN
        or not left.type.elements == right.type.elements == 1
    ):
        return
    a, b = read(left, scope), read(right, scope)
    if a is None or b is None:
        return
    if comparison in (Comparison.GREATER, Comparison.GREATER_EQUAL):
        left, right, a, b, comparison = right, left, b, a, comparison.mirrored
    if comparison is Comparison.EQUAL:
        low, high = np.maximum(a.low, b.low), np.minimum(a.high, b.high)
        new = Interval(low, high), Interval(low, high)
    elif comparison is Comparison.NOT_EQUAL:
        new = _without_end(a, b), _without_end(b, a)
    else:
        gap = 1 if comparison is Comparison.LESS else 0
        new = Interval(a.low, np.minimum(a.high, b.high - gap)), Interval(np.maximum(b.low, a.low + gap), b.high)
    for value, interval in zip((left, right), new, strict=True):
        # An empty interval means that the assumption is impossible; the branch is removed elsewhere.
        if not value.is_constant and (interval.low <= interval.high).all():
            scope[value] = interval


def _without_end(interval: Interval, excluded: Interval) -> Interval:
    """`interval` without the single number of `excluded`, if that is one of its ends."""
    is_single = excluded.known
    return Interval(
        np.where(is_single & (interval.low == excluded.low), interval.low + 1, interval.low),
        np.where(is_single & (interval.high == excluded.high), interval.high - 1, interval.high),
    )
