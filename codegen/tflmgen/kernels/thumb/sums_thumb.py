"""Sums of rows as the Thumb kernels compute them (firmware/kernels/sums_thumb.h)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray
from tflmgen.kernels.numeric.fixed_point import wrap
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.kernel_requantisation import wrapped
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.thumb.fully_connected_thumb import STACK, weight_words


def sums_operand(name: str, weights: Integers, biases: Sequence[int]) -> ConstantArray:
    """The stream of weights [rows, terms] and of biases, which wrap; rows that the last group lacks are zeros."""
    words = weight_words(weights)
    padded = [*biases, *[0] * (4 * len(words) - len(biases))]
    sums = [*weights.sum(axis=1).tolist(), *[0] * (len(padded) - len(biases))]
    starts = [wrap(bias - 128 * total, 32) for bias, total in zip(padded, sums, strict=True)]
    behind = np.array(starts, dtype=np.int32).view(np.uint32).reshape(-1, 4)
    return ConstantArray.of(name, np.concatenate([words, behind], axis=1).reshape(-1), DType.UINT32)


def fits(weights: Integers) -> bool:
    """Whether a row has room on the stack."""
    return int(weights.shape[1]) <= STACK


def read_sums(data: bytes, rows: int, terms: int) -> tuple[Integers, Integers]:
    """Weights [rows, terms] and starts: groups of four rows, 128 added to weights and inputs, four biases behind."""
    even, count = terms + terms % 2, -(-rows // 4)
    stream = records(data, [("bytes", "u1", (even, 4)), ("bias", "<i4", (4,))], count)
    values = stream["bytes"].transpose(0, 2, 1).reshape(-1, even).astype(np.int64)
    starts = stream["bias"].reshape(-1).astype(np.int64)
    if values[rows:].any() or starts[rows:].any() or values[:, terms:].any():
        raise ValueError("what fills up a group or a row is not zero")
    weights = values[:rows, :terms] - 128
    return weights, wrapped(starts[:rows] + 128 * weights.sum(axis=1))
