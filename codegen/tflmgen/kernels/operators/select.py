"""SELECT and SELECT_V2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.folding.fold_elements import Array, of_constants, operands, result
from tflmgen.kernels.numeric.strides import MAX_RANK, Ints, Nest, broadcast_shape, broadcast_strides, collapse
from tflmgen.kernels.operators.copying import MOVABLE
from tflmgen.kernels.ranges.intervals import Inputs, Outputs, channels_of
from tflmgen.kernels.ranges.range_elements import broadcast
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    input_is,
    input_shape,
    input_type,
    labels,
    same_quantization,
)
from tflmgen.kernels.traits import ELEMENTWISE

Shapes = Callable[[OperatorInstance], list[Ints]]


def _broadcasting(op: OperatorInstance) -> list[Ints]:
    return [input_shape(op, i) for i in range(3)]


def _by_rows(op: OperatorInstance) -> list[Ints]:
    """SELECT's condition may be a vector that chooses whole rows of the other inputs."""
    condition, first, second = _broadcasting(op)
    if len(condition) == 1 and first and condition[0] == first[0]:
        condition = condition + (1,) * (len(first) - 1)
    return [condition, first, second]


def _nest(op: OperatorInstance, shapes: Shapes) -> Nest:
    result = broadcast_shape(*shapes(op)) or ()
    return collapse(result, *(broadcast_strides(shape, result) for shape in shapes(op)))


def _kernel(shapes: Shapes, op: OperatorInstance, target: Target) -> Kernel:
    del target
    nest, output = _nest(op, shapes), op.outputs[0]
    fields = (
        ("rank", nest.rank),
        ("extent", nest.padded(nest.extents)),
        ("condition_stride", nest.padded(nest.strides[0])),
        ("stride1", nest.padded(nest.strides[1])),
        ("stride2", nest.padded(nest.strides[2])),
    )
    return Kernel(
        f"tflmgen_select_{output.dtype.bits}",
        "select.h",
        (Input(0), Input(1), Input(2), Output(0)),
        Params("tflmgen_select", fields),
        tuple(Overlap(i, 0) for i in (1, 2) if input_type(op, i).elements == output.elements),
    )


def _operator(name: str, shapes: Shapes, *rules: Rule) -> OperatorSpec:
    return OperatorSpec(
        name,
        no_attributes,
        (3, 3),
        1,
        (
            *COMMON,
            input_is(0, "condition", DType.BOOL),
            Rule(
                f"choices and an output of one type: {labels(MOVABLE)}",
                lambda op: (
                    op.outputs[0].dtype in MOVABLE
                    and all(input_type(op, i).dtype is op.outputs[0].dtype for i in (1, 2))
                ),
            ),
            Rule(
                "one scale and zero point for quantised choices and the output",
                lambda op: (
                    op.outputs[0].dtype not in QUANTIZED
                    or all(same_quantization(input_type(op, i), op.outputs[0]) for i in (1, 2))
                ),
            ),
            *rules,
            Rule("inputs whose shapes broadcast together", lambda op: broadcast_shape(*shapes(op)) is not None),
            Rule(f"shapes that broadcast in at most {MAX_RANK} loops", lambda op: _nest(op, shapes).rank <= MAX_RANK),
        ),
        lambda op: (broadcast_shape(*shapes(op)),),
        partial(_kernel, shapes),
        fold=_fold_rows if shapes is _by_rows else _fold,
        value_range=_value_range,
        traits=replace(ELEMENTWISE, selects=True, aligns_leading=shapes is _by_rows),
    )


def _value_range(op: OperatorInstance, inputs: Inputs) -> Outputs:
    """A condition that is known as a whole decides; else either operand may be taken."""
    condition, *choices = inputs
    channels = channels_of(op.outputs[0])
    if any(choice is None or len(choice.low) not in (1, channels) for choice in choices):
        return None
    left, other = (broadcast(choice, channels) for choice in choices if choice is not None)
    if condition is not None and condition.hull in ((0, 0), (1, 1)):
        return [left if condition.hull[0] else other]
    return [left.join(other)]


@of_constants
def _fold(op: OperatorInstance) -> list[Array]:
    condition, first, second = operands(op)
    return result(op, np.where(condition, first, second))


@of_constants
def _fold_rows(op: OperatorInstance) -> list[Array]:
    condition, first, second = operands(op)
    if condition.ndim == 1 and first.ndim and condition.size == first.shape[0]:
        condition = condition.reshape(-1, *(1,) * (first.ndim - 1))
    return result(op, np.where(condition, first, second))


OPERATORS = (
    _operator(
        "SELECT",
        _by_rows,
        Rule(
            "choices of equal shapes",
            lambda op: input_shape(op, 1) == input_shape(op, 2),
        ),
    ),
    _operator("SELECT_V2", _broadcasting),
)
