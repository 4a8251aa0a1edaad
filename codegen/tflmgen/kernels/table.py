"""The operator table: every operator that tflmgen compiles, by its TFLite name, and a graph's operators in its form."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from tflmgen.ir import TensorType, constant_array
from tflmgen.ir.graph import Op, Value
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels import operators as families
from tflmgen.kernels.specification.operator import Operators, OperatorSpec
from tflmgen.kernels.traits import UNKNOWN, Traits


def _declared() -> Iterable[OperatorSpec]:
    """The OPERATORS of each module in kernels/operators/, which may have none."""
    for module in pkgutil.iter_modules(families.__path__, f"{families.__name__}."):
        yield from getattr(import_module(module.name), "OPERATORS", ())


OPERATORS: Operators = {operator.name: operator for operator in _declared()}
"""tflmgen's own operators; the table of a compilation adds those of its plug-ins."""


def with_custom(operators: Iterable[OperatorSpec]) -> Operators:
    """The table with custom operators added, whose names must not be tflmgen's own."""
    return {**OPERATORS, **{operator.name: operator for operator in operators}}


def traits_of(name: str, operators: Operators = OPERATORS) -> Traits:
    """Traits of the operator `name`; those of an unknown operator if it is not in the table."""
    operator = operators.get(name)
    return UNKNOWN if operator is None else operator.traits


def instance_of(
    inputs: Sequence[Value | None], outputs: Sequence[TensorType], attributes: Any, constants: Mapping[str, bytes]
) -> OperatorInstance:
    """Types, constants and attributes of an operator with these operands, without the graph."""
    return OperatorInstance(
        tuple(v.type if v is not None else None for v in inputs),
        tuple(outputs),
        tuple(constant_array(v, constants) for v in inputs),
        attributes,
    )


def instance_of_op(op: Op, constants: Mapping[str, bytes]) -> OperatorInstance:
    """Types, constants and attributes of an operator of the graph."""
    return instance_of(op.inputs, [v.type for v in op.outputs], op.attributes, constants)
