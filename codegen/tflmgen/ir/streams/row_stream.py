"""A stream by rows: what computes a chain of operators a few rows at a time, with line buffers in its scratch.

It stands in a Selection where others have a Kernel, and is called like one; what is called is not a function of
firmware/kernels but generated from its calls.
"""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.ir.graph.module import Op
from tflmgen.ir.kernel.call import Kernel, Operand, Overlap, Pieces, View

STREAM_VARIANT = "stream"
"""The variant of its call in plan.json, where kernels have the instruction set that they are written for."""


@dataclass(frozen=True, slots=True)
class LineBuffer:
    """An offset into a stream's scratch, where its line buffers are."""

    offset: int


@dataclass(frozen=True, slots=True)
class MovingPointer:
    """A pointer that moves on by `advance` bytes after the call: 0 into the stream's output, the others into its input,
    one for each operator that reads it.
    """

    pointer: int
    advance: int


@dataclass(frozen=True, slots=True)
class LineMove:
    """`bytes` of a stream's scratch move from one offset to another; the two may overlap."""

    destination: int
    source: int
    bytes: int


@dataclass(frozen=True, slots=True)
class RowCall:
    """One call in a stream: operator `stage` makes one row, after `moves`.

    The kernel's Input(data[i]) is at reads[i], its output at `write`; scratch[p] is where its operand p lies. Its other
    inputs are the constants of the operator.
    """

    stage: int
    kernel: Kernel
    moves: tuple[LineMove, ...]
    reads: tuple[LineBuffer | MovingPointer, ...]
    write: LineBuffer | MovingPointer
    scratch: tuple[LineBuffer | None, ...]


@dataclass(frozen=True, slots=True)
class RowStage:
    """One operator of a stream by rows.

    data: its inputs that come by rows, from the tensors `sources`: -1 is the stream's input, others are the outputs of
    stages. needs[t]: the rows [first, end) of them that tick t reads. row_bytes: of the output. rows: how many each
    tick makes.
    """

    op: Op
    data: tuple[int, ...]
    sources: tuple[int, ...]
    needs: tuple[tuple[int, int], ...]
    rows: tuple[int, ...]
    row_bytes: int


@dataclass(frozen=True, slots=True)
class RowStream:
    """One call that computes a chain of operators by rows: calls[i] for each i of `order`.

    operands, overlaps, macs and error are those of the call, as a Kernel has them. input_row_bytes: of the stream's
    input.
    """

    operands: tuple[Operand, ...]
    overlaps: tuple[Overlap, ...]
    macs: int
    error: str
    stages: tuple[RowStage, ...]
    calls: tuple[RowCall, ...]
    order: tuple[int, ...]
    input_row_bytes: int


Called = Kernel | RowStream
"""Callee that computes an operator: it has operands and overlaps, and takes time."""

Computation = Called | View | Pieces
"""Callee, view or pieces that compute an operator."""
