"""ROW_STORE: one row of a list is replaced in place.

Not an operator of TFLite: the importer makes it of TensorLists.
"""

from __future__ import annotations

from tflmgen.ir import DType, Input, Kernel, OperatorInstance, Output, Overlap, Params, Target
from tflmgen.kernels.operator import Operator, Rule, no_attributes
from tflmgen.kernels.rules import input_type


def _row_fits(op: OperatorInstance) -> bool:
    rows, row = input_type(op, 0), input_type(op, 2)
    return bool(rows.max_shape) and rows.dtype is row.dtype and row.bytes * rows.max_shape[0] == rows.bytes


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    rows = input_type(op, 0)
    params = Params("tflmgen_row_store", (("rows", rows.max_shape[0]), ("row_bytes", input_type(op, 2).bytes)))
    return Kernel(
        "tflmgen_row_store",
        "row_store.h",
        (Input(0), Input(1), Input(2), Output(0)),
        params,
        overlaps=(Overlap(0, 0),),
    )


OPERATORS = (
    Operator(
        "ROW_STORE",
        no_attributes,
        (3, 3),
        1,
        (
            Rule("an int32 index of one element", lambda op: input_type(op, 1).dtype is DType.INT32),
            Rule("a row of the list's row shape", _row_fits),
        ),
        lambda op: (input_type(op, 0).shape,),
        _kernel,
    ),
)
