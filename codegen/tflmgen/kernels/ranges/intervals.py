"""Intervals of integers, one for each index of a tensor's last dimension: its channels.

The domain of the range analysis is that of Cousot and Cousot, Abstract Interpretation: A Unified Lattice Model (1977),
without its empty element: an interval holds every element that a tensor can have in that channel, for every input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import OperatorInstance

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Least and greatest element of each channel, two vectors of one length; low <= high."""

    low: Integers
    high: Integers

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Interval)
            and np.array_equal(self.low, other.low)
            and np.array_equal(self.high, other.high)
        )

    def __hash__(self) -> int:
        return hash((self.low.tobytes(), self.high.tobytes()))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each channel is constant: one number for every input and at every place."""
        known: NDArray[np.bool_] = self.low == self.high
        return known

    @property
    def hull(self) -> tuple[int, int]:
        """Least and greatest element of all channels."""
        return int(self.low.min()), int(self.high.max())

    def join(self, other: Interval) -> Interval:
        """The smallest Interval that contains both."""
        return Interval(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def meet(self, low: int, high: int) -> Interval:
        """The Interval of the elements clamped to [low, high]."""
        return Interval(np.clip(self.low, low, high), np.clip(self.high, low, high))

    def within(self, low: int, high: int) -> bool:
        """Whether no element is outside [low, high]."""
        return bool((self.low >= low).all() and (self.high <= high).all())

    def spread(self, channels: int) -> Interval:
        """The interval of these elements in a tensor of so many channels, whose order among these is not known."""
        low, high = self.hull
        return Interval(np.full(channels, low), np.full(channels, high))

    def picked(self, indices: Integers) -> Interval:
        """Channels of this one: `indices` has the new channels in its columns, and joins those of a column."""
        return Interval(self.low[indices].min(axis=0), self.high[indices].max(axis=0))


Inputs = Sequence[Interval | None]
"""Interval of every input of an operator; None where one is absent or isn't tracked (floats)."""

Outputs = Sequence[Interval | None] | None
"""Interval of every output; None, for one or for all: whatever the type and the fused activation allow."""

Transfer = Callable[[OperatorInstance, Inputs], Outputs]
"""An operator's transfer function; no operand has a dimension known at run time only."""


def channels_of(kind: TensorType) -> int:
    """Length of the last dimension; 1 for a scalar."""
    return kind.max_shape[-1] if kind.shape else 1


def is_tracked(kind: TensorType) -> bool:
    """Whether intervals are kept of elements of this type: of integers that 64 bits with a sign hold."""
    return not kind.dtype.is_float and kind.dtype is not DType.UINT64 and kind.elements > 0


def whole(kind: TensorType) -> Interval | None:
    """The full range of a type; None for types that value-range analysis does not track."""
    if not is_tracked(kind):
        return None
    low, high = kind.dtype.limits
    channels = channels_of(kind)
    return Interval(np.full(channels, low, np.int64), np.full(channels, high, np.int64))


def of_array(array: NDArray[Any], kind: TensorType) -> Interval | None:
    """Least and greatest element of each channel of a constant; None for types that are not tracked."""
    if not is_tracked(kind):
        return None
    rows = np.asarray(array).astype(np.int64).reshape(-1, channels_of(kind))
    return Interval(rows.min(axis=0), rows.max(axis=0))


def join_all(intervals: Sequence[Interval]) -> Interval:
    """The least interval that contains all of them. Raises ValueError for none."""
    first, *rest = intervals
    for interval in rest:
        first = first.join(interval)
    return first
