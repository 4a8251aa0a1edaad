"""The operator table: every operator that tflmgen compiles, by its TFLite name."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module

from tflmgen.kernels import operators as families
from tflmgen.kernels.operator import Operator, Operators
from tflmgen.kernels.traits import UNKNOWN, Traits


def _declared() -> Iterable[Operator]:
    """The OPERATORS of each module in kernels/operators/, which may have none."""
    for module in pkgutil.iter_modules(families.__path__, f"{families.__name__}."):
        yield from getattr(import_module(module.name), "OPERATORS", ())


OPERATORS: Operators = {operator.name: operator for operator in _declared()}
"""tflmgen's own operators; the table of a compilation adds those of its plug-ins."""


def with_custom(operators: Iterable[Operator]) -> Operators:
    """The table with custom operators added, whose names must not be tflmgen's own."""
    return {**OPERATORS, **{operator.name: operator for operator in operators}}


def traits_of(name: str, operators: Operators = OPERATORS) -> Traits:
    """Traits of the operator `name`; those of an unknown operator if it is not in the table."""
    operator = operators.get(name)
    return UNKNOWN if operator is None else operator.traits
