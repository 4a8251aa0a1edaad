"""Ranges of operators' outputs, by what the operator table says: of moves, of functions, or of the operator itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.folding.evaluate import fold
from tflmgen.kernels.numeric.quantize_math import activation_range
from tflmgen.kernels.ranges.intervals import (
    Inputs,
    Integers,
    Interval,
    Outputs,
    channels_of,
    is_tracked,
    join_all,
    whole,
)
from tflmgen.kernels.ranges.range_elements import by_table, elements_of
from tflmgen.kernels.specification.rules import input_type
from tflmgen.kernels.table import OPERATORS, traits_of

MAX_ELEMENTS = 1 << 20
"""Largest number of elements that are traced one by one; of more, every channel gets the range of all channels."""


def moved_ranges(name: str, op: OperatorInstance, inputs: Inputs) -> Outputs:
    """Ranges of an operator that moves elements: where indices are known, each channel's are those of its sources."""
    traits = traits_of(name)
    data = range(len(op.inputs)) if traits.joins else [traits.roles.data]
    intervals = [interval for i in data if (interval := inputs[i]) is not None]
    if len(intervals) < len(data):
        return None
    sources = _sources(name, op, data)
    if sources is None:
        everything = join_all([interval.spread(1) for interval in intervals])
        return [everything.spread(channels_of(kind)) if is_tracked(kind) else None for kind in op.outputs]
    joined = Interval(np.concatenate([i.low for i in intervals]), np.concatenate([i.high for i in intervals]))
    return [joined.picked(source) if source.size else None for source in sources]


def _sources(name: str, op: OperatorInstance, data: Sequence[int]) -> list[Integers] | None:
    """Source channels in the data inputs of each output's elements, in rows as long as the output's last dimension.

    The channels of one input are numbered after those of the one before.
    """
    if sum(input_type(op, i).elements for i in data) > MAX_ELEMENTS or any(
        array is None for i, array in enumerate(op.constants) if op.inputs[i] is not None and i not in data
    ):
        return None
    types, constants = list(op.inputs), list(op.constants)
    first = 0
    for i in data:
        kind = input_type(op, i)
        channels = channels_of(kind)
        numbers = first + np.arange(kind.elements, dtype=np.int32) % max(1, channels)
        types[i], constants[i] = _numbered(kind), numbers.reshape(kind.max_shape)
        first += channels
    instance = OperatorInstance(
        tuple(types), tuple(_numbered(kind) for kind in op.outputs), tuple(constants), op.attributes
    )
    sources = fold(name, instance)
    if sources is None:
        return None
    return [
        array.astype(np.int64).reshape(-1, max(1, channels_of(kind)))
        for array, kind in zip(sources, op.outputs, strict=True)
    ]


def _numbered(kind: TensorType) -> TensorType:
    return TensorType(DType.INT32, kind.shape)


def output_ranges(name: str, op: OperatorInstance, inputs: Inputs) -> tuple[Interval | None, ...]:
    """The intervals of every output; None for outputs that aren't tracked (floats).

    `inputs` are those of the inputs; None where one is absent or isn't tracked. Of operators that nothing is known of,
    or tensors of which rows may be missing, outputs can be all that their type and fused activation allow.
    """
    static = all(kind is None or kind.is_static for kind in (*op.inputs, *op.outputs))
    known = _transferred(name, op, inputs) if static else None
    if known is None:
        known = [None] * len(op.outputs)
    return tuple(
        allowed if interval is None or allowed is None else interval
        for interval, allowed in zip(known, (_allowed(name, op, i) for i in range(len(op.outputs))), strict=True)
    )


def _transferred(name: str, op: OperatorInstance, inputs: Inputs) -> Outputs:
    row = OPERATORS.get(name)
    if row is None:
        return None
    if row.value_range is not None:
        return row.value_range(op, inputs)
    if row.traits.moves:
        return moved_ranges(name, op, inputs)
    return by_table(row.fold)(op, inputs) if row.traits.unary and row.fold is not None else None


def table_of(name: str, op: OperatorInstance) -> Integers | None:
    """Table of a unary operator's results for each element of its input's type, from the least on.

    None for other operators, where the type has more than 8 bits, and where folding doesn't know it.
    """
    row = OPERATORS.get(name)
    if row is None or not row.traits.unary or row.fold is None:
        return None
    return elements_of(row.fold, op)


def _allowed(name: str, op: OperatorInstance, index: int) -> Interval | None:
    kind = op.outputs[index]
    interval = whole(kind)
    if interval is None or not traits_of(name).clamped or kind.quantization is None:
        return interval
    if kind.dtype not in (DType.INT8, DType.INT16) or kind.quantization.per_channel:
        return interval
    return interval.meet(*activation_range(op.attributes.activation, kind.dtype, kind.quantization))
