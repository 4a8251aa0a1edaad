"""Claims of value-range analysis about a Module, asserted of each element that an evaluation computes.

The claims are about values wherever they come from: an operator's output, a function's argument, a loop's variable at
each turn. An operator's operands may be claimed to lie closer together than the values they are, since a condition
holds where the operator stands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.ir.graph import Op, Value, While
from tflmgen.reference.operation import Array

Bounds = tuple[Array, Array]
"""Least and greatest element of each channel, which is an index of the last dimension."""


class ClaimError(Exception):
    """An element lies outside of its claimed range, or a loop turns that is claimed never to."""


@dataclass(frozen=True)
class Claims:
    """Claims of value-range analysis, which each run is checked against.

    values    by id of the value
    operands  of each input, by id of the operator
    never     ids of loops that do not turn
    """

    values: Mapping[int, Bounds] = field(default_factory=dict)
    operands: Mapping[int, Sequence[Bounds | None]] = field(default_factory=dict)
    never: frozenset[int] = frozenset()

    def check_value(self, value: Value, array: Array) -> None:
        """Raises ClaimError."""
        bounds = self.values.get(value.id)
        if bounds is not None and _is_outside(array, *bounds):
            raise ClaimError(f"'{value.name}' leaves the range that value-range analysis gives it")

    def check_operands(self, op: Op, arrays: Sequence[Array | None]) -> None:
        """Raises ClaimError."""
        for value, bounds, array in zip(op.inputs, self.operands.get(op.id, ()), arrays, strict=False):
            if value is not None and bounds is not None and array is not None and _is_outside(array, *bounds):
                raise ClaimError(f"'{value.name}' leaves the range that value-range analysis gives it in {op.operator}")

    def check_turn(self, loop: While) -> None:
        """Raises ClaimError."""
        if loop.id in self.never:
            raise ClaimError(f"'{loop.body.name}' turns, and value-range analysis says that it never does")


def _is_outside(array: Array, low: Array, high: Array) -> bool:
    if not array.size:
        return False
    if len(low) > 1:
        rows = array.reshape(-1, len(low))
        return bool((rows.min(axis=0) < low).any() or (rows.max(axis=0) > high).any())
    return bool(array.min() < low[0] or array.max() > high[0])
