"""EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, LOGICAL_AND and LOGICAL_OR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType, Kernel, OperatorInstance, Target
from tflmgen.kernels.folding.fold_elements import plain
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operator import Operator, Rule, no_attributes
from tflmgen.kernels.operators.binary import BROADCASTS, SUFFIX, Fields, binary_kernel, infer_binary, plain_kernel
from tflmgen.kernels.rules import input_is, input_type, output_is, per_tensor, same_quantization, scale, zero_point
from tflmgen.kernels.traits import ELEMENTWISE

HEADER = "comparison.h"
GREATEST_SCALE = 64.0
"""So that a quantised element times 256, rescaled, fits 32 bits."""


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


SAME_INPUTS = Rule("both inputs have one type", lambda op: input_type(op, 0).dtype is input_type(op, 1).dtype)
ORDERED = (DType.FLOAT32, DType.INT8, DType.INT16, DType.INT32, DType.INT64)


def _rules(*types: DType) -> tuple[Rule, ...]:
    return (
        *BROADCASTS,
        SAME_INPUTS,
        input_is(0, "input", *types),
        output_is(DType.BOOL),
        Rule(
            "int8 inputs are quantised, with one scale",
            lambda op: (
                input_type(op, 0).dtype is not DType.INT8 or all(per_tensor(input_type(op, i)) for i in range(2))
            ),
        ),
        Rule(
            "int16 inputs share one scale and zero point",
            lambda op: (
                input_type(op, 0).dtype is not DType.INT16 or same_quantization(input_type(op, 0), input_type(op, 1))
            ),
        ),
        Rule(
            f"int8 inputs have scales of at most {GREATEST_SCALE:g}",
            lambda op: (
                input_type(op, 0).dtype is not DType.INT8
                or max(scale(input_type(op, 0)), scale(input_type(op, 1))) <= GREATEST_SCALE
            ),
        ),
    )


LOGICAL_RULES = (*BROADCASTS, SAME_INPUTS, input_is(0, "input", DType.BOOL), output_is(DType.BOOL))

LOGICAL = replace(ELEMENTWISE, commutative=True, idempotent=True)

FOLDS = {
    "equal": plain(np.equal),
    "not_equal": plain(np.not_equal),
    "less": plain(np.less),
    "less_equal": plain(np.less_equal),
    "greater": plain(np.greater),
    "greater_equal": plain(np.greater_equal),
    "logical_and": plain(np.logical_and),
    "logical_or": plain(np.logical_or),
}

OPERATORS = (
    *(
        Operator(
            name.upper(),
            no_attributes,
            (2, 2),
            1,
            _rules(*ORDERED),
            infer_binary,
            _kernel(name),
            fold=FOLDS[name],
            traits=ELEMENTWISE,
        )
        for name in ("less", "less_equal", "greater", "greater_equal")
    ),
    *(
        Operator(
            name.upper(),
            no_attributes,
            (2, 2),
            1,
            _rules(*ORDERED, DType.BOOL),
            infer_binary,
            _kernel(name),
            fold=FOLDS[name],
            traits=ELEMENTWISE,
        )
        for name in ("equal", "not_equal")
    ),
    *(
        Operator(
            name.upper(),
            no_attributes,
            (2, 2),
            1,
            LOGICAL_RULES,
            infer_binary,
            plain_kernel(name, HEADER),
            fold=FOLDS[name],
            traits=replace(LOGICAL, neutral=neutral, absorbing=1 - neutral),
        )
        for name, neutral in (("logical_and", 1), ("logical_or", 0))
    ),
)
