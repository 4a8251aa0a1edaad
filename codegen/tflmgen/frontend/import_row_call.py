"""One operator of the file with dynamic tensors, and its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tflmgen.frontend.import_context import Context
from tflmgen.frontend.operator_check import CheckedOperator, check_operator, options_of
from tflmgen.frontend.tflite.model import FileOperator, FileTensor
from tflmgen.ir import TensorType
from tflmgen.ir.graph import Origin, Value
from tflmgen.kernels import instance_of

Inputs = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class DynamicCall:
    """One operator of the file with a dynamic input or output.

    tensors   its outputs in the file
    declared  their types in the file
    max_dims  axis -> upper bound of that dimension of output 0, where known
    """

    op: FileOperator
    origin: Origin
    inputs: Inputs
    tensors: tuple[FileTensor, ...]
    declared: tuple[TensorType, ...]
    max_dims: Mapping[int, int] = field(default_factory=dict)


class RowError(Exception):
    """The operator can't be computed on a dynamic tensor, for the reason in the text."""


def check_rows(context: Context, call: DynamicCall, inputs: Inputs) -> CheckedOperator:
    """Result of the operator's checks on `inputs`, taken as static at their largest shapes."""
    declared = inferred(context, call.op, inputs, call.declared)
    return check_operator(call.op, inputs, declared, (True,) * len(declared), context.constants, context.operators)


def inferred(
    context: Context, op: FileOperator, inputs: Inputs, declared: tuple[TensorType, ...]
) -> tuple[TensorType, ...]:
    """Output types for the support rules, with inferred shapes: a file stores the shapes of one example run."""
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


def checked(context: Context, call: DynamicCall, inputs: Inputs) -> CheckedOperator:
    """Result of the operator's checks on `inputs`. Raises RowError with the first rule that they break."""
    operator = check_rows(context, call, inputs)
    if operator.problems:
        raise RowError(operator.problems[0])
    if operator.open:
        raise RowError(operator.open)
    return operator


def declared_dim(call: DynamicCall, axis: int) -> int:
    """The output's dimension in the file, -1 where it is open."""
    signature = call.tensors[0].shape_signature or call.tensors[0].shape
    return signature[axis] if axis < len(signature) else -1


def define(context: Context, call: DynamicCall, types: Sequence[TensorType]) -> tuple[Value, ...]:
    """New values for the operator's outputs, of these types and with their names in the file."""
    return tuple(context.value(t.name, type_) for t, type_ in zip(call.tensors, types, strict=True))


def bounded(context: Context, call: DynamicCall, axis: int) -> int:
    """The most that the user says a dimension of output 0 may be. Raises RowError where nothing is said."""
    upper_bound = call.max_dims.get(axis, context.bounds.largest)
    if upper_bound is not None:
        return upper_bound
    name = call.tensors[0].name
    raise RowError(f"axis {axis} of '{name}' has no upper bound: set one with --max-shape or --max-dim")
