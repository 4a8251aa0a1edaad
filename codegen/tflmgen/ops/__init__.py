"""The operator table: every operator that tflmgen compiles, by its TFLite name."""

from __future__ import annotations

from types import MappingProxyType

from tflmgen.ops import arithmetic, maximum_minimum, pad, quantize, reshape, transpose
from tflmgen.ops.operator import Operator

FAMILIES: tuple[tuple[Operator, ...], ...] = (
    arithmetic.OPERATORS,
    maximum_minimum.OPERATORS,
    pad.OPERATORS,
    quantize.OPERATORS,
    reshape.OPERATORS,
    transpose.OPERATORS,
)

OPERATORS = MappingProxyType({operator.name: operator for family in FAMILIES for operator in family})
