"""Along axes: sums, means, extremes, positions, running sums.

Sources: TFLite's reduce.h, TFLite Micro's reduce_common.cc (multipliers), arg_min_max.h, cumsum.h, topk_v2.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.reference.definitions.elementwise_binary import is_quantized
from tflmgen.reference.definitions.fixed_point_numbers import quantized_multiplier, scaled, scaled_by, wrapped
from tflmgen.reference.operation import Array, Evaluation, Operation, RunTimeError


def axes_of(op: Operation) -> tuple[int, ...]:
    """The axes that input 1 names, ascending and from 0 on, each once; none for a scalar."""
    rank = op.array(0).ndim
    return tuple(sorted({int(a) % rank for a in op.array(1).reshape(-1)})) if rank else ()


def _keeps(op: Operation) -> bool:
    return bool(op.options.get("keep_dims", False))


def _extreme(function: Callable[..., Any]) -> Evaluation:
    def evaluate(op: Operation) -> Sequence[Array]:
        return [np.asarray(function(op.array(0), axis=axes_of(op), keepdims=_keeps(op)))]

    return evaluate


def _sum(op: Operation) -> Sequence[Array]:
    axes = axes_of(op)
    if op.gives_floats:
        return [op.rounded(op.real(0).sum(axis=axes, keepdims=_keeps(op)))]
    if not is_quantized(op):
        return [op.integers(0).sum(axis=axes, keepdims=_keeps(op)).astype(op.output.dtype.numpy)]
    count = int(np.prod([op.array(0).shape[a] for a in axes], dtype=np.int64))
    total = op.integers(0).sum(axis=axes, keepdims=_keeps(op)) - op.zero_point(0) * count
    return [_quantized_sum(op, total, op.scale(0))]


def _quantized_sum(op: Operation, total: Array, scale: float) -> Array:
    """Sums of elements of a scale, less their zero points."""
    real = float(np.float32(scale) / np.float32(op.output_scale))
    return op.saturated(scaled_by(wrapped(total), real) + op.output_zero_point)


def _wide_sum(op: Operation) -> Sequence[Array]:
    """Integers as they are, in 32 bits: a Module has this operator, and no file."""
    return [op.integers(0).sum(axis=axes_of(op), keepdims=_keeps(op)).astype(np.int32)]


def _of_sums(op: Operation) -> Sequence[Array]:
    """A MEAN or SUM of which the sums are given: a Module has this operator, and no file."""
    scale, count = float(op.options["input_scale"]), int(op.options["count"])
    total = op.integers(0) - int(op.options["input_zero_point"]) * count
    is_mean = bool(op.options["gives_mean"])
    return [_quantized_mean(op, total, count, scale) if is_mean else _quantized_sum(op, total, scale)]


def _mean(op: Operation) -> Sequence[Array]:
    axes = axes_of(op)
    count = int(np.prod([op.array(0).shape[a] for a in axes], dtype=np.int64))
    return mean_of(op, axes, np.int64(count), count)


def mean_of(op: Operation, axes: tuple[int, ...], count: Any, elements: int) -> Sequence[Array]:
    """Sums along the axes by `count`; `elements` lie there, of which those beyond the count are zeros."""
    if op.gives_floats:
        return [op.rounded(op.real(0).sum(axis=axes, keepdims=_keeps(op)) / count)]
    total = op.integers(0).sum(axis=axes, keepdims=_keeps(op))
    if not is_quantized(op):
        sign = np.where(total < 0, -1, 1)
        return [(sign * (np.abs(total) // count)).astype(op.output.dtype.numpy)]
    return [_quantized_mean(op, total - op.zero_point(0) * elements, int(count), op.scale(0))]


def _quantized_mean(op: Operation, total: Array, count: int, scale: float) -> Array:
    """Sums of elements of a scale, less their zero points, by the count of them."""
    multiplier, shift = quantized_multiplier(float(np.float32(scale) / np.float32(op.output_scale)))
    # The division by the count goes into the multiplier, with as many bits as it has room for.
    room = _shift_for_count(count, shift)
    multiplier = (multiplier << room) // count
    return op.saturated(scaled(wrapped(total), multiplier, shift - room) + op.output_zero_point)


def _shift_for_count(count: int, shift: int) -> int:
    """63 less the leading zeros of the count, at most 32 and at most what keeps the shift above -32."""
    return min(count.bit_length() - 1 if count else 0, 32, 31 + shift)


def _positions(function: Callable[..., Any]) -> Evaluation:
    """The first of equals."""

    def evaluate(op: Operation) -> Sequence[Array]:
        axis = int(op.array(1).reshape(-1)[0])
        return [np.asarray(function(op.array(0), axis=axis)).astype(op.output.dtype.numpy)]

    return evaluate


def _running_sum(op: Operation) -> Sequence[Array]:
    axis = int(op.array(1).reshape(-1)[0])
    values = op.real(0) if op.gives_floats else op.centred(0) if is_quantized(op) else op.integers(0)
    if op.options.get("reverse"):
        values = np.flip(values, axis)
    sums = np.cumsum(values, axis=axis)
    if op.options.get("exclusive"):
        sums = sums - values
    if op.options.get("reverse"):
        sums = np.flip(sums, axis)
    if op.gives_floats:
        return [op.rounded(sums)]
    if not is_quantized(op):
        return [sums.astype(op.output.dtype.numpy)]
    # TFLite Micro's sums begin with minus the zero point.
    return [_scaled_sums(op, sums - op.zero_point(0))]


def _scaled_sums(op: Operation, sums: Array) -> Array:
    """CUMSUM of int8: sums so far like an operand of an ADD."""
    twice = 2 * op.scale(0)
    shifted = scaled_by(wrapped(sums << 20), op.scale(0) / twice)
    return op.saturated(scaled_by(shifted, twice / ((1 << 20) * op.output_scale)) + op.output_zero_point)


def _top_k(op: Operation) -> Sequence[Array]:
    """The greatest along the last axis, the first of equals first."""
    values, count = op.array(0), int(op.array(1).reshape(-1)[0])
    keys = -values.astype(np.float64) if values.dtype.kind == "f" else -values.astype(object)
    order = np.argsort(keys, axis=-1, kind="stable")[..., :count]
    return [np.take_along_axis(values, order, axis=-1), order.astype(op.output_types[1].dtype.numpy)]


def _bool_reduction(function: Callable[..., Any]) -> Evaluation:
    return lambda op: [np.asarray(function(op.array(0), axis=axes_of(op), keepdims=_keeps(op)))]


def _product(op: Operation) -> Sequence[Array]:
    if op.gives_floats:
        return [op.rounded(op.real(0).prod(axis=axes_of(op), keepdims=_keeps(op)))]
    return [op.integers(0).prod(axis=axes_of(op), keepdims=_keeps(op)).astype(op.output.dtype.numpy)]


MOST_SUMS = 1 << 26
"""Most elements of segments: ids of a run may be any number."""


def _segments(name: str, function: np.ufunc) -> Evaluation:
    """Rows combined by their segment; SEGMENT_SUM has as many segments as its last index says."""

    def evaluate(op: Operation) -> Sequence[Array]:
        values, indices = op.array(0), op.integers(1)
        blocks = values.reshape(indices.size, *values.shape[indices.ndim :])
        count = int(op.array(2).reshape(-1)[0]) if op.has(2) else int(indices.max(initial=-1)) + 1
        if not op.has(2) and np.any(np.diff(indices.reshape(-1), prepend=0) < 0):
            raise RunTimeError("segment ids descend, or are negative")
        if count * blocks[:1].size > MOST_SUMS:
            raise RunTimeError("there are too many segments")
        limits = np.finfo(np.float32) if op.gives_floats else np.iinfo(np.int32)
        initial = {"SUM": 0, "PROD": 1, "MAX": limits.min, "MIN": limits.max}[name]
        wide = np.float64 if op.gives_floats else np.int64
        segments = np.full((count, *blocks.shape[1:]), initial, wide)
        for index, block in zip(indices.reshape(-1).tolist(), blocks.astype(wide), strict=True):
            if 0 <= index < count:
                segments[index] = function(segments[index], block)
                if not op.gives_floats:
                    segments[index] = wrapped(segments[index])
        return [op.rounded(segments) if op.gives_floats else segments.astype(np.int32)]

    return evaluate


EVALUATIONS: Mapping[str, Evaluation] = {
    "SUM": _sum,
    "MEAN": _mean,
    "WIDE_SUM": _wide_sum,
    "REQUANTIZED_SUMS": _of_sums,
    "REDUCE_MAX": _extreme(np.max),
    "REDUCE_MIN": _extreme(np.min),
    "REDUCE_PROD": _product,
    "REDUCE_ANY": _bool_reduction(np.any),
    "REDUCE_ALL": _bool_reduction(np.all),
    "ARG_MAX": _positions(np.argmax),
    "ARG_MIN": _positions(np.argmin),
    "CUMSUM": _running_sum,
    "TOPK_V2": _top_k,
    "SEGMENT_SUM": _segments("SUM", np.add),
    "UNSORTED_SEGMENT_SUM": _segments("SUM", np.add),
    "UNSORTED_SEGMENT_PROD": _segments("PROD", np.multiply),
    "UNSORTED_SEGMENT_MAX": _segments("MAX", np.maximum),
    "UNSORTED_SEGMENT_MIN": _segments("MIN", np.minimum),
}
