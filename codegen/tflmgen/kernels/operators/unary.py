"""Functions of one float32 element, NEG, ABS and their like on plain integers, LOGICAL_NOT.

Activations on quantised integers are in quantized_unary.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tflmgen.ir.kernel import Input, Kernel, OperatorInstance, Output, Params, Target
from tflmgen.kernels.operators.binary import SUFFIX, Fields
from tflmgen.kernels.operators.quantize_dequantize import unary_overlaps
from tflmgen.kernels.specification.operator import Options
from tflmgen.kernels.specification.rules import input_type

HEADER = "unary.h"


@dataclass(frozen=True, slots=True)
class Alpha:
    """The slope of LEAKY_RELU below zero."""

    alpha: float


@dataclass(frozen=True, slots=True)
class Approximation:
    """Whether GELU is approximated by a hyperbolic tangent."""

    approximate: bool


def parse_alpha(options: Options | None) -> Alpha:
    """The slope of LEAKY_RELU below 0."""
    return Alpha(float((options or {}).get("alpha", 0.0)))


def parse_approximation(options: Options | None) -> Approximation:
    """Whether GELU is approximated by tanh."""
    return Approximation(bool((options or {}).get("approximate", False)))


def unary_kernel(
    op: OperatorInstance, function: str, header: str = HEADER, struct: str = "tflmgen_unary", fields: Fields = ()
) -> Kernel:
    """The call of a kernel that reads and writes one element after the other; params begin with their number."""
    params = Params(struct, (("elements", input_type(op, 0).elements), *fields))
    return Kernel(function, header, (Input(0), Output(0)), params, unary_overlaps(op))


def plain_unary(name: str) -> Callable[[OperatorInstance, Target], Kernel]:
    """The kernel of operator `name` on elements that stand for themselves."""

    def kernel(op: OperatorInstance, target: Target) -> Kernel:
        del target
        stem = f"tflmgen_{name.lower()}"
        if isinstance(op.attributes, Approximation) and op.attributes.approximate:
            stem += "_tanh"
        function = f"{stem}_{SUFFIX[input_type(op, 0).dtype]}"
        if isinstance(op.attributes, Alpha):
            return unary_kernel(op, function, HEADER, "tflmgen_unary_alpha", (("alpha", op.attributes.alpha),))
        return unary_kernel(op, function)

    return kernel
