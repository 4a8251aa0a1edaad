"""WHERE and UNIQUE: tensors of as many rows as the elements of their input make.

Of a file's operators the importer makes NONZERO_ROWS and UNIQUE_ROWS (import_row_found.py), which have room for the
most rows, and their number beside them as an int32 scalar; more are an error at run time.
"""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Params, Scratch, Target
from tflmgen.kernels.folding.fold_elements import Array, of_constants, operands
from tflmgen.kernels.numeric.strides import MAX_RANK
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.dynamic_rows import BOUND
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import (
    COMMON,
    QUANTIZED,
    input_is,
    input_shape,
    input_type,
    output_is,
    same_quantization,
)
from tflmgen.kernels.traits import Roles, Traits

HEADER = "found_rows.h"
COUNT_BYTES = 4
"""Bytes of a number of rows."""

COMPARED = (DType.BOOL, DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT32, DType.UINT32, DType.INT64)
DISTINCT = (DType.FLOAT32, DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64)


def _nonzero_rows(op: OperatorInstance, target: Target) -> Kernel:
    """Kernel of WHERE; of constants, whose rows are known, the number of rows goes to scratch."""
    del target
    shape = input_shape(op)
    fields = (
        ("elements", input_type(op, 0).elements),
        ("most", op.outputs[0].max_shape[0]),
        ("rank", len(shape)),
        ("dimension", (*shape, *(0,) * (MAX_RANK - len(shape)))),
    )
    function = f"tflmgen_nonzero_rows_{SUFFIX[input_type(op, 0).dtype]}"
    count = Output(1) if len(op.outputs) > 1 else Scratch(COUNT_BYTES)
    params = Params("tflmgen_nonzero_rows", fields)
    return Kernel(function, HEADER, (Input(0), Output(0), count), params, error=BOUND)


def _unique_rows(op: OperatorInstance, target: Target) -> Kernel:
    del target
    function = f"tflmgen_unique_rows_{SUFFIX[input_type(op, 0).dtype]}_{SUFFIX[op.outputs[1].dtype]}"
    params = Params("tflmgen_unique_rows", (("most", op.outputs[0].max_shape[0]),))
    elements = ConstantArray.of("elements", np.array([input_type(op, 0).elements]), DType.INT32)
    in_use, count = (Input(1), Output(2)) if len(op.inputs) > 1 else (elements, Scratch(COUNT_BYTES))
    return Kernel(function, HEADER, (Input(0), in_use, Output(0), Output(1), count), params, error=BOUND)


@of_constants
def _places(op: OperatorInstance) -> list[Array]:
    return [np.argwhere(operands(op)[0])]


def _where_shape(op: OperatorInstance) -> tuple[Shape | None]:
    folded = _places(op)
    return (folded[0].shape if folded is not None else None,)


@of_constants
def _distinct(op: OperatorInstance) -> list[Array]:
    _, firsts, inverse = np.unique(operands(op)[0], return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    ranks = np.argsort(order)
    return [operands(op)[0][np.sort(firsts)], ranks[inverse].astype(op.outputs[1].dtype.numpy)]


def _unique_shapes(op: OperatorInstance) -> tuple[Shape | None, Shape]:
    folded = _distinct(op)
    return folded[0].shape if folded is not None else None, input_shape(op)


WHERE_RULES = (
    *COMMON,
    input_is(0, "condition", *COMPARED),
    output_is(DType.INT64),
    Rule("an output of two dimensions: places, and indices of each", lambda op: len(op.outputs[0].shape) == 2),
    Rule(f"a condition of 1 to {MAX_RANK} dimensions", lambda op: 1 <= len(input_shape(op)) <= MAX_RANK),
)

UNIQUE_RULES = (
    *COMMON,
    input_is(0, "input", *DISTINCT),
    Rule("a first output of the input's type", lambda op: op.outputs[0].dtype is input_type(op, 0).dtype),
    Rule("a second output of int32 or int64", lambda op: op.outputs[1].dtype in (DType.INT32, DType.INT64)),
    Rule("an input of one dimension", lambda op: len(input_shape(op)) == 1),
    Rule(
        "an output with the input's scale and zero point",
        lambda op: op.outputs[0].dtype not in QUANTIZED or same_quantization(op.outputs[0], input_type(op, 0)),
    ),
)

OPERATORS = (
    OperatorSpec(
        "WHERE",
        no_attributes,
        (1, 1),
        1,
        WHERE_RULES,
        _where_shape,
        _nonzero_rows,
        fold=_places,
        traits=Traits(roles=Roles(shapes=(0,)), ignores_scales=True),
    ),
    OperatorSpec(
        "UNIQUE",
        no_attributes,
        (1, 1),
        2,
        UNIQUE_RULES,
        _unique_shapes,
        _unique_rows,
        fold=_distinct,
        traits=Traits(roles=Roles(shapes=(0,))),
    ),
    OperatorSpec(
        "NONZERO_ROWS",
        no_attributes,
        (1, 1),
        2,
        (),
        lambda op: (op.outputs[0].shape, ()),
        _nonzero_rows,
        traits=Traits(may_fail=True),
    ),
    OperatorSpec(
        "UNIQUE_ROWS",
        no_attributes,
        (2, 2),
        3,
        (),
        lambda op: (op.outputs[0].shape, input_shape(op), ()),
        _unique_rows,
        traits=Traits(may_fail=True),
    ),
)
