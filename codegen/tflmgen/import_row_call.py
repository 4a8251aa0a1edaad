"""One operator of the file on tensors whose first dimension is known at run time only, and its checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tflmgen.graph import Origin, Value
from tflmgen.import_build import with_rows
from tflmgen.import_context import Context
from tflmgen.ops import OPERATORS
from tflmgen.support import CheckedOperator, check_operator, instance_of, options_of
from tflmgen.tflite.model import Operator, Tensor
from tflmgen.types import TensorType

Inputs = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class RowCall:
    """One operator of the file with at least one dynamic input; `tensors` are its outputs in the file.

    most: the most rows that output 0 is wanted with, where that is known.
    """

    op: Operator
    origin: Origin
    inputs: Inputs
    tensors: tuple[Tensor, ...]
    declared: tuple[TensorType, ...]
    most: int | None = None


class RowError(Exception):
    """The operator can't be computed on a dynamic tensor; the text says why."""


def check_rows(context: Context, call: RowCall, inputs: Inputs, rows: int | None = None) -> CheckedOperator:
    """The operator's outcome on `inputs`, of which the dynamic ones have `rows` rows if that is given."""
    if rows is not None:
        inputs = tuple(
            replace(v, type=with_rows(v.type, rows)) if v is not None and v in context.extents else v for v in inputs
        )
    entry = OPERATORS.get(call.op.name)
    declared = call.declared
    if entry is not None and len(inputs) >= entry.inputs[0]:
        declared = _inferred(entry.infer, entry.attributes, call, inputs, context) or declared
    return check_operator(call.op, inputs, declared, (True,) * len(declared), context.constants)


def _inferred(
    infer: Any, attributes: Any, call: RowCall, inputs: Inputs, context: Context
) -> tuple[TensorType, ...] | None:
    """The output types for rules to see: the file has those of another number of rows."""
    try:
        instance = instance_of(inputs, call.declared, attributes(options_of(call.op)), context.constants)
        shapes = infer(instance)
    except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError):
        return None  # one of the rules that infer relies on is broken; check_operator will say which
    return tuple(t if s is None else t.with_shape(s) for t, s in zip(call.declared, shapes, strict=False))


def checked(context: Context, call: RowCall, inputs: Inputs) -> CheckedOperator:
    found = check_rows(context, call, inputs)
    if found.problems:
        raise RowError(found.problems[0])
    if found.open:
        raise RowError(found.open)
    return found


def define(context: Context, call: RowCall, types: Sequence[TensorType]) -> tuple[Value, ...]:
    return tuple(context.value(t.name, type_) for t, type_ in zip(call.tensors, types, strict=True))
