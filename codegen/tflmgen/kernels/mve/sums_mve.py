"""Sums of rows as the MVE kernels compute them (firmware/kernels/sums_mve.h)."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray
from tflmgen.kernels.mve.fully_connected_mve import GROUP
from tflmgen.kernels.mve.mve_requantisation import padded_bytes
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.packed_readers import records, without_padding
from tflmgen.kernels.numeric.stream_words import as_words

STACK_BYTES = header_constant("sums_mve.h", "TFLMGEN_SUMS_MVE_STACK_BYTES")
"""Bytes that rows may take on the stack; the kernels do not support longer ones."""


def row_bytes(weights: Integers) -> int:
    """Bytes of a row's input, filled up to a multiple of 16."""
    return -(-int(weights.shape[1]) // 16) * 16


def sums_operand(name: str, weights: Integers, biases: Integers) -> ConstantArray:
    """The stream of biases, which wrap, and of weights [rows, terms]; rows that the last group lacks are zeros."""
    rows, terms = weights.shape
    count = -(-rows // GROUP) * GROUP
    filled = np.zeros((count, terms), dtype=np.int64)
    filled[:rows] = weights
    starts = np.zeros(count, dtype=np.int64)
    starts[:rows] = biases
    packed = padded_bytes(filled)
    ordered = packed.reshape(-1, GROUP, packed.shape[1], 4).transpose(0, 2, 1, 3).reshape(count // GROUP, -1)
    stream = np.concatenate([as_words(starts).reshape(-1, GROUP), ordered], axis=1)
    return ConstantArray.of(name, stream.reshape(-1), DType.UINT32)


def read_sums(data: bytes, rows: int, terms: int) -> tuple[Integers, Integers]:
    """Weights [rows, terms] and starts: groups of eight biases and rows, filled up to whole vectors of 16."""
    chunks, count = -(-terms // 16), -(-rows // 8)
    stream = records(data, [("bias", "<i4", (8,)), ("weights", "i1", (chunks, 8, 16))], count)
    weights, starts = stream["weights"].transpose(0, 2, 1, 3).reshape(8 * count, -1), stream["bias"].reshape(-1)
    if weights[rows:].any() or starts[rows:].any():
        raise ValueError("rows that the last group lacks are not zero")
    return without_padding(weights[:rows], terms), starts[:rows].astype(np.int64)
