"""A custom operator as a plug-in of tflmgen: Erfinv, the inverse of the error function, in float32."""

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflmgen.plugin import (
    COMMON,
    CustomOperator,
    DType,
    Input,
    Kernel,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    Shape,
    Target,
    input_type,
    one_type,
)


class Erfinv(CustomOperator):
    name = "Erfinv"
    files = ("erfinv.h",)
    rules = (*COMMON, one_type(DType.FLOAT32))

    def infer(self, op: OperatorInstance) -> tuple[Shape | None, ...]:
        return (input_type(op, 0).shape,)

    def kernel(self, op: OperatorInstance, target: Target) -> Kernel:
        del target
        params = Params("erfinv", (("elements", op.outputs[0].elements),))
        return Kernel("erfinv", "erfinv.h", (Input(0), Output(0)), params, overlaps=(Overlap(0, 0),))

    def evaluate(self, op: OperatorInstance, inputs: Sequence[NDArray[Any] | None]) -> Sequence[NDArray[Any]]:
        """By the quantiles of the normal distribution, infinite at the ends, NaN beyond them."""
        del op

        def inverse(x: float) -> float:
            return NormalDist().inv_cdf((1 + x) / 2) / 2**0.5 if abs(x) < 1 else x * np.inf if abs(x) == 1 else np.nan

        return [np.vectorize(inverse, otypes=[np.float64])(inputs[0])]
