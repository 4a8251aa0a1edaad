"""MATRIX_DIAG and MATRIX_SET_DIAG: matrices made of their main diagonals, and matrices with others."""

from __future__ import annotations

import math

from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.operators.copying import SAME_MOVABLE_TYPE
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    has_inferred_shape,
    input_shape,
    input_type,
    same_quantization,
)
from tflmgen.kernels.traits import Traits

HEADER = "diagonal.h"


def _params(op: OperatorInstance) -> Params:
    *batches, rows, columns = op.outputs[0].max_shape
    fields = (("matrices", math.prod(batches)), ("rows", rows), ("columns", columns))
    return Params("tflmgen_diagonal", fields)


def _matrix_diag(op: OperatorInstance, target: Target) -> Kernel:
    del target
    function = f"tflmgen_matrix_diag_{op.outputs[0].dtype.bits}"
    return Kernel(function, HEADER, (Input(0), Output(0)), _params(op))


def _matrix_set_diag(op: OperatorInstance, target: Target) -> Kernel:
    del target
    function = f"tflmgen_matrix_set_diag_{op.outputs[0].dtype.bits}"
    return Kernel(function, HEADER, (Input(0), Input(1), Output(0)), _params(op), (Overlap(0, 0, exact=True),))


def _squares(op: OperatorInstance) -> tuple[Shape]:
    """[..., n] to [..., n, n]."""
    shape = input_shape(op)
    return ((*shape, shape[-1]),)


def _diagonal_fits(op: OperatorInstance) -> bool:
    *batches, rows, columns = input_shape(op)
    return input_shape(op, 1) == (*batches, min(rows, columns))


SAME_SCALES = Rule(
    "operands with the output's scale and zero point",
    lambda op: (
        op.outputs[0].dtype not in QUANTIZED
        or all(same_quantization(t, op.outputs[0]) for t in op.inputs if t is not None)
    ),
)

OPERATORS = (
    OperatorSpec(
        "MATRIX_DIAG",
        no_attributes,
        (1, 1),
        1,
        (
            *COMMON,
            SAME_MOVABLE_TYPE,
            SAME_SCALES,
            Rule("an input of at least one dimension", lambda op: len(input_shape(op)) > 0),
            has_inferred_shape(_squares),
        ),
        _squares,
        _matrix_diag,
        traits=Traits(fills_with_0=True),
    ),
    OperatorSpec(
        "MATRIX_SET_DIAG",
        no_attributes,
        (2, 2),
        1,
        (
            *COMMON,
            SAME_MOVABLE_TYPE,
            Rule("a diagonal of the input's type", lambda op: input_type(op, 1).dtype is input_type(op, 0).dtype),
            SAME_SCALES,
            Rule("an input of at least two dimensions", lambda op: len(input_shape(op)) > 1),
            Rule("a diagonal for each matrix, as long as its shorter side", _diagonal_fits),
        ),
        lambda op: (input_shape(op),),
        _matrix_set_diag,
        traits=Traits(),
    ),
)
