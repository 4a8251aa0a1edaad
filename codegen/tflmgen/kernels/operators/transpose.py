"""TRANSPOSE: any type, dimensions permuted by a constant."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir import DType
from tflmgen.ir.kernel import Kernel, OperatorInstance, Pieces, Target, View
from tflmgen.kernels.numeric.strides import Nest, strides_of
from tflmgen.kernels.operators.copying import SAME_MOVABLE_TYPE, constants_of, copy_kernel, copy_nest, fits
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import COMMON, constant, input_is, input_shape, input_type
from tflmgen.kernels.traits import BY_AXIS


def permutation_of(op: OperatorInstance) -> tuple[int, ...]:
    """The input's axis that each axis of the output is."""
    rank = len(input_type(op, 0).shape)
    return tuple(axis + rank if axis < 0 else axis for axis in constants_of(op, 1))


def _nest(op: OperatorInstance) -> Nest:
    shape = input_shape(op)
    strides = strides_of(shape)
    return copy_nest(tuple(shape[a] for a in permutation_of(op)), tuple(strides[a] for a in permutation_of(op)))


def _kernel(op: OperatorInstance, target: Target) -> Kernel | View | Pieces:
    del target
    return copy_kernel(op, _nest(op))


def _infer(op: OperatorInstance) -> tuple[Shape | None, ...]:
    shape = input_type(op, 0).shape
    return (tuple(shape[a] for a in permutation_of(op)),)


RULES = (
    *COMMON,
    SAME_MOVABLE_TYPE,
    input_is(1, "permutation", DType.INT32, DType.INT64),
    constant(1, "permutation"),
    Rule(
        "a permutation that names every dimension once",
        lambda op: sorted(permutation_of(op)) == list(range(len(input_type(op, 0).shape))),
    ),
    fits(_nest),
)

OPERATORS = (
    OperatorSpec(
        "TRANSPOSE",
        no_attributes,
        (2, 2),
        1,
        RULES,
        _infer,
        _kernel,
        traits=replace(BY_AXIS, permutes=True, moves=True),
    ),
)
