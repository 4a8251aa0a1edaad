"""ROW_STORE: one row of a list is replaced in place.

Not an operator of TFLite: the importer makes it of TensorLists, and a pass of masks over a whole tensor. Rows may be
those along any axis: then one is stored into each of the groups in front of it.
"""

from __future__ import annotations

import math

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import input_type


def _axis(op: OperatorInstance) -> int | None:
    """The axis along which rows are counted: the one that a row of the same rank has once, else the first one, or the
    first of several elements, if the row has as many elements as are left.
    """
    shape, row = input_type(op, 0).max_shape, input_type(op, 2)
    if len(shape) == len(row.max_shape):
        axes = [axis for axis, (size, own) in enumerate(zip(shape, row.max_shape, strict=True)) if size != own]
        if len(axes) == 1 and row.max_shape[axes[0]] == 1:
            return axes[0]
    first = next((axis for axis, size in enumerate(shape) if size != 1), 0)
    elements = input_type(op, 0).elements
    return next((axis for axis in (0, first) if shape and row.elements * shape[axis] == elements), None)


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    rows, axis = input_type(op, 0), _axis(op)
    assert axis is not None
    groups, count = math.prod(rows.max_shape[:axis]), rows.max_shape[axis]
    fields = (("groups", groups), ("rows", count), ("row_bytes", rows.bytes // (groups * count)))
    return Kernel(
        "tflmgen_row_store",
        "row_store.h",
        (Input(0), Input(1), Input(2), Output(0)),
        Params("tflmgen_row_store", fields),
        overlaps=(Overlap(0, 0),),
    )


def _fits(op: OperatorInstance) -> bool:
    return input_type(op, 0).dtype is input_type(op, 2).dtype and _axis(op) is not None


OPERATORS = (
    OperatorSpec(
        "ROW_STORE",
        no_attributes,
        (3, 3),
        1,
        (
            Rule("an int32 index of one element", lambda op: input_type(op, 1).dtype is DType.INT32),
            Rule("a row of the list's row shape", _fits),
        ),
        lambda op: (input_type(op, 0).shape,),
        _kernel,
    ),
)
