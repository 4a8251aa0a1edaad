"""Terms of a cost model, and the numbers of a call that they count with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Numbers = Mapping[str, int]
"""Numbers of a kernel and the fields of a call's const struct, of arrays each element (extent0, extent1)."""

Work = TypeVar("Work")


@dataclass(frozen=True, slots=True)
class Blocking:
    """Sizes of the block that a kernel computes at a time: output pixels, output channels or units, and input values.

    inlined  elements of the longest row that the kernel computes in place of a call
    """

    pixels: int = 1
    channels: int = 1
    values: int = 1
    inlined: int = 0


@dataclass(frozen=True, slots=True)
class Term(Generic[Work]):
    """A part of kernels: what one of it is, and how many there are in a call."""

    meaning: str
    count: Callable[[Work], float]


def is_clamped(numbers: Numbers) -> bool:
    """Whether int8 results are clamped within their type's range, in a pass of its own."""
    low, high = numbers.get("output_min", -128), numbers.get("output_max", 127)
    return low > -128 or high < 127
