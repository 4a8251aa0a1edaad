"""Rules for the rows that operators along one axis keep apart (Traits.row_wise).

Rows are what lies along a dimension that is known at run time only. Operators that keep them apart may run over all
rows that there is memory for: what they make of rows not in use is of no account, and reaches no other row. Where the
rows of a call come out is seen from the shapes that it infers (import_row_wise.py).
"""

from __future__ import annotations

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.strides import normalize_axis
from tflmgen.kernels.specification.rules import input_type


def not_last_axis(op: OperatorInstance, axis: int) -> bool:
    """The last axis, along which the operator works, is another one."""
    return len(input_type(op, 0).shape) > axis + 1


def not_named_axis(op: OperatorInstance, axis: int) -> bool:
    """None of the axes in input 1 is this one."""
    rank = len(input_type(op, 0).shape)
    axes = op.constants[1]
    return axes is not None and all(normalize_axis(int(named), rank) != axis for named in axes.reshape(-1))
