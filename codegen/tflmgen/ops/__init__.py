"""The operator table: every operator that tflmgen compiles, by its TFLite name."""

from __future__ import annotations

from types import MappingProxyType

from tflmgen.ops import (
    add_n,
    along_axis,
    arithmetic,
    batch_matmul,
    binary_functions,
    cast,
    comparison,
    concatenation,
    conv,
    depthwise_conv,
    division,
    fill,
    fully_connected,
    gather,
    log_softmax,
    mapped_copy,
    pad,
    pool,
    quantize,
    quantized_unary,
    rearrange,
    reduce,
    reshape,
    resize,
    row_store,
    select,
    slice,
    softmax,
    transpose,
)
from tflmgen.ops.operator import Operator

FAMILIES: tuple[tuple[Operator, ...], ...] = (
    add_n.OPERATORS,
    along_axis.OPERATORS,
    arithmetic.OPERATORS,
    batch_matmul.OPERATORS,
    binary_functions.OPERATORS,
    cast.OPERATORS,
    comparison.OPERATORS,
    concatenation.OPERATORS,
    conv.OPERATORS,
    depthwise_conv.OPERATORS,
    division.OPERATORS,
    fill.OPERATORS,
    fully_connected.OPERATORS,
    gather.OPERATORS,
    log_softmax.OPERATORS,
    mapped_copy.OPERATORS,
    pad.OPERATORS,
    pool.OPERATORS,
    quantize.OPERATORS,
    quantized_unary.OPERATORS,
    rearrange.OPERATORS,
    reduce.OPERATORS,
    reshape.OPERATORS,
    resize.OPERATORS,
    row_store.OPERATORS,
    select.OPERATORS,
    slice.OPERATORS,
    softmax.OPERATORS,
    transpose.OPERATORS,
)

OPERATORS = MappingProxyType({operator.name: operator for family in FAMILIES for operator in family})
