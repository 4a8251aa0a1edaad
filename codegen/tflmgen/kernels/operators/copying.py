"""Kernels that move elements along a nest of loops (firmware/kernels/copy.h), and views where nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Part, Pieces, View
from tflmgen.kernels.numeric.strides import MAX_RANK, Ints, Nest, collapse, strides_of
from tflmgen.kernels.specification.operator import Rule
from tflmgen.kernels.specification.rules import input_type, labels

HEADER = "copy.h"
SHORTEST_ROW = 8
"""Rows of this many bytes are worth a memmove each; shorter ones are copied element by element."""

ALIGNMENT = 4
"""Tensors may begin at any multiple of this many bytes in one another."""

MOVABLE = tuple(dtype for dtype in DType if dtype is not DType.INT4)
"""Types whose elements have an address of their own."""

SAME_MOVABLE_TYPE = Rule(
    f"an input and an output of one type: {labels(MOVABLE)}",
    lambda op: input_type(op, 0).dtype in MOVABLE and all(t.dtype is input_type(op, 0).dtype for t in op.outputs),
)


def are_pieces(sizes: Sequence[int]) -> bool:
    """Whether contiguous parts of these sizes, in bytes, begin where any kernel may begin to read or write."""
    return all(size > 0 for size in sizes[1:]) and not any(size % ALIGNMENT for size in sizes[:-1])


def fits(nest: Callable[[OperatorInstance], Nest]) -> Rule:
    """The operator's nest has no more loops than kernels can run."""
    return Rule(f"a movement of elements in at most {MAX_RANK} loops", lambda op: nest(op).rank <= MAX_RANK)


def copy_nest(extents: Ints, input_strides: Ints, output_strides: Ints | None = None) -> Nest:
    """The nest of a copy; the output is contiguous unless its strides are given."""
    return collapse(extents, input_strides, strides_of(extents) if output_strides is None else output_strides)


def copy_kernel(op: OperatorInstance, nest: Nest, input_offset: int = 0) -> Kernel | View | Pieces:
    """The call that fills output 0 with elements of input 0, or a view where that changes nothing.

    The nest's strides are those of input and output, in elements. The output may lie on the input where each element
    comes from no earlier a place than it goes to, and the places follow one another.
    """
    source, result = input_type(op, 0), op.outputs[0]
    if source.elements == result.elements and input_offset == 0 and nest.strides[0] == nest.strides[1]:
        return View(0)
    size = source.dtype.bits // 8
    begin = input_offset * size
    if nest.rank == 1 and nest.strides[0] == nest.strides[1] and are_pieces([begin, result.bytes]):
        return Pieces((Part(0, 0, 0, begin, result.bytes),))
    forward = all(s > 0 for s in nest.strides[0]) and _is_increasing(nest)
    overlaps = (Overlap(0, 0),) if forward and result.elements else ()
    fields = (
        ("rank", nest.rank),
        ("extent", nest.padded(nest.extents)),
        ("input_stride", nest.padded(nest.strides[0])),
        ("output_stride", nest.padded(nest.strides[1])),
        ("input_offset", input_offset),
        ("output_offset", 0),
    )
    function = f"tflmgen_copy_{source.dtype.bits}"
    if nest.strides[0][-1] == nest.strides[1][-1] == 1 and nest.extents[-1] * size >= SHORTEST_ROW:
        function = "tflmgen_copy_rows"
        scaled = Nest((*nest.extents[:-1], nest.extents[-1] * size), _in_bytes(nest, size))
        fields = (
            ("rank", nest.rank),
            ("extent", nest.padded(scaled.extents)),
            ("input_stride", nest.padded(scaled.strides[0])),
            ("output_stride", nest.padded(scaled.strides[1])),
            ("input_offset", input_offset * size),
            ("output_offset", 0),
        )
    return Kernel(function, HEADER, (Input(0), Output(0)), Params("tflmgen_copy", fields), overlaps)


def _in_bytes(nest: Nest, size: int) -> tuple[Ints, ...]:
    return tuple((*(s * size for s in strides[:-1]), 1) for strides in nest.strides)


def _is_increasing(nest: Nest) -> bool:
    """Whether the walk reads from ever higher places, given positive strides."""
    reach = 0
    for extent, stride in zip(reversed(nest.extents), reversed(nest.strides[0]), strict=True):
        if stride <= reach:
            return False
        reach += (extent - 1) * stride
    return True


def constants_of(op: OperatorInstance, index: int) -> Ints:
    """The elements of constant input `index` as Python numbers."""
    return tuple(int(v) for v in np.ravel(np.asarray(op.constants[index])))
