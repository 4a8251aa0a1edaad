"""The operator table: every operator that tflmgen compiles, by its TFLite name."""

from __future__ import annotations

from types import MappingProxyType

from tflmgen.ops import (
    arithmetic,
    batch_matmul,
    cast,
    comparison,
    conv,
    depthwise_conv,
    fully_connected,
    log_softmax,
    maximum_minimum,
    pad,
    pool,
    quantize,
    quantized_unary,
    reduce,
    reshape,
    softmax,
    transpose,
)
from tflmgen.ops.operator import Operator

FAMILIES: tuple[tuple[Operator, ...], ...] = (
    arithmetic.OPERATORS,
    batch_matmul.OPERATORS,
    cast.OPERATORS,
    comparison.OPERATORS,
    conv.OPERATORS,
    depthwise_conv.OPERATORS,
    fully_connected.OPERATORS,
    log_softmax.OPERATORS,
    maximum_minimum.OPERATORS,
    pad.OPERATORS,
    pool.OPERATORS,
    quantize.OPERATORS,
    quantized_unary.OPERATORS,
    reduce.OPERATORS,
    reshape.OPERATORS,
    softmax.OPERATORS,
    transpose.OPERATORS,
)

OPERATORS = MappingProxyType({operator.name: operator for family in FAMILIES for operator in family})
