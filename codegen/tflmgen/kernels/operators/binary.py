"""Operators that combine two tensors element by element: broadcasting, in-place use, the kernel's params.

Their kernels are made by TFLMGEN_DEFINE_BINARY in firmware/kernels/nest.h.
"""

from __future__ import annotations

from collections.abc import Callable

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, ParamValue
from tflmgen.kernels.numeric.strides import MAX_RANK, Nest, broadcast_shape, broadcast_strides, collapse
from tflmgen.kernels.specification.operator import Rule, Shape
from tflmgen.kernels.specification.rules import COMMON, input_shape, input_type

SUFFIX = {
    DType.FLOAT32: "f32",
    DType.INT8: "s8",
    DType.UINT8: "u8",
    DType.INT16: "s16",
    DType.UINT16: "u16",
    DType.INT32: "s32",
    DType.UINT32: "u32",
    DType.INT64: "s64",
    DType.BOOL: "b8",
}
"""Element type -> suffix of kernels' names."""

Fields = tuple[tuple[str, ParamValue], ...]


def binary_shape(op: OperatorInstance) -> tuple[int, ...] | None:
    """The shape that both inputs broadcast to, or None."""
    return broadcast_shape(input_shape(op), input_shape(op, 1))


def binary_nest(op: OperatorInstance) -> Nest:
    """The loops over the output with the strides of both inputs; the rule of BROADCASTS holds."""
    shape = binary_shape(op) or ()
    strides = [broadcast_strides(input_shape(op, i), shape) for i in range(2)]
    return collapse(shape, *strides)


def infer_binary(op: OperatorInstance) -> tuple[Shape | None, ...]:
    """The broadcast shape of both inputs, None where they do not broadcast."""
    return (binary_shape(op),)


BROADCASTS = (
    *COMMON,
    Rule(
        "inputs of equal shapes, or with a 1 in each pair of unequal dimensions",
        lambda op: binary_shape(op) is not None,
    ),
    Rule(f"shapes that broadcast in at most {MAX_RANK} loops", lambda op: binary_nest(op).rank <= MAX_RANK),
)
"""The first rules of every operator with two inputs that broadcast."""


def binary_overlaps(op: OperatorInstance) -> tuple[Overlap, ...]:
    """The inputs that the output may lie on: those as long as the output, with elements no smaller."""
    output = op.outputs[0]
    return tuple(
        Overlap(i, 0)
        for i, t in enumerate(input_type(op, i) for i in range(2))
        if t.elements == output.elements and t.dtype.bits >= output.dtype.bits
    )


def binary_kernel(
    op: OperatorInstance,
    function: str,
    header: str,
    struct: str = "tflmgen_binary",
    fields: Fields = (),
    swapped: bool = False,
) -> Kernel:
    """The call of a kernel made by TFLMGEN_DEFINE_BINARY whose params end in `fields`.

    swapped: whether the kernel's first operand is the operator's second input.
    """
    operands = (Input(1), Input(0), Output(0)) if swapped else (Input(0), Input(1), Output(0))
    params = Params(struct, nest_fields(op, swapped) + fields)
    return Kernel(function, header, operands, params, overlaps=binary_overlaps(op))


def nest_fields(op: OperatorInstance, swapped: bool = False) -> Fields:
    """The fields that TFLMGEN_BINARY_NEST declares: extents of the loop nest, and both inputs' strides in elements."""
    nest = binary_nest(op)
    first, second = nest.strides[::-1] if swapped else nest.strides
    return (
        ("rank", nest.rank),
        ("extent", nest.padded(nest.extents)),
        ("stride1", nest.padded(first)),
        ("stride2", nest.padded(second)),
    )


def plain_kernel(name: str, header: str) -> Callable[[OperatorInstance, object], Kernel]:
    """Makes the kernel `tflmgen_<name>_<input type>` of a binary operator whose params are only the loops."""
    return lambda op, _: binary_kernel(op, f"tflmgen_{name}_{SUFFIX[input_type(op, 0).dtype]}", header)
