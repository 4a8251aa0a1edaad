"""One operator of the file on tensors with dimensions known at run time only, and its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.frontend.import_context import Context
from tflmgen.frontend.operator_check import CheckedOperator, check_operator, options_of
from tflmgen.frontend.tflite.model import Operator, Tensor
from tflmgen.ir import Origin, TensorType, Value
from tflmgen.kernels import instance_of

Inputs = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class RowCall:
    """One operator of the file with a dynamic input or output; `tensors` are its outputs in the file.

    most: by axis, the most that output 0 is wanted with, where that is known.
    """

    op: Operator
    origin: Origin
    inputs: Inputs
    tensors: tuple[Tensor, ...]
    declared: tuple[TensorType, ...]
    most: Mapping[int, int] = field(default_factory=dict)


class RowError(Exception):
    """The operator can't be computed on a dynamic tensor; the text says why."""


def check_rows(context: Context, call: RowCall, inputs: Inputs) -> CheckedOperator:
    """The operator's outcome on `inputs`, all of whose rows count."""
    declared = inferred(context, call.op, inputs, call.declared)
    return check_operator(call.op, inputs, declared, (True,) * len(declared), context.constants, context.operators)


def inferred(
    context: Context, op: Operator, inputs: Inputs, declared: tuple[TensorType, ...]
) -> tuple[TensorType, ...]:
    """The output types for rules to see where the file leaves shapes open: it stores those of one example."""
    entry = context.operators.get(op.name)
    if entry is None or len(inputs) < entry.inputs[0]:
        return declared
    try:
        instance = instance_of(inputs, declared, entry.attributes(options_of(op)), context.constants)
        shapes = entry.infer(instance)
    except (ValueError, TypeError, IndexError, AttributeError, ArithmeticError):
        return declared  # one of the rules that infer relies on is broken; check_operator will say which
    if len(shapes) != len(declared):
        return declared
    return tuple(t if s is None else t.with_shape(s) for t, s in zip(declared, shapes, strict=True))


def checked(context: Context, call: RowCall, inputs: Inputs) -> CheckedOperator:
    found = check_rows(context, call, inputs)
    if found.problems:
        raise RowError(found.problems[0])
    if found.open:
        raise RowError(found.open)
    return found


def define(context: Context, call: RowCall, types: Sequence[TensorType]) -> tuple[Value, ...]:
    return tuple(context.value(t.name, type_) for t, type_ in zip(call.tensors, types, strict=True))
