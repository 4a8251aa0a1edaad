"""The operator table: every operator that tflmgen compiles, by its TFLite name."""

from __future__ import annotations

from types import MappingProxyType

from tflmgen.ops import arithmetic, quantize, reshape
from tflmgen.ops.operator import Operator

FAMILIES: tuple[tuple[Operator, ...], ...] = (
    arithmetic.OPERATORS,
    quantize.OPERATORS,
    reshape.OPERATORS,
)

OPERATORS = MappingProxyType({operator.name: operator for family in FAMILIES for operator in family})
