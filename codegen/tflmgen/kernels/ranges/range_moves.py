"""Intervals through operators that move elements, as their traits say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tflmgen.ir import DType, OperatorInstance, TensorType
from tflmgen.kernels.folding.evaluate import fold
from tflmgen.kernels.ranges.intervals import Inputs, Integers, Interval, Outputs, channels_of, is_tracked, join_all
from tflmgen.kernels.rules import input_type
from tflmgen.kernels.table import traits_of

MAX_ELEMENTS = 1 << 20
"""Largest number of elements that are traced one by one; of more, every channel gets the range of all channels."""


def moved_ranges(name: str, op: OperatorInstance, inputs: Inputs) -> Outputs:
    """Ranges of an operator that moves elements: where indices are known, each channel's are those of its sources."""
    traits = traits_of(name)
    data = range(len(op.inputs)) if traits.joins else [traits.data]
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
