"""QUANTIZE and DEQUANTIZE of values whose scales are known at build time, and dequantised constants.

Unsigned codes have signed ones beside them: the same numbers, with zero points 128 (32768) less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import Array, Codes, OnnxValue, constant
from tflmgen.ir import DType, Quantization

SIGNED = {
    DType.UINT8: DType.INT8,
    DType.INT8: DType.INT8,
    DType.UINT16: DType.INT16,
    DType.INT16: DType.INT16,
}
"""Types of codes that TFLite quantises to, and the signed type that computes."""


_OFFSETS = {DType.UINT8: 128, DType.UINT16: 32768}
"""Unsigned type -> how much its codes are greater than their signed twins."""


def shifted(dtype: DType, zero: int) -> int:
    """The zero point of a code's signed twin."""
    return zero - _OFFSETS.get(dtype, 0)


def known_quantization(dtype: DType, scale: OnnxValue, zero: OnnxValue | None) -> Quantization | None:
    """Scale and zero point of all elements, if they are known and TFLite has the type; else None."""
    if dtype not in SIGNED or scale.constant is None or scale.size != 1 or scale.dtype is not F32:
        return None
    if zero is not None and (zero.constant is None or zero.size != 1):
        return None
    point = 0 if zero is None or zero.constant is None else int(zero.constant.reshape(-1)[0])
    step = float(scale.constant.reshape(-1)[0])
    if not (np.isfinite(step) and step > 0) or (SIGNED[dtype] is DType.INT16 and shifted(dtype, point)):
        return None  # TFLite's int16 is symmetric
    return Quantization((step,), (point,))


def dequantized(g: Graph, value: OnnxValue, kind: Quantization) -> OnnxValue | None:
    """The real numbers of codes; None if something else was said of their scale before."""
    value = g.own(value)
    tensor = value.tensor
    if not g.tag(tensor, kind):
        return None
    if value.dtype in _OFFSETS:
        tensor = _signed(g, tensor, value.dtype, kind)
    result = g.operator("DEQUANTIZE", [tensor], [(F32, g.tensors[tensor].shape, None)])[0]
    return g.value(result, value.shape, value.order)


def dequantized_codes(g: Graph, value: OnnxValue, kind: Quantization) -> OnnxValue:
    """The real numbers of constant codes by an operator, beside which the codes are kept."""
    assert value.constant is not None
    signed = SIGNED[value.dtype]
    codes = (value.constant.astype(np.int32) - _OFFSETS.get(value.dtype, 0)).astype(signed.numpy)
    tensor = g.constant(codes, quantization=_signed_quantization(value.dtype, kind))
    return g.value(g.operator("DEQUANTIZE", [tensor], [(F32, value.shape, None)])[0])


def _signed(g: Graph, tensor: int, dtype: DType, kind: Quantization) -> int:
    """The signed twin of unsigned codes. TFLite requantises uint8 to int8, and has no such operator of uint16."""
    if tensor not in g.signed:
        shape = g.tensors[tensor].shape
        if dtype is DType.UINT16:
            wide = g.operator("CAST", [tensor], [(DType.INT32, shape, None)])[0]
            offset = g.constant(np.array(_OFFSETS[dtype], np.int32))
            moved = g.operator("SUB", [wide, offset], [(DType.INT32, shape, None)])[0]
            output = (DType.INT16, shape, _signed_quantization(dtype, kind))
            g.signed[tensor] = g.operator("CAST", [moved], [output])[0]
        else:
            output = (DType.INT8, shape, _signed_quantization(dtype, kind))
            g.signed[tensor] = g.operator("QUANTIZE", [tensor], [output])[0]
    return g.signed[tensor]


def _unsigned(g: Graph, tensor: int, dtype: DType, kind: Quantization) -> int:
    """The unsigned twin of signed codes."""
    shape = g.tensors[tensor].shape
    if dtype is DType.UINT16:
        wide = g.operator("CAST", [tensor], [(DType.INT32, shape, None)])[0]
        offset = g.constant(np.array(_OFFSETS[dtype], np.int32))
        moved = g.operator("ADD", [wide, offset], [(DType.INT32, shape, None)])[0]
        unsigned = g.operator("CAST", [moved], [(dtype, shape, kind)])[0]
    else:
        unsigned = g.operator("QUANTIZE", [tensor], [(dtype, shape, kind)])[0]
    g.signed[unsigned] = tensor
    return unsigned


def _signed_quantization(dtype: DType, kind: Quantization) -> Quantization:
    return replace(kind, zero_points=(shifted(dtype, kind.zero_point),))


def quantized(g: Graph, value: OnnxValue, dtype: DType, kind: Quantization) -> OnnxValue:
    """The nearest codes of real numbers."""
    if value.constant is not None:
        value = g.value(g.laid(value))
    value = g.own(value)
    shape = g.tensors[value.tensor].shape
    tensor = g.operator("QUANTIZE", [value.tensor], [(SIGNED[dtype], shape, _signed_quantization(dtype, kind))])[0]
    if dtype in _OFFSETS:
        tensor = _unsigned(g, tensor, dtype, kind)
    return g.value(tensor, value.shape, value.order)


def dequantized_constant(value: OnnxValue, scale: Array, zero: Array | None) -> OnnxValue:
    """A constant of real numbers that remembers its integers. scale, zero: of shapes that broadcast to the value's."""
    assert value.constant is not None
    integers = value.constant.astype(np.int32)
    if zero is not None:
        integers = integers - zero.astype(np.int32)
    scales = np.broadcast_to(scale.astype(np.float32), integers.shape)
    real = constant((integers * scales).astype(np.float32))
    return real if value.dtype is DType.INT32 else replace(real, codes=Codes(value.dtype, integers, scales))


def maximum_of_codes(g: Graph, first: OnnxValue, second: OnnxValue) -> OnnxValue:
    """The greater of two values that are broadcast: of real numbers, where they are codes of one known scale.

    TFLite's MAXIMUM and MINIMUM of int8 need a scale, which is that of both operands and of the result.
    integer_operators.py computes them in codes.
    """
    return _extreme(g, Graph.maximum, first, second, 0)


def minimum_of_codes(g: Graph, first: OnnxValue, second: OnnxValue) -> OnnxValue:
    """The lesser of two values that are broadcast, as `maximum_of_codes`."""
    return _extreme(g, Graph.minimum, first, second, 1)


def _extreme(
    g: Graph, choose: Callable[..., OnnxValue], first: OnnxValue, second: OnnxValue, idle_limit: int
) -> OnnxValue:
    """idle_limit: which limit of the type, the least or the greatest integer, has no effect."""
    for value, bound in ((first, second), (second, first)):
        if _is_idle(value, bound, idle_limit):
            return value
    kind = _common_kind(g, first, second)
    if kind is not None:
        reals = [_real(g, value, kind) for value in (first, second)]
        if reals[0] is not None and reals[1] is not None:
            return quantized(g, choose(g, *reals), first.dtype, kind)
    return choose(g, first, second)


def _is_idle(value: OnnxValue, bound: OnnxValue, limit: int) -> bool:
    """Whether no integer of the value's type is beyond a constant bound, which needs no broadcasting either."""
    if bound.constant is None or value.dtype.is_float or value.constant is not None:
        return False
    fits = np.broadcast_shapes(value.shape, bound.shape) == value.shape
    return fits and bool(np.all(bound.constant == value.dtype.limits[limit]))


def _common_kind(g: Graph, *values: OnnxValue) -> Quantization | None:
    """The scale that all values have whose scale is known, if it is one, and one value is computed at run time."""
    if values[0].dtype not in SIGNED:
        return None
    kinds = {g.tensors[g.own(value).tensor].quantization for value in values if value.constant is None}
    return kinds.pop() if len(kinds) == 1 else None


def _real(g: Graph, value: OnnxValue, kind: Quantization) -> OnnxValue | None:
    return dequantized(g, value, kind) if value.constant is None else dequantized_codes(g, value, kind)
