"""A call's arrays of constants, and the comparison of one with what it must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.reference import Array


@dataclass(frozen=True, slots=True)
class ArrayCall:
    """A call with constants. data: per argument the bytes in flash; None where these are in RAM or absent."""

    operator: str
    op: OperatorInstance
    function: str
    data: Sequence[bytes | None]

    def elements(self, argument: int, dtype: str) -> Array:
        """Raises ValueError where the argument has no bytes in flash, or no whole elements."""
        data = self.data[argument]
        if data is None:
            raise ValueError(f"argument {argument} is no constant")
        return np.frombuffer(data, dtype)


Check = Callable[[ArrayCall], str | None]
"""The first error in the arrays; empty where there is none, None where there is nothing to compare with."""


def compare(call: ArrayCall, argument: int, wanted: Array, caption: str) -> str:
    """Difference of an argument's elements from those wanted, in their type; empty where there is none."""
    written = call.elements(argument, wanted.dtype.newbyteorder("<").str)
    if written.shape != (wanted.size,):
        return f"{caption}: {written.size} elements instead of {wanted.size}"
    wrong = np.flatnonzero(written != wanted.reshape(-1))
    return f"{caption}: element {wrong[0]} differs" if len(wrong) else ""
