"""Checks one operator of a file against the operator table: attributes, arity, support rules, shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tflmgen.frontend.tflite.model import FileOperator
from tflmgen.frontend.tflite.names import CUSTOM
from tflmgen.ir import TensorType
from tflmgen.ir.graph import Value
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import instance_of
from tflmgen.kernels.specification import CUSTOM_OPTIONS, Operators, OperatorSpec, Options, Rule


@dataclass(frozen=True, slots=True)
class CheckedOperator:
    """Result of the checks: attributes and output types, or the problems as sentences.

    open  reason why an output shape is unknown at compile time, or empty
    """

    attributes: Any
    outputs: tuple[TensorType, ...]
    problems: tuple[str, ...] = ()
    open: str = ""


def options_of(op: FileOperator) -> Options | None:
    """Options of the operator in the form that the operator table reads."""
    return {**(op.options or {}), CUSTOM_OPTIONS: op.custom_options} if op.name.startswith(CUSTOM) else op.options


def check_operator(
    op: FileOperator,
    inputs: Sequence[Value | None],
    declared: tuple[TensorType, ...],
    open_shapes: Sequence[bool],
    constants: Mapping[str, bytes],
    operators: Operators,
) -> CheckedOperator:
    """Checks `op` in the order table, arity, attributes, rules, shapes; stops at the first kind that fails.

    `open_shapes[i]`: output i is declared with a dimension of -1, so that its inferred shape replaces the stored one.
    """
    entry = operators.get(op.name)
    if entry is None:
        return CheckedOperator(None, declared, (_unsupported(op.name),))
    requirement = _requirement(entry, op, inputs, len(declared))
    if requirement:
        return CheckedOperator(None, declared, (f"{op.name} requires {requirement}",))
    try:
        attributes = entry.attributes(options_of(op))
    except ValueError as error:
        return CheckedOperator(None, declared, (str(error),))
    instance = instance_of(inputs, declared, attributes, constants)
    for rule in entry.rules:
        if not rule.holds(instance):
            return CheckedOperator(attributes, declared, (_broken_rule(op.name, rule, instance),))
    return _check_shapes(op.name, entry.infer(instance), attributes, declared, open_shapes)


def _requirement(entry: OperatorSpec, op: FileOperator, inputs: Sequence[Value | None], outputs: int) -> str:
    """Requirement on the numbers of inputs and outputs that `op` breaks; empty where it breaks none."""
    least, greatest = entry.inputs
    if len(op.inputs) < least or (greatest >= 0 and len(op.inputs) > greatest):
        arity = f"{least}" if least == greatest else f"at least {least}" if greatest < 0 else f"{least} to {greatest}"
        return f"{arity} inputs; this one has {len(op.inputs)}"
    if any(value is None for value in inputs[:least]):
        return f"its first {least} inputs; one of them is absent"
    if entry.outputs >= 0 and outputs != entry.outputs:
        return f"{entry.outputs} outputs; this one has {outputs}"
    return ""


def _check_shapes(
    name: str,
    shapes: Sequence[tuple[Any, ...] | None],
    attributes: Any,
    declared: tuple[TensorType, ...],
    open_shapes: Sequence[bool],
) -> CheckedOperator:
    outputs, problems, open_shape = [], [], ""
    for index, (type_, shape, is_open) in enumerate(zip(declared, shapes, open_shapes, strict=True)):
        if shape is None and is_open:
            open_shape = f"the shape of output {index} of {name} depends on values that are known at run time only"
        elif shape is not None and shape != type_.shape and not is_open:
            mismatch = f"declared {list(type_.shape)}, its operands make it {list(shape)}"
            problems.append(f"output {index} of {name} is {mismatch}")
        outputs.append(type_.with_shape(shape) if shape is not None else type_)
    return CheckedOperator(attributes, tuple(outputs), tuple(problems), open_shape)


def _broken_rule(name: str, rule: Rule, instance: OperatorInstance) -> str:
    offence = rule.offence or _types
    return f"{name} requires {rule.requirement}; this one has {offence(instance)}"


def _types(instance: OperatorInstance) -> str:
    inputs = ", ".join("none" if t is None else str(t) for t in instance.inputs)
    return f"{inputs} -> {', '.join(map(str, instance.outputs))}"


def _unsupported(name: str) -> str:
    if name.startswith(f"{CUSTOM}Flex"):
        tensorflow = f"{name.removeprefix(CUSTOM)} is a TensorFlow operator (SELECT_TF_OPS)"
        return f"{tensorflow}. Convert the model with TFLITE_BUILTINS only"
    if name.startswith(CUSTOM):
        name = name.removeprefix(CUSTOM)
        return f"custom operator '{name}' is not supported. Add it with --plugin FILE: see docs/use/custom-operators.md"
    return f"operator {name} is not supported"
