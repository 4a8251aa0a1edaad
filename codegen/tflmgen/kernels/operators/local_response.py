"""LOCAL_RESPONSE_NORMALIZATION of float32 along the last dimension.

The window is that of LiteRT's reference kernel, which ends before the element `radius` places further; TensorFlow's
LRN and LiteRT's optimised kernel include that one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tflmgen.ir import DType
from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.specification.operator import OperatorSpec, Options, Rule
from tflmgen.kernels.specification.rules import COMMON, input_shape, input_type, one_type
from tflmgen.kernels.traits import Traits


@dataclass(frozen=True, slots=True)
class LocalResponse:
    """x * (bias + alpha * s)^-beta, for s the sum of the squares of x, `radius` before and `radius` - 1 behind it."""

    radius: int
    bias: float
    alpha: float
    beta: float


def _parse(options: Options | None) -> LocalResponse:
    """Raises ValueError for a negative radius, or numbers that are not finite."""
    fields = options or {}
    radius = int(fields.get("radius", 0))
    bias, alpha, beta = (float(fields.get(name, 0.0)) for name in ("bias", "alpha", "beta"))
    if radius < 0 or not all(map(math.isfinite, (bias, alpha, beta))):
        raise ValueError(f"radius {radius}, bias {bias}, alpha {alpha} and beta {beta} are not all finite from 0 on")
    return LocalResponse(radius, bias, alpha, beta)


def _kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    *rows, depth = input_shape(op)
    numbers = op.attributes
    fields = (
        ("rows", math.prod(rows)),
        ("depth", depth),
        ("radius", min(numbers.radius, depth)),
        ("bias", numbers.bias),
        ("alpha", numbers.alpha),
        ("beta", numbers.beta),
    )
    operands = (Input(0), Output(0))
    return Kernel("tflmgen_local_response_f32", "local_response.h", operands, Params("tflmgen_local_response", fields))


RULES = (
    *COMMON,
    one_type(DType.FLOAT32),
    Rule("an input of at least one dimension", lambda op: len(input_shape(op)) > 0),
)

OPERATORS = (
    OperatorSpec(
        "LOCAL_RESPONSE_NORMALIZATION",
        _parse,
        (1, 1),
        1,
        RULES,
        lambda op: (input_type(op, 0).shape,),
        _kernel,
        traits=Traits(along_last=True),
    ),
)
