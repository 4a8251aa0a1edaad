"""EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, LOGICAL_AND and LOGICAL_OR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Kernel, OperatorInstance, Target
from tflmgen.kernels.folding.fold_elements import plain
from tflmgen.kernels.folding.fold_quantized import requantized_by_factor
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operators.binary import BROADCASTS, SUFFIX, Fields, binary_kernel, infer_binary, plain_kernel
from tflmgen.kernels.ranges.intervals import Inputs, Interval, Outputs, Transfer
from tflmgen.kernels.ranges.range_elements import broadcast_pair, growing
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, no_attributes
from tflmgen.kernels.specification.rules import (
    input_is,
    input_type,
    output_is,
    per_tensor,
    same_quantization,
    scale,
    zero_point,
)
from tflmgen.kernels.traits import ELEMENTWISE, Comparison, Connective

HEADER = "comparison.h"
GREATEST_SCALE = 64.0
"""Largest scale at which a quantised element times 256, requantised, fits 32 bits."""


def _kernel(name: str) -> Callable[[OperatorInstance, Target], Kernel]:
    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        dtype = input_type(op, 0).dtype
        function = f"tflmgen_{name}_{SUFFIX[dtype]}"
        if dtype is not DType.INT8:
            return binary_kernel(op, function, HEADER)
        fields: Fields = ()
        for i in range(2):
            multiplier, shift = quantize_multiplier(scale(input_type(op, i)))
            fields += (
                (f"offset{i + 1}", -zero_point(input_type(op, i))),
                (f"multiplier{i + 1}", multiplier),
                (f"shift{i + 1}", shift),
            )
        return binary_kernel(op, function, HEADER, "tflmgen_compare_quantized", fields)

    return kernel


SAME_INPUTS = Rule("inputs of one type", lambda op: input_type(op, 0).dtype is input_type(op, 1).dtype)
ORDERED = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64)


def _rules(*types: DType) -> tuple[Rule, ...]:
    return (
        *BROADCASTS,
        SAME_INPUTS,
        input_is(0, "input", *types),
        output_is(DType.BOOL),
        Rule(
            "one scale for each int8 input",
            lambda op: (
                input_type(op, 0).dtype is not DType.INT8 or all(per_tensor(input_type(op, i)) for i in range(2))
            ),
        ),
        Rule(
            "one scale and zero point for both int16 inputs",
            lambda op: (
                input_type(op, 0).dtype is not DType.INT16 or same_quantization(input_type(op, 0), input_type(op, 1))
            ),
        ),
        Rule(
            f"int8 inputs with scales of at most {GREATEST_SCALE:g}",
            lambda op: (
                input_type(op, 0).dtype is not DType.INT8
                or max(scale(input_type(op, 0)), scale(input_type(op, 1))) <= GREATEST_SCALE
            ),
        ),
    )


LOGICAL_RULES = (*BROADCASTS, SAME_INPUTS, input_is(0, "input", DType.BOOL), output_is(DType.BOOL))

LOGICAL = replace(ELEMENTWISE, commutative=True, same_if_equal=(0, 1))


def _scaled_pair(op: OperatorInstance, inputs: Inputs) -> tuple[Interval, Interval] | None:
    """Ranges of the numbers that are compared: int8 elements as multiples of 1/256, other integers as they are."""
    pair = broadcast_pair(op, inputs)
    if pair is None or input_type(op, 0).dtype is not DType.INT8:
        return pair
    scaled = []
    for index, interval in enumerate(pair):
        kind = input_type(op, index)
        low, high = (
            requantized_by_factor((end - zero_point(kind)) << 8, scale(kind)) for end in (interval.low, interval.high)
        )
        scaled.append(Interval(low, high))
    return scaled[0], scaled[1]


def _value_range(comparison: Comparison) -> Transfer:
    """Whether all elements compare so, and whether any do."""

    def ranges(op: OperatorInstance, inputs: Inputs) -> Outputs:
        pair = _scaled_pair(op, inputs)
        if pair is None:
            return None
        a, b = pair
        if comparison in (Comparison.GREATER, Comparison.GREATER_EQUAL):
            a, b = b, a
        if comparison in (Comparison.LESS, Comparison.GREATER):
            always, possible = a.high < b.low, a.low < b.high
        elif comparison in (Comparison.LESS_EQUAL, Comparison.GREATER_EQUAL):
            always, possible = a.high <= b.low, a.low <= b.high
        else:
            always = a.known & b.known & (a.low == b.low)
            possible = (a.low <= b.high) & (b.low <= a.high)
            if comparison is Comparison.NOT_EQUAL:
                always, possible = ~possible, ~always
        return [Interval(always.astype(np.int64), possible.astype(np.int64))]

    return ranges


def _comparison(comparison: Comparison, function: Callable[[Any, Any], Any], *types: DType) -> OperatorSpec:
    return OperatorSpec(
        comparison.operator,
        no_attributes,
        (2, 2),
        1,
        _rules(*ORDERED, *types),
        infer_binary,
        _kernel(comparison.name.lower()),
        fold=plain(function),
        value_range=_value_range(comparison),
        traits=replace(ELEMENTWISE, compares=comparison),
    )


def _logical(
    connective: Connective, function: Callable[[Any, Any], Any], extreme: Callable[[Any, Any], Any], neutral: int
) -> OperatorSpec:
    name = f"logical_{connective.name.lower()}"
    return OperatorSpec(
        name.upper(),
        no_attributes,
        (2, 2),
        1,
        LOGICAL_RULES,
        infer_binary,
        plain_kernel(name, HEADER),
        fold=plain(function),
        value_range=growing(extreme),
        traits=replace(LOGICAL, connective=connective, neutral=neutral, absorbing=1 - neutral),
    )


OPERATORS = (
    _comparison(Comparison.LESS, np.less),
    _comparison(Comparison.LESS_EQUAL, np.less_equal),
    _comparison(Comparison.GREATER, np.greater),
    _comparison(Comparison.GREATER_EQUAL, np.greater_equal),
    _comparison(Comparison.EQUAL, np.equal, DType.BOOL),
    _comparison(Comparison.NOT_EQUAL, np.not_equal, DType.BOOL),
    _logical(Connective.AND, np.logical_and, np.minimum, 1),
    _logical(Connective.OR, np.logical_or, np.maximum, 0),
)
