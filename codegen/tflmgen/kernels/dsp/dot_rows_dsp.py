"""Rows of weights as the DSP kernels take them, four rows at a time (firmware/kernels/dot_rows_dsp.h)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernels.dsp.dsp_requantisation import exact_requantisation, pair_words, starts_of_pairs, weights_of_pairs
from tflmgen.kernels.numeric.fixed_point import wrap
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.kernel_requantisation import wrapped
from tflmgen.kernels.numeric.packed_readers import records, without_padding

GROUP = header_constant("dot_rows_dsp.h", "TFLMGEN_DOT_ROWS_GROUP")
"""Rows that are computed at a time."""

STACK_STEPS = header_constant("dot_rows_dsp.h", "TFLMGEN_DOT_ROWS_STACK_STEPS")
"""The most steps of four values of a row that is widened on the stack."""


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Rows of weights as pairs of dot_rows_dsp.h.

    words   [rows, steps], each of four weights
    evens   [rows], the sum of the even weights, as the kernels extract them from the words
    offset  the words are offset pairs, else shifted pairs
    """

    words: NDArray[np.uint32]
    evens: Integers
    offset: bool

    @property
    def steps(self) -> int:
        """Steps of the kernel's loop over one block of four rows."""
        return int(self.words.shape[1])

    def starts(self, biases: Iterable[int]) -> NDArray[np.uint32]:
        """Starts of the sums: 256 * bias, less what the pairs add to them for any input."""
        starts = [wrap(256 * bias - 127 * int(even), 32) for bias, even in zip(biases, self.evens, strict=True)]
        return np.array(starts, dtype=np.int32).view(np.uint32)


def pack_rows(weights: Integers, offset: bool = False) -> PackedRows:
    """Shifted pairs of [rows, terms], or offset pairs where a shifted pair does not fit, or if asked for."""
    words = None if offset else pair_words(weights)
    if words is not None:
        return PackedRows(words, weights[:, 0::2].sum(axis=1), False)
    rows, terms = weights.shape
    padded = np.zeros((rows, -(-terms // GROUP) * GROUP), dtype=np.int64)
    padded[:, :terms] = weights
    evens = padded[:, 0::2] + 128
    halves = np.ascontiguousarray((evens + 256 * padded[:, 1::2]).astype("<i2"))
    return PackedRows(halves.view("<u4"), evens.sum(axis=1), True)


def groups_of(packed: PackedRows, starts: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """[groups, 4 + 4 * steps]: four starts, then the words of each step; rows that the last group lacks are zeros."""
    rows, steps = packed.words.shape
    count = -(-rows // GROUP)
    filled = np.zeros((count * GROUP, 1 + steps), dtype=np.uint32)
    filled[:rows, 0], filled[:rows, 1:] = starts, packed.words
    return np.ascontiguousarray(filled.reshape(count, GROUP, 1 + steps).transpose(0, 2, 1)).reshape(count, -1)


Scale = tuple[int, int, int, int]
"""(right_shift, multiplier, addend, sign_fix as it is added to negative sums), see requantized_rows_dsp.h."""


def scale_to_int16(weights: Integers, biases: Integers, multiplier: int, shift: int) -> Scale | None:
    """Constants that requantise sums to int16 with the results of tflmgen_requantize and saturation.

    None where that is not exact for every input, or where a row does not fit the stack.
    """
    if weights.shape[1] > GROUP * STACK_STEPS:
        return None
    positive, negative = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)
    least, greatest = biases + 127 * negative - 128 * positive, biases + 127 * positive - 128 * negative
    requantisation = exact_requantisation(0, multiplier, -shift, 0, int(least.min()), int(greatest.max()))
    if requantisation is None:
        return None
    return requantisation.shift, requantisation.multiplier, requantisation.addend, -128 if shift < 0 else 0


def read_rows(data: bytes, rows: int, terms: int, offset: bool) -> tuple[Integers, Integers]:
    """Weights [rows, terms] of groups of four, and what the sums begin with in units of products.

    offset: pairs are offset ones, whose halves have w0 + 128; 128 times each even input is taken off elsewhere.
    """
    steps, count = -(-terms // 4), -(-rows // 4)
    stream = records(data, [("start", "<i4", (4,)), ("words", "<i2", (steps, 4, 2))], count)
    halves = stream["words"].transpose(0, 2, 1, 3).reshape(4 * count, -1)
    starts = stream["start"].reshape(-1).astype(np.int64)
    if starts[rows:].any() or halves[rows:].any():
        raise ValueError("rows that the last group lacks are not zero")
    if offset:
        # An even byte is w0 + 128 without a sign; what the pairs add to a sum goes by these bytes.
        low = halves.astype(np.int64) & 255
        weights = np.stack([low - 128, halves.astype(np.int64) >> 8], axis=-1).reshape(4 * count, -1)
        begin = wrapped(starts + 127 * low.sum(axis=1))
    else:
        weights = weights_of_pairs(halves)
        begin = starts_of_pairs(starts, weights)
    if (begin[:rows] & 255).any():
        raise ValueError("a sum does not begin with a whole number of products")
    return without_padding(weights[:rows], terms), begin[:rows] >> 8
