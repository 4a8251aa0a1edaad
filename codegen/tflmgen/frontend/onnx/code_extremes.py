"""Maxima and minima of codes: of real numbers where the scale is known, which integer_operators.py computes in codes.

TFLite's MAXIMUM and MINIMUM of int8 need a scale, which is that of both operands and of the result.
"""

from __future__ import annotations

import numpy as np

from tflmgen.frontend.onnx import compose as c
from tflmgen.frontend.onnx.laid_out import Graph, Value
from tflmgen.frontend.onnx.quantized_tensors import SIGNED, dequantized, dequantized_codes, quantized
from tflmgen.ir import Quantization


def extreme(g: Graph, name: str, first: Value, second: Value) -> Value:
    """MAXIMUM or MINIMUM, by `name`, of two values that are broadcast."""
    for value, bound in ((first, second), (second, first)):
        if _is_idle(name, value, bound):
            return value
    kind = _common_kind(g, first, second)
    if kind is not None:
        reals = [_real(g, value, kind) for value in (first, second)]
        if reals[0] is not None and reals[1] is not None:
            return quantized(g, c.elementwise(g, name, reals[0], reals[1]), first.dtype, kind)
    return c.elementwise(g, name, first, second)


def _is_idle(name: str, value: Value, bound: Value) -> bool:
    """Whether no integer of the value's type is beyond a constant bound, which needs no broadcasting either."""
    if bound.constant is None or value.dtype.is_float or value.constant is not None:
        return False
    fits = np.broadcast_shapes(value.shape, bound.shape) == value.shape
    least, greatest = value.dtype.limits
    return fits and bool(np.all(bound.constant == (least if name == "MAXIMUM" else greatest)))


def _common_kind(g: Graph, *values: Value) -> Quantization | None:
    """The scale that all values have whose scale is known, if it is one, and one value is computed at run time."""
    if values[0].dtype not in SIGNED:
        return None
    kinds = {g.tensors[g.own(value).tensor].quantization for value in values if value.constant is None}
    return kinds.pop() if len(kinds) == 1 else None


def _real(g: Graph, value: Value, kind: Quantization) -> Value | None:
    return dequantized(g, value, kind) if value.constant is None else dequantized_codes(g, value, kind)
