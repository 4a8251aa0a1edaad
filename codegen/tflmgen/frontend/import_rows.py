"""Imports operators on tensors with dynamic dimensions.

A dynamic tensor is a value of its largest shape with one int32 extent per dynamic dimension (Context.extents).
Row-wise operators (import_row_wise.py) compute all rows and pass the extent on. The operators of
import_row_readers.py read it. All others are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.frontend.import_build import Builder
from tflmgen.frontend.import_context import Context
from tflmgen.frontend.import_row_call import DynamicCall
from tflmgen.frontend.import_row_readers import reader_of
from tflmgen.frontend.import_row_wise import row_wise
from tflmgen.ir.graph import Node, Value


@dataclass(frozen=True, slots=True)
class Imported:
    """Nodes that replace an operator of the file, its outputs, and the new contents of tensors that it updates."""

    nodes: Sequence[Node]
    outputs: tuple[Value, ...]


def import_rows(context: Context, call: DynamicCall) -> Imported:
    """Nodes of an operator with dynamic inputs or a run-time output shape. Raises RowError if it is not supported."""
    builder = Builder(context, call.origin)
    reader = reader_of(call.op.name, context.operators)
    outputs = reader(context, builder, call) if reader is not None else None
    if outputs is None:
        outputs = row_wise(context, builder, call)
    return Imported(builder.nodes, outputs)
