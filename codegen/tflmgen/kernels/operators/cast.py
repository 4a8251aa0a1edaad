"""CAST."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target, View
from tflmgen.kernels.folding.fold_elements import cast
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.operators.quantize_dequantize import same_shape, unary_overlaps
from tflmgen.kernels.ranges.intervals import Inputs, Interval, Outputs
from tflmgen.kernels.specification.operator import OperatorSpec, no_attributes
from tflmgen.kernels.specification.rules import COMMON, input_is, input_type, output_is
from tflmgen.kernels.traits import MONOTONE, UNARY

TYPES = tuple(SUFFIX)


def _keeps_bytes(source: DType, result: DType) -> bool:
    """Integers of one width wrap into one another; true and false are 1 and 0 in any 8-bit type."""
    if source is result:
        return True
    return not source.is_float and not result.is_float and source.bits == result.bits and result is not DType.BOOL


def _kernel(op: OperatorInstance, target: Target) -> Kernel | View:
    del target
    source, result = input_type(op, 0), op.outputs[0]
    if _keeps_bytes(source.dtype, result.dtype):
        return View(0)
    return Kernel(
        f"tflmgen_cast_{SUFFIX[source.dtype]}_{SUFFIX[result.dtype]}",
        "cast.h",
        (Input(0), Output(0)),
        Params("tflmgen_cast", (("elements", source.elements),)),
        unary_overlaps(op),
    )


def _value_range(op: OperatorInstance, inputs: Inputs) -> Outputs:
    """Ranges of the result: the input's where they fit the output's type; unknown where values may wrap or round."""
    x, dtype = inputs[0], op.outputs[0].dtype
    if x is None or dtype.is_float:
        return None
    if dtype is DType.BOOL:
        always, possible = (x.low > 0) | (x.high < 0), (x.low != 0) | (x.high != 0)
        return [Interval(always.astype(np.int64), possible.astype(np.int64))]
    return [x] if x.within(*dtype.limits) else None


OPERATORS = (
    OperatorSpec(
        "CAST",
        no_attributes,
        (1, 1),
        1,
        (*COMMON, input_is(0, "input", *TYPES), output_is(*TYPES)),
        same_shape,
        _kernel,
        fold=cast,
        value_range=_value_range,
        traits=replace(UNARY, same_if_typed=True, monotone_from=MONOTONE),
    ),
)
