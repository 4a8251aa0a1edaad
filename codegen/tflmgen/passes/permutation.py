"""Permutations of dimensions in TRANSPOSE's convention: axis `p[j]` of the input becomes axis j of the output."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.ir import Dim
from tflmgen.ir.graph import Node, Op, Value
from tflmgen.kernels import traits_of
from tflmgen.kernels.operators import Dimensions, permutation_of
from tflmgen.passes.constant_pool import Pool
from tflmgen.passes.def_use import Dataflow

Permutation = tuple[int, ...]


def compose(first: Permutation, second: Permutation) -> Permutation:
    """The permutation equal to `first` followed by `second`."""
    return tuple(first[axis] for axis in second)


def inverse(permutation: Permutation) -> Permutation:
    """The permutation that undoes this one."""
    return tuple(permutation.index(axis) for axis in range(len(permutation)))


def is_identity(permutation: Permutation) -> bool:
    """Whether every axis stays in its place."""
    return permutation == tuple(range(len(permutation)))


def permuted(shape: Sequence[Dim], permutation: Permutation) -> tuple[Dim, ...]:
    """The shape of a tensor after the permutation."""
    return tuple(shape[axis] for axis in permutation)


def moves_nothing(shape: Sequence[Dim], permutation: Permutation) -> bool:
    """Whether only dimensions of size 1 are moved, so that no element is."""
    long = [axis for axis in permutation if shape[axis] != 1]
    return long == sorted(long)


def is_transpose(node: Node) -> bool:
    """Whether a node is a TRANSPOSE."""
    return isinstance(node, Op) and traits_of(node.operator).permutes


def transposition(flow: Dataflow, value: Value | None) -> tuple[Value, Permutation] | None:
    """Source and permutation of a transposed value; None if it is no TRANSPOSE, or changes the quantisation."""
    op = flow.producer(value, lambda traits: traits.permutes)
    return None if op is None else transposed(flow, op)


def transposed(flow: Dataflow, op: Op) -> tuple[Value, Permutation] | None:
    """Source and permutation of a TRANSPOSE; None if it is none, is dynamic, or changes the quantisation or has one per
    channel."""
    source, result = op.inputs[0], op.outputs[0]
    if (
        not is_transpose(op)
        or source is None
        or source.type.quantization != result.type.quantization
        or not source.type.is_static
    ):
        return None
    quantization = source.type.quantization
    return None if quantization and quantization.per_channel else (source, permutation_of(flow.instance(op)))


def transpose(op: Node, number: int, source: Value, permutation: Permutation, result: Value, pool: Pool) -> Op:
    """A TRANSPOSE of `source` to `result` that replaces `op`, or a view if that moves no element."""
    if moves_nothing(source.type.shape, permutation):
        return view(op, number, source, result)
    return Op(number, "TRANSPOSE", (source, pool.table(permutation)), (result,), None, op.origin)


def view(op: Node, number: int, source: Value, result: Value) -> Op:
    """A RESHAPE of `source` to `result` that replaces `op`."""
    attributes = Dimensions(result.type.max_shape)
    return Op(number, "RESHAPE", (source,), (result,), attributes, op.origin)
