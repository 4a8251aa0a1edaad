"""Build-time index arithmetic: strides of row-major tensors, broadcasting, and collapsing of loop nests.

A nest is a tuple of extents (outermost loop first) with a tuple of strides, in elements, for each tensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.kernels.numeric.header_constants import header_constant

MAX_RANK = header_constant("nest.h", "TFLMGEN_MAX_RANK")
"""Largest number of loops of a nest."""

Ints = tuple[int, ...]


def strides_of(shape: Ints) -> Ints:
    """Row-major strides of a contiguous tensor, in elements."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def broadcast_shape(*shapes: Ints) -> Ints | None:
    """The shape that `shapes` broadcast to by NumPy's rule; None if they are incompatible."""
    rank = max(len(shape) for shape in shapes)
    result = []
    for axis in range(-rank, 0):
        extents = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(extents) > 1:
            return None
        result.append(extents.pop() if extents else 1)
    return tuple(result)


def broadcast_strides(shape: Ints, result: Ints) -> Ints:
    """Strides that walk a tensor of `shape` as if it had the shape `result`: 0 along repeated dimensions."""
    own = strides_of(shape)
    lead = len(result) - len(shape)
    return (0,) * lead + tuple(0 if extent == 1 else stride for extent, stride in zip(shape, own, strict=True))


@dataclass(frozen=True, slots=True)
class Nest:
    """Loop extents, and one tuple of strides per tensor."""

    extents: Ints
    strides: tuple[Ints, ...]

    @property
    def rank(self) -> int:
        """Number of nested loops."""
        return len(self.extents)

    def padded(self, values: Ints) -> Ints:
        """`values` (one per loop) as the fixed-size array of a params struct, filled up to MAX_RANK."""
        return values + (0,) * (MAX_RANK - len(values))


def collapse(extents: Ints, *strides: Ints) -> Nest:
    """The shortest equivalent nest: drops loops of one iteration, and merges loops that are contiguous in every tensor.

    An empty nest (no elements) becomes one loop of 0 iterations; a nest without loops, one of 1 iteration.
    """
    if 0 in extents:
        return Nest((0,), tuple((0,) for _ in strides))
    loops: list[tuple[int, list[int]]] = []
    for axis, extent in enumerate(extents):
        steps = [s[axis] for s in strides]
        if extent == 1:
            continue
        if loops and all(outer == extent * inner for outer, inner in zip(loops[-1][1], steps, strict=True)):
            loops[-1] = (loops[-1][0] * extent, steps)
        else:
            loops.append((extent, steps))
    if not loops:
        return Nest((1,), tuple((0,) for _ in strides))
    return Nest(
        tuple(extent for extent, _ in loops),
        tuple(tuple(steps[i] for _, steps in loops) for i in range(len(strides))),
    )


def normalize_axis(axis: int, rank: int) -> int | None:
    """`axis` counted from the front, or None where it is out of range."""
    axis = axis + rank if axis < 0 else axis
    return axis if 0 <= axis < rank else None


def is_per_channel(shape: Sequence[int], whole: Sequence[int], channels: int) -> bool:
    """Whether a constant of one shape meets, broadcast to `whole`, element i of it with its own i % channels.

    So it does for every element of a layer's output, of which `whole` is a view, if that has such a last dimension.
    """
    if math.prod(shape) != channels or math.prod(whole) % channels or len(shape) > len(whole):
        return False
    met = np.broadcast_to(np.arange(channels).reshape(shape), whole).reshape(-1, channels)
    return bool((met == np.arange(channels)).all())
