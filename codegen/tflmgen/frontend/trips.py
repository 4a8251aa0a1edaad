"""Trip counts of loops with a counter: a variable with a constant start and a constant step.

The condition compares counters with constants; several comparisons may be joined by LOGICAL_AND. This is the affine
case of induction variables (Wolfe, Beyond Induction Variables, 1992).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import constant_array
from tflmgen.ir.graph import Op, Value, While
from tflmgen.kernels import Comparison, Connective, traits_of
from tflmgen.kernels.numeric import Activation
from tflmgen.kernels.operators import Fused


@dataclass(frozen=True, slots=True)
class Counter:
    """A counting variable: start + k * step before iteration k (from 0), a signed integer of `bits` bits."""

    start: int
    step: int
    bits: int

    def after(self, trips: int) -> int:
        """Value of the variable after `trips` iterations."""
        return self.start + trips * self.step

    def fits(self, trips: int) -> bool:
        """Whether the variable does not overflow within `trips` iterations."""
        return -(1 << self.bits - 1) <= self.after(trips) < 1 << self.bits - 1


def counters(loop: While, constants: Mapping[str, bytes]) -> dict[Value, Counter]:
    """Counting variables of a loop, each of one element."""
    producers = {op.outputs[0]: op for op in loop.body.nodes if isinstance(op, Op) and traits_of(op.operator).adds}
    counting = {}
    for variable, init, following in zip(loop.variables, loop.inits, loop.body.results, strict=True):
        start, op = _number(init, constants), producers.get(following)
        if start is None or op is None or op.attributes != Fused(Activation.NONE):
            continue
        step = _step(op, variable, constants)
        if step:
            counting[variable] = Counter(start, step, variable.type.dtype.bits)
    return counting


def trip_count(loop: While, constants: Mapping[str, bytes], upper_bound: bool = False) -> int | None:
    """Number of iterations, or with `upper_bound` a number that they do not exceed; None if unknown."""
    if loop.trips is not None:
        return loop.trips
    producers = {op.outputs[0]: op for op in loop.condition.nodes if isinstance(op, Op)}
    return _count(loop.condition.results[0], producers, counters(loop, constants), constants, upper_bound)


def _count(
    test: Value,
    producers: Mapping[Value, Op],
    counting: Mapping[Value, Counter],
    constants: Mapping[str, bytes],
    upper_bound: bool,
) -> int | None:
    op = producers.get(test)
    if op is None:
        return None
    traits = traits_of(op.operator)
    if traits.connective is Connective.AND:
        counts = [_count(v, producers, counting, constants, upper_bound) for v in op.inputs if v is not None]
        known_counts = [count for count in counts if count is not None]
        return min(known_counts, default=None) if upper_bound or len(known_counts) == len(counts) else None
    comparison = traits.compares
    if comparison is None or comparison is Comparison.EQUAL:
        return None
    counted, bound = op.inputs
    assert counted is not None
    assert bound is not None
    if counted not in counting:
        counted, bound, comparison = bound, counted, comparison.mirrored
    limit = _number(bound, constants)
    if counted not in counting or limit is None:
        return None
    counter = counting[counted]
    trips = first_failure(counter, comparison, limit)
    return trips if trips is not None and counter.fits(trips) else None


def first_failure(counter: Counter, comparison: Comparison, limit: int) -> int | None:
    """First k for which (start + k * step COMPARISON limit) is false; None if the comparison always holds."""
    start, step = counter.start, counter.step
    if comparison in (Comparison.GREATER, Comparison.GREATER_EQUAL):
        start, step, limit, comparison = -start, -step, -limit, comparison.mirrored
    if comparison is Comparison.NOT_EQUAL:
        trips, remainder = divmod(limit - start, step)
        return trips if remainder == 0 and trips >= 0 else None
    beyond = limit + (comparison is Comparison.LESS_EQUAL)
    if start >= beyond:
        return 0
    return -(-(beyond - start) // step) if step > 0 else None


def _step(op: Op, variable: Value, constants: Mapping[str, bytes]) -> int | None:
    """Constant increment of `variable` by the operator: c of variable + c and c + variable, -c of variable - c."""
    (left, right), sign = op.inputs, traits_of(op.operator).adds
    if left == variable:
        step = _number(right, constants)
        return None if step is None else sign * step
    return _number(left, constants) if right == variable and sign > 0 else None


def _number(value: Value | None, constants: Mapping[str, bytes]) -> int | None:
    """Element of an unquantised integer constant of one element; else None."""
    if value is None or value.type.elements != 1 or value.type.dtype.is_float or value.type.quantization is not None:
        return None
    array = constant_array(value, constants)
    return None if array is None else int(np.ravel(np.asarray(array))[0])
