"""BROADCAST_ARGS: the shape that two shapes broadcast to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.operators.binary import SUFFIX
from tflmgen.kernels.specification.operator import OperatorSpec, Rule, Shape, no_attributes
from tflmgen.kernels.specification.rules import COMMON, input_shape, input_type, one_type


def _ranks(op: OperatorInstance) -> tuple[int, int]:
    return input_type(op, 0).elements, input_type(op, 1).elements


def _infer(op: OperatorInstance) -> tuple[Shape]:
    return ((max(_ranks(op)),),)


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    first, second = _ranks(op)
    params = Params("tflmgen_broadcast_args", (("first_rank", first), ("second_rank", second)))
    name = f"tflmgen_broadcast_args_{SUFFIX[op.outputs[0].dtype]}"
    return Kernel(name, "broadcast_args.h", (Input(0), Input(1), Output(0)), params)


def _fold(op: OperatorInstance) -> list[NDArray[Any]] | None:
    first, second = op.constants
    if first is None or second is None:
        return None
    rank = max(_ranks(op))
    a, b = (np.pad(side, (rank - side.size, 0), constant_values=1) for side in (first, second))
    return [np.where(a == 1, b, a).astype(op.outputs[0].dtype.numpy)]


def _agree(op: OperatorInstance) -> bool:
    first, second = op.constants
    if first is None or second is None:
        return True
    pairs = zip(reversed(first.tolist()), reversed(second.tolist()), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


RULES = (
    *COMMON,
    one_type(DType.INT32, DType.INT64),
    Rule(
        "shapes given as vectors",
        lambda op: len(input_shape(op)) == 1 == len(input_shape(op, 1)),
    ),
    Rule("constant shapes that broadcast together", _agree),
)

OPERATORS = (OperatorSpec("BROADCAST_ARGS", no_attributes, (2, 2), 1, RULES, _infer, _kernel, _fold),)
