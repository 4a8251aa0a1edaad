"""How often a loop runs, where that follows from a counter: a variable that begins at a constant and changes by one.

The condition compares counters with constants; several comparisons may be joined by LOGICAL_AND. This is the affine
case of induction variables (Wolfe, Beyond Induction Variables, 1992).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import Op, Value, While, constant_array
from tflmgen.kernels import Activation, Fused

MIRRORED = {
    "LESS": "GREATER",
    "LESS_EQUAL": "GREATER_EQUAL",
    "GREATER": "LESS",
    "GREATER_EQUAL": "LESS_EQUAL",
    "NOT_EQUAL": "NOT_EQUAL",
}
"""a OPERATOR b is b MIRRORED a."""


@dataclass(frozen=True, slots=True)
class Counter:
    """Before iteration k (from 0) the variable is start + k * step, a number of at most `bits` bits with its sign."""

    start: int
    step: int
    bits: int

    def after(self, trips: int) -> int:
        """What the variable holds after `trips` iterations."""
        return self.start + trips * self.step

    def fits(self, trips: int) -> bool:
        """Whether the variable has not wrapped by then."""
        return -(1 << self.bits - 1) <= self.after(trips) < 1 << self.bits - 1


def counters(loop: While, constants: Mapping[str, bytes]) -> dict[Value, Counter]:
    """The variables of a loop that count, of one element each."""
    made = {op.outputs[0]: op for op in loop.body.nodes if isinstance(op, Op) and op.operator in ("ADD", "SUB")}
    found = {}
    for variable, init, following in zip(loop.variables, loop.inits, loop.body.results, strict=True):
        start, op = _number(init, constants), made.get(following)
        if start is None or op is None or op.attributes != Fused(Activation.NONE):
            continue
        step = _step(op, variable, constants)
        if step:
            found[variable] = Counter(start, step, variable.type.dtype.bits)
    return found


def trip_count(loop: While, constants: Mapping[str, bytes], at_most: bool = False) -> int | None:
    """How often the body runs, or with `at_most` how often it can run; None where that is not known."""
    if loop.trips is not None:
        return loop.trips
    made = {op.outputs[0]: op for op in loop.condition.nodes if isinstance(op, Op)}
    return _count(loop.condition.results[0], made, counters(loop, constants), constants, at_most)


def _count(
    test: Value,
    made: Mapping[Value, Op],
    counting: Mapping[Value, Counter],
    constants: Mapping[str, bytes],
    at_most: bool,
) -> int | None:
    op = made.get(test)
    if op is None:
        return None
    if op.operator == "LOGICAL_AND":
        counts = [_count(v, made, counting, constants, at_most) for v in op.inputs if v is not None]
        known = [count for count in counts if count is not None]
        return min(known, default=None) if at_most or len(known) == len(counts) else None
    if op.operator not in MIRRORED:
        return None
    one, other = op.inputs
    assert one is not None
    assert other is not None
    comparison = op.operator
    if one not in counting:
        one, other, comparison = other, one, MIRRORED[comparison]
    limit = _number(other, constants)
    if one not in counting or limit is None:
        return None
    counter = counting[one]
    trips = first_failure(counter, comparison, limit)
    return trips if trips is not None and counter.fits(trips) else None


def first_failure(counter: Counter, comparison: str, limit: int) -> int | None:
    """The first k with not (start + k * step COMPARISON limit); None if there is none before the counter wraps."""
    start, step = counter.start, counter.step
    if comparison.startswith("GREATER"):
        start, step, limit, comparison = -start, -step, -limit, MIRRORED[comparison]
    if comparison == "NOT_EQUAL":
        trips, rest = divmod(limit - start, step)
        return trips if rest == 0 and trips >= 0 else None
    beyond = limit + (comparison == "LESS_EQUAL")
    if start >= beyond:
        return 0
    return -(-(beyond - start) // step) if step > 0 else None


def _step(op: Op, variable: Value, constants: Mapping[str, bytes]) -> int | None:
    """c for variable + c, c + variable and variable - c."""
    one, other = op.inputs
    if one == variable:
        step = _number(other, constants)
        return step if step is None or op.operator == "ADD" else -step
    return _number(one, constants) if other == variable and op.operator == "ADD" else None


def _number(value: Value | None, constants: Mapping[str, bytes]) -> int | None:
    """The element of an integer constant of one element that is not quantised."""
    if value is None or value.type.elements != 1 or value.type.dtype.is_float or value.type.quantization is not None:
        return None
    array = constant_array(value, constants)
    return None if array is None else int(np.ravel(np.asarray(array))[0])
