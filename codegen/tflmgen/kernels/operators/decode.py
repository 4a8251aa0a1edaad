"""TFLM_DECODE: weights that TFLite Micro's compression packs. They are decoded at build time: flash has them unpacked.

Inputs come in pairs, all of them bytes: 2i the packed tensor, 2i + 1 what it takes to decode output i, which begins
with a header of 16 bytes:

    0  0: lookup tables, 2: pruning
    1  version, 1
    5  of lookup tables: bits of an index in the low 3 bits, the tables' axis in the high 4 (15: there is one table)
    6  of lookup tables: elements of a table
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import Kernel, OperatorInstance, Target
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import STATIC, output_is

Array = NDArray[Any]

HEADER = 16
"""Bytes of the header before the tables."""
LOOKUP, PRUNING = 0, 2
"""Kinds of compression, as the header's first byte numbers them."""
ONE_TABLE = 15
"""Axis in the header that stands for one table for the whole tensor."""
TYPES = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.BOOL)


def _bytes(op: OperatorInstance, index: int) -> Array:
    return np.frombuffer(np.asarray(op.constants[index]).tobytes(), np.uint8)


def _channels(kind: TensorType, axis: int) -> tuple[int, int]:
    """(tables along an axis, consecutive elements in each channel)."""
    shape = kind.max_shape
    return shape[axis], int(np.prod(shape[axis + 1 :], dtype=np.int64))


def _from_tables(packed: Array, header: Array, values: Array, kind: TensorType) -> Array | None:
    """Each element an index into the table of its channel."""
    bits, axis, entries = int(header[5]) & 7, int(header[5]) >> 4, int(header[6])
    count = kind.elements
    if not bits or not entries or len(packed) * 8 < bits * count or (axis != ONE_TABLE and axis >= len(kind.shape)):
        return None
    weights = 1 << np.arange(bits)[::-1]
    indices = np.unpackbits(packed)[: bits * count].reshape(count, bits) @ weights
    tables, inner = (1, count) if axis == ONE_TABLE else _channels(kind, axis)
    if len(values) < entries * tables:
        # Files without an axis in the header have one table where the output has one scale.
        tables, inner = 1, count
    places = np.arange(count) // inner % tables * entries + indices
    if indices.max(initial=0) >= entries or len(values) < entries * tables:
        return None
    return values[places]


def _from_mask(packed: Array, values: Array, kind: TensorType) -> Array | None:
    """Each element the next value, or where its bit isn't set the zero point of its channel."""
    count, quantization = kind.elements, kind.quantization
    if len(packed) * 8 < count:
        return None
    kept = np.unpackbits(packed)[:count].astype(bool)
    if len(values) < kept.sum():
        return None
    zeros = np.zeros(count, values.dtype)
    if quantization is not None and kind.dtype is DType.INT8:
        points = np.array(quantization.zero_points, values.dtype)
        tables, inner = _channels(kind, quantization.axis) if len(points) > 1 else (1, count)
        zeros = points[np.arange(count) // inner % tables]
    zeros[kept] = values[: kept.sum()]
    return zeros


def _decoded(op: OperatorInstance, output: int) -> Array | None:
    """The contents of an output; None where the bytes are not of the form above."""
    packed, header, kind = _bytes(op, 2 * output), _bytes(op, 2 * output + 1), op.outputs[output]
    if len(header) < HEADER or header[1] != 1 or header[0] not in (LOOKUP, PRUNING):
        return None
    size = kind.dtype.numpy.itemsize
    values = np.frombuffer(header[HEADER:].tobytes()[: (len(header) - HEADER) // size * size], kind.dtype.numpy)
    elements = _from_tables(packed, header, values, kind) if header[0] == LOOKUP else _from_mask(packed, values, kind)
    return None if elements is None else elements.reshape(kind.max_shape)


def fold(op: OperatorInstance) -> Sequence[Array] | None:
    """The decoded contents of every output, or None where the bytes of one are not of the form above."""
    arrays = [_decoded(op, i) for i in range(len(op.outputs))]
    decoded = [array for array in arrays if array is not None]
    return decoded if len(decoded) == len(arrays) else None


def infer(op: OperatorInstance) -> tuple[Shape | None, ...]:
    """The shapes that the file gives: they are not in the operator's data."""
    return tuple(t.shape for t in op.outputs)


def kernel(op: OperatorInstance, target: Target) -> Kernel:
    """Never called: whoever keeps the rules is evaluated before kernels are chosen."""
    raise AssertionError((op, target))


RULES = (
    Rule("two inputs for each output", lambda op: len(op.inputs) == 2 * len(op.outputs) > 0),
    Rule("every input to be present", lambda op: all(t is not None for t in op.inputs)),
    STATIC,
    output_is(*TYPES),
    Rule("uint8 inputs", lambda op: all(t.dtype is DType.UINT8 for t in op.inputs if t is not None)),
    Rule("all inputs to be constant", lambda op: all(array is not None for array in op.constants)),
    Rule(
        "lookup tables or pruned elements of version 1, complete",
        lambda op: fold(op) is not None,
    ),
)


OPERATORS = (OperatorSpec("CUSTOM:TFLM_DECODE", no_attributes, (2, -1), -1, RULES, infer, kernel, fold=fold),)
