"""Real functions of unary operators, on arrays of float64.

Tables of int8 and int16 functions are made from them, and passes compare spelled-out functions with them. They round
to single precision where LiteRT does, so that its tables are reproduced bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir.kernel import OperatorInstance
from tflmgen.kernels.numeric.quantize_math import Activation

Reals = NDArray[np.float64]

Real = Callable[[OperatorInstance, Sequence[Reals]], Reals]
"""Output 0 of an operator on real numbers, given every input; undefined results are NaN or infinite."""


def of_elements(function: Callable[..., Any]) -> Real:
    """A function of one element of each input, and the fused activation, if any."""

    def evaluate(op: OperatorInstance, operands: Sequence[Reals]) -> Reals:
        results = np.asarray(function(*operands))
        activation = getattr(op.attributes, "activation", Activation.NONE)
        return results if activation is Activation.NONE else np.asarray(np.clip(results, *activation.bounds))

    return evaluate


def log(x: Reals) -> Reals:
    """Natural logarithm; arguments <= 0 give the least float."""
    positive = x > 0
    return np.where(positive, np.log(np.where(positive, x, 1.0)), -np.inf)


def elu(x: Reals) -> Reals:
    """exp(x) - 1 in float32 below 0, else x."""
    powers = np.exp(np.minimum(x, 0.0)).astype(np.float32) - np.float32(1)
    return np.where(x < 0, powers, x)


def gelu(x: Reals, approximate: bool) -> Reals:
    """x times the normal distribution up to x, or the usual approximation by tanh, in LiteRT's single precision."""
    single = x.astype(np.float32)
    if approximate:
        with np.errstate(over="ignore"):
            cube = np.float32(0.044715) * single * single * single
        factor = np.float32(1) + _tanh(np.float32(math.sqrt(2.0 / math.pi)) * (single + cube))
    else:
        factor = _erfc(-single * np.float32(math.sqrt(0.5)))
    return np.asarray(np.float32(0.5) * single * factor, np.float64)


_erfc = np.vectorize(lambda x: np.float32(math.erfc(x)), otypes=[np.float32])
_tanh = np.vectorize(lambda x: np.float32(math.tanh(x)), otypes=[np.float32])


def logistic(x: Reals) -> Reals:
    """1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def hard_swish(x: Reals) -> Reals:
    """x relu6(x + 3) / 6."""
    return np.asarray(x * np.clip(x + 3.0, 0.0, 6.0) / 6.0)


def silu(x: Reals) -> Reals:
    """x logistic(x)."""
    return np.asarray(x / (1.0 + np.exp(-x)))
