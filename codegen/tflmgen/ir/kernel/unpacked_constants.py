"""Contents of packed constants, read back from their bytes: the values that proof/ compares with the model's own.

What a kernel makes of a sum of products is a function here, so that constants which were searched for are judged by
what they compute, not by how they were found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.kernel.call import ParamValue

Integers = NDArray[np.int64]

Outputs = Callable[[Integers], Integers]
"""Outputs of a kernel, before the clamp to its params' range, for sums of products [rows, n]."""


@dataclass(frozen=True, slots=True)
class PackedCall:
    """A call of a kernel with constants of a layer.

    function, fields: its name and the numbers of its struct. arguments: per argument of the C function the bytes that
    it points to, None where these are in RAM or absent. channels: of the output. taps: positions of the filter.
    inputs: channels of the input.
    """

    function: str
    fields: Mapping[str, ParamValue]
    arguments: Sequence[bytes | None]
    channels: int
    taps: tuple[int, int]
    inputs: int

    @property
    def terms(self) -> int:
        """Products of one output, if it sees every input channel."""
        return self.taps[0] * self.taps[1] * self.inputs

    def number(self, field: str) -> int:
        """A number of the struct. Raises ValueError where it has none of that name."""
        value = self.fields.get(field)
        if not isinstance(value, int):
            raise ValueError(f"the struct has no number '{field}'")
        return value

    def fields_product(self, *fields: str) -> int:
        """The product of numbers of the struct."""
        return math.prod(self.number(field) for field in fields)

    def words(self, argument: int = 1) -> bytes:
        """The bytes in flash that an argument points to. Raises ValueError where it points elsewhere."""
        data = self.arguments[argument]
        if data is None:
            raise ValueError(f"argument {argument} is not in flash")
        return data


@dataclass(frozen=True, slots=True, eq=False)
class UnpackedPart:
    """Some output channels, and some of their terms, as the kernel computes them.

    rows: the output channels. weights: [rows, terms], perhaps times a positive factor of each row, by which the sums
    that `outputs` gets are greater, too. tap_rows, tap_columns: the filter's positions that `terms` are of, in this
    order; None for all of them.
    """

    rows: NDArray[np.int64]
    weights: Integers
    outputs: Outputs
    tap_rows: Sequence[int] | None = None
    tap_columns: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class UnpackedSums:
    """Rows of weights, and what their sums of products with the raw inputs begin with, modulo 2^32.

    weights: None where the kernel reads the tensor itself. high: a sum becomes (sum * high + 2^31) >> 32, [rows];
    scales: (multiplier, shift) of tflmgen_requantize, [rows, 2]; neither where the struct has what is common to rows.
    """

    weights: Integers | None
    starts: Integers
    high: Integers | None = None
    scales: Integers | None = None


Unpacked = UnpackedPart | UnpackedSums

Reader = Callable[[PackedCall], Sequence[Unpacked]]
"""Reads the constants of a call. Raises ValueError where the bytes do not have the layout."""
