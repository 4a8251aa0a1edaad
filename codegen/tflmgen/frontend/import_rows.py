"""Operators on tensors with dimensions that are known at run time only.

Such a tensor is a value of the largest shape, and an int32 beside it for each of these dimensions, its extents
(Context.extents). Operators that keep the rows along a dimension apart (row_wise.py) run over all rows and hand the
extent on; those of import_row_readers.py read it; the rest is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import RowCall
from tflmgen.frontend.import_row_readers import READERS
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir import Node, Value


@dataclass(frozen=True, slots=True)
class Imported:
    """The nodes that stand for an operator, and its outputs."""

    nodes: Sequence[Node]
    outputs: tuple[Value, ...]


def import_rows(context: Context, call: RowCall) -> Imported:
    """The nodes of an operator that has dynamic inputs or a size from the run time. Raises RowError."""
    builder = Builder(context, call.origin)
    reader = READERS.get(call.op.name)
    outputs = reader(context, builder, call) if reader is not None else None
    if outputs is None:
        outputs = row_wise(context, builder, call)
    return Imported(builder.nodes, outputs)
