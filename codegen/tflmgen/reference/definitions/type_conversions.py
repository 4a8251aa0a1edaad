"""QUANTIZE, DEQUANTIZE, CAST: between element types and quantisations (TFLite's quantize.h, dequantize.h, cast.cc)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.reference.definitions.fixed_point_numbers import quantized_multiplier, scaled, wrapped
from tflmgen.reference.operation import (
    Array,
    Evaluation,
    Operation,
    UnsupportedError,
    round_half_away,
    scale_of,
    zero_point_of,
)


def _per_channel(tensor: TensorType, rank: int) -> tuple[Array, Array]:
    """(scales, zero points) that broadcast over the tensor."""
    if tensor.quantization is None:
        raise UnsupportedError(f"{tensor.dtype.label} without quantisation")
    shape = [1] * rank
    count = len(tensor.quantization.scales)
    if count > 1:
        shape[tensor.quantization.axis] = count
    scales = np.array(tensor.quantization.scales, np.float64).reshape(shape if rank else ())
    return scales, np.array(tensor.quantization.zero_points, np.int64).reshape(shape if rank else ())


def dequantized(values: Array, tensor: TensorType) -> Array:
    """Real values of quantised elements, in float64."""
    if tensor.blocks is not None:
        scales = np.repeat(np.array(tensor.blocks.scales), tensor.blocks.size).reshape(values.shape)
        return np.asarray(values.astype(np.float64) * scales)
    scales, points = _per_channel(tensor, values.ndim)
    return np.asarray((values.astype(np.int64) - points) * scales)


def requantized_reals(reals: Array, output: TensorType, wide: bool) -> Array:
    """AffineQuantize: round(real / scale) + zero point; the quotient is a float32."""
    scale, zero_point = scale_of(output, "QUANTIZE"), zero_point_of(output)
    kind = np.dtype(np.float64 if wide else np.float32)
    with np.errstate(all="ignore"):
        quotient = reals.astype(kind) / np.array(scale, kind)
    rounded = np.nan_to_num(round_half_away(quotient).astype(np.float64), nan=-(2.0**31))
    low, high = output.dtype.limits
    sums = np.clip(rounded, -(2.0**31), 2.0**31 - 1) + zero_point
    # NaN is the least int32 on x86, and wraps to positive numbers below.
    sums = np.where(np.isnan(quotient), wrapped(-(2**31) + zero_point).astype(np.float64), sums)
    return np.asarray(sums.clip(low, high).astype(output.dtype.numpy))


def _quantize(op: Operation) -> Sequence[Array]:
    if op.dtype().is_float:
        return [requantized_reals(op.real(0), op.output, op.wide)]
    real = op.scale(0) / op.output_scale
    return [op.saturated(scaled(op.centred(0), *quantized_multiplier(real)) + op.output_zero_point)]


def _dequantize(op: Operation) -> Sequence[Array]:
    if op.dtype().is_float:
        return [op.rounded(op.real(0))]
    return [op.rounded(dequantized(op.array(0), op.type(0)))]


def _requantize(op: Operation) -> Sequence[Array]:
    """QUANTIZE of DEQUANTIZE."""
    return [requantized_reals(op.rounded(dequantized(op.array(0), op.type(0))), op.output, op.wide)]


def _cast(op: Operation) -> Sequence[Array]:
    source, kind = op.array(0), op.output.dtype
    if kind is DType.BOOL:
        return [source != 0]
    if kind.is_float:
        return [op.rounded(source) if kind is DType.FLOAT32 else source.astype(kind.numpy)]
    if source.dtype.kind == "f":
        return [_truncated(source, kind)]
    return [source.astype(kind.numpy)]


def _truncated(source: Array, kind: DType) -> Array:
    """Floats towards zero, saturated to the type; 0 where they are no number."""
    low, high = kind.limits
    values: Any = np.trunc(np.nan_to_num(source.astype(np.float64), nan=0, posinf=np.inf, neginf=-np.inf))
    inside = (values >= low) & (values < float(high) + 1 if kind.bits < 64 else values < float(high))
    result = np.where(inside, values, 0).astype(np.int64 if kind is not DType.UINT64 else np.uint64)
    result = np.where(values < low, low, result)
    return np.where(values > low, np.where(inside, result, high), result).astype(kind.numpy)


EVALUATIONS: Mapping[str, Evaluation] = {
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
    "REQUANTIZE": _requantize,
    "CAST": _cast,
}
