"""Pools, REDUCE_WINDOW and STABLEHLO_SCATTER: TFLite's reference_ops/pooling.h and reference_integer_ops/pooling.h."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from tflmgen.reference.definitions.window_geometry import WindowAxis, image_axes, padded, tap
from tflmgen.reference.operation import Array, Evaluation, Operation

ZEROS = "padding_counts"
"""Further option of a Module's pools: padding is zeros that count like other pixels."""

ROUNDS_UP = "rounds_halves_up"
"""Further option of AVERAGE_POOL_2D: its int8 elements are uint8 codes less 128, whose means are rounded half up."""


def _axes(op: Operation) -> tuple[tuple[WindowAxis, WindowAxis], tuple[int, int]]:
    taps = (int(op.options["filter_height"]), int(op.options["filter_width"]))
    return image_axes(op.options, op.array(0).shape, taps), taps


def _sums(op: Operation, image: Array) -> Array:
    axes, taps = _axes(op)
    around = padded(image, axes)
    total = np.zeros((image.shape[0], axes[0].count, axes[1].count, image.shape[3]), image.dtype)
    for places in product(*map(range, taps)):
        total = total + tap(around, axes, places)
    return total


def _counts(op: Operation) -> Array:
    """[height, width, 1]: how many pixels each mean is of."""
    axes, taps = _axes(op)
    if op.options.get(ZEROS):
        return np.full((axes[0].count, axes[1].count, 1), taps[0] * taps[1])
    return (axes[0].taps_inside[:, None] * axes[1].taps_inside[None, :])[..., None]


def _average(op: Operation) -> Sequence[Array]:
    counts = np.maximum(_counts(op), 1)
    if op.gives_floats:
        return [op.clamped_real(_sums(op, op.real(0)) / counts)]
    if op.options.get(ROUNDS_UP):
        codes = _sums(op, op.integers(0)) + 128 * counts
        return [op.clamped((codes + counts // 2) // counts - 128)]
    zero_point = op.zero_point(0) if op.options.get(ZEROS) else 0
    sums = _sums(op, op.integers(0) - zero_point) + zero_point * counts
    return [_rounded_means(op, sums, counts)]


def _rounded_means(op: Operation, sums: Array, counts: Array) -> Array:
    half = counts // 2
    return op.clamped(np.where(sums > 0, (sums + half) // counts, -((half - sums) // counts)))


def _of_sums(op: Operation) -> Sequence[Array]:
    """An AVERAGE_POOL_2D of which the sums are given: a Module has this operator, and no file."""
    return [_rounded_means(op, op.integers(0), np.asarray(op.options["count"]))]


def _greatest(op: Operation) -> Sequence[Array]:
    axes, taps = _axes(op)
    image = op.real(0) if op.gives_floats else op.integers(0)
    lowest = -np.inf if op.gives_floats else op.output.dtype.limits[0]
    if op.options.get(ZEROS):
        lowest = 0.0 if op.gives_floats else op.zero_point(0)
    around = padded(image, axes, lowest)
    result = tap(around, axes, (0, 0))
    for places in product(*map(range, taps)):
        result = np.maximum(result, tap(around, axes, places))
    return [op.clamped_real(result) if op.gives_floats else op.clamped(result)]


def _root_mean_square(op: Operation) -> Sequence[Array]:
    return [op.clamped_real(np.sqrt(_sums(op, op.real(0) ** 2) / np.maximum(_counts(op), 1)))]


_JOINS: Mapping[int, Callable[[Array, Array], Array]] = {
    1: np.add,
    2: np.multiply,
    3: lambda a, b: np.where(a <= b, a, b),
    4: lambda a, b: np.where(a >= b, a, b),
    5: np.logical_and,
    6: np.logical_or,
}
"""The functions of the schema's ReduceWindowFunction; of two that are not ordered the second comes out."""


def _joined(op: Operation, a: Array, b: Array) -> Array:
    with np.errstate(all="ignore"):
        return _JOINS[int(op.options["reduce_function"])](a, b).astype(a.dtype)


def _joined_windows(op: Operation) -> Sequence[Array]:
    """REDUCE_WINDOW: (input, initial value, window, strides, dilations), windows in the order of their elements."""
    source, window, steps, dilations = op.array(0), *(op.integers(i).reshape(-1).tolist() for i in (2, 3, 4))
    sizes = [
        max((n - (k - 1) * d - 1) // s + 1, 0)
        for n, k, s, d in zip(source.shape, window, steps, dilations, strict=True)
    ]
    result = np.full(sizes, op.array(1).reshape(-1)[0], source.dtype)
    for place in np.ndindex(*window):
        begins = [k * d for k, d in zip(place, dilations, strict=True)]
        cuts = tuple(slice(b, b + n * s, s) for b, n, s in zip(begins, sizes, steps, strict=True))
        result = _joined(op, result, source[cuts][tuple(map(slice, sizes))])
    return [result]


def _scattered(op: Operation) -> Sequence[Array]:
    """STABLEHLO_SCATTER, update after update; those without a place in the input are left out."""
    result, updates, options = op.array(0).copy(), op.array(2), op.options
    axis, indices = int(options["index_vector_dim"]), op.integers(1)
    vectors = indices[..., None] if axis == indices.ndim else np.moveaxis(indices, axis, -1)
    inserted = options["inserted_window_dims"]
    windows = [d for d in range(result.ndim) if d not in inserted]
    for at in np.ndindex(*updates.shape):
        place = [0] * result.ndim
        point = vectors[tuple(k for i, k in enumerate(at) if i not in options["update_window_dims"])]
        for d, start in zip(options["scatter_dims_to_operand_dims"], point.tolist(), strict=True):
            place[d] = start
        for d, k in zip(windows, options["update_window_dims"], strict=True):
            place[d] += at[k]
        if all(0 <= p < n for p, n in zip(place, result.shape, strict=True)):
            # std::max and std::min keep what was there where the two are not ordered.
            update, before = updates[at], result[tuple(place)]
            joined = _joined(op, update, before) if options["reduce_function"] else update
            result[tuple(place)] = joined
    return [result]


EVALUATIONS: Mapping[str, Evaluation] = {
    "AVERAGE_POOL_2D": _average,
    "AVERAGED_SUMS": _of_sums,
    "MAX_POOL_2D": _greatest,
    "L2_POOL_2D": _root_mean_square,
    "REDUCE_WINDOW": _joined_windows,
    "STABLEHLO_SCATTER": _scattered,
}
