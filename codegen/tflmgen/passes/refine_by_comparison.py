"""What follows for operands of comparisons where the outcome is known, as it is inside a branch or a loop's body."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tflmgen.ir import DType, Op, Value
from tflmgen.kernels import Comparison, Interval, traits_of

Scope = dict[Value, Interval]
Reader = Callable[[Value, Scope], Interval | None]

PLAIN = (DType.INT16, DType.INT32, DType.INT64)
"""Types that are compared as they are."""


def refined(condition: Value, truth: bool, makers: Mapping[Value, Op], scope: Scope, read: Reader) -> None:
    """Narrows the intervals in `scope` of what `condition` compares, given that it is `truth`; one element each."""
    op = makers.get(condition)
    if op is None:
        return
    if op.operator == "LOGICAL_NOT" and op.inputs[0] is not None:
        refined(op.inputs[0], not truth, makers, scope, read)
    elif op.operator == ("LOGICAL_AND" if truth else "LOGICAL_OR"):
        for value in op.inputs:
            if value is not None and value.type.elements == 1:
                refined(value, truth, makers, scope, read)
    elif (comparison := traits_of(op.operator).compares) is not None:
        _compared(op, comparison if truth else comparison.negated, scope, read)


def _compared(op: Op, comparison: Comparison, scope: Scope, read: Reader) -> None:
    one, other = op.inputs
    if one is None or other is None or one.type.dtype not in PLAIN or not one.type.elements == other.type.elements == 1:
        return
    a, b = read(one, scope), read(other, scope)
    if a is None or b is None:
        return
    if comparison in (Comparison.GREATER, Comparison.GREATER_EQUAL):
        one, other, a, b, comparison = other, one, b, a, comparison.mirrored
    if comparison is Comparison.EQUAL:
        low, high = np.maximum(a.low, b.low), np.minimum(a.high, b.high)
        new = Interval(low, high), Interval(low, high)
    elif comparison is Comparison.NOT_EQUAL:
        new = _without(a, b), _without(b, a)
    else:
        gap = 1 if comparison is Comparison.LESS else 0
        new = Interval(a.low, np.minimum(a.high, b.high - gap)), Interval(np.maximum(b.low, a.low + gap), b.high)
    for value, interval in zip((one, other), new, strict=True):
        # Nothing left: what is assumed can't be. That is another one's to use.
        if not value.is_constant and (interval.low <= interval.high).all():
            scope[value] = interval


def _without(interval: Interval, other: Interval) -> Interval:
    """`interval`, shorter by one end that is the one number that it can't be."""
    known = other.known
    return Interval(
        np.where(known & (interval.low == other.low), interval.low + 1, interval.low),
        np.where(known & (interval.high == other.high), interval.high - 1, interval.high),
    )
