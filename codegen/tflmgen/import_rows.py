"""Operators on tensors whose first dimension is known at run time only.

Such a tensor is a value with memory for the most rows and an int32 beside it, its extent (Context.extents). Operators
that keep rows apart (ops/row_wise.py) run over all rows and hand the extent on; those of import_row_readers.py read it;
the rest is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflmgen.bounds import OUTERMOST_ONLY
from tflmgen.graph import Node, Op, Value
from tflmgen.import_build import Builder, rows_of
from tflmgen.import_context import Context
from tflmgen.import_row_call import Inputs, RowCall, RowError, check_rows, checked, define
from tflmgen.import_row_readers import READERS
from tflmgen.ops.row_wise import may_be_row_wise
from tflmgen.support import CheckedOperator, instance_of

MULTIPLE = frozenset({"FULLY_CONNECTED", "RESHAPE"})
"""Operators that may make several rows in place of each row, in order."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The nodes that stand for an operator, and its outputs."""

    nodes: Sequence[Node]
    outputs: tuple[Value, ...]


def import_rows(context: Context, call: RowCall) -> Imported:
    """The nodes of an operator that has dynamic inputs. Raises RowError."""
    builder = Builder(context, call.origin)
    reader = READERS.get(call.op.name)
    outputs = reader(context, builder, call) if reader is not None else None
    if outputs is None:
        outputs = _row_wise(context, builder, call)
    return Imported(builder.nodes, outputs)


def _row_wise(context: Context, builder: Builder, call: RowCall) -> tuple[Value, ...]:
    dynamic = [v for v in call.inputs if v is not None and v in context.extents]
    least = min(map(rows_of, dynamic))
    inputs = tuple(builder.fit(v, least) if v is not None and v in context.extents else v for v in call.inputs)
    found = checked(context, call, inputs)
    factor = _rows_per_row(context, call, inputs, least, found)
    if factor is None:
        raise RowError(_refusal(call, dynamic[0]))
    extent = builder.extent(dynamic[0])
    for other in dynamic[1:]:
        extent = builder.same(extent, builder.extent(other))
    extent = builder.times(extent, factor)
    outputs = define(context, call, found.outputs)
    builder.nodes.append(Op(context.new_id(), call.op.name, inputs, outputs, found.attributes, call.origin))
    context.extents.update(dict.fromkeys(outputs, extent))
    return outputs


def _rows_per_row(context: Context, call: RowCall, inputs: Inputs, rows: int, found: CheckedOperator) -> int | None:
    """How many rows of every output are made of one row of the inputs; None where it isn't so."""
    instance = instance_of(inputs, found.outputs, found.attributes, context.constants)
    if rows == 0 or not may_be_row_wise(call.op.name, instance):
        return None
    more = check_rows(context, call, inputs, rows + 1)
    if more.problems or more.open:
        return None
    factors = set()
    for here, there in zip(found.outputs, more.outputs, strict=True):
        before, after = here.max_shape, there.max_shape
        if not before or before[1:] != after[1:] or before[0] % rows or before[0] // rows * (rows + 1) != after[0]:
            return None
        factors.add(before[0] // rows)
    factor = factors.pop() if len(factors) == 1 else 0
    return factor if factor == 1 or (factor > 1 and call.op.name in MULTIPLE) else None


def _refusal(call: RowCall, value: Value) -> str:
    return (
        f"{call.op.name} cannot be computed on '{value.name}', whose first dimension (at most {rows_of(value)}) is "
        f"known at run time only: {OUTERMOST_ONLY}, and only where an operator keeps its rows apart"
    )
