"""Operators of a Module on tensors whose dimensions are known at run time only (no file has them).

A tensor has room for its largest shape; how much of a dimension is in use is a number beside it. What lies beyond is
of no account: it is zeros here. Contracts: kernels/operators/dynamic_*.py, import_rows.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tflmgen.reference.definitions.axis_reductions import axes_of, mean_of
from tflmgen.reference.definitions.image_resizing import resized_linearly, resized_to_nearest
from tflmgen.reference.definitions.probability_rows import log_softmax, softmax
from tflmgen.reference.definitions.window_geometry import SAME
from tflmgen.reference.definitions.window_pools import EVALUATIONS as POOLS
from tflmgen.reference.operation import Array, BoundError, Evaluation, Operation, RunTimeError


def _number(op: Operation, index: int) -> int:
    return int(op.array(index).reshape(-1)[0])


def _scalar(value: int) -> Array:
    return np.array(value, np.int32)


def _room(op: Operation) -> Array:
    kind = op.float_type if op.array(0).dtype.kind == "f" else op.array(0).dtype
    return np.zeros(op.output.max_shape, kind)


def _rows(axis: int, start: int, stop: int) -> tuple[slice, ...]:
    return (*(slice(None) for _ in range(axis)), slice(start, stop))


def _require(holds: bool, op: Operation) -> None:
    if not holds:
        raise RunTimeError(op.name)


def _require_room(fits: bool, op: Operation) -> None:
    if not fits:
        raise BoundError(op.name)


def _append(op: Operation) -> Sequence[Array]:
    axis, before, added = op.options["axis"], _number(op, 1), _number(op, 3)
    result = _room(op)
    _require_room(added <= result.shape[axis] - before, op)
    result[_rows(axis, 0, before)] = op.array(0)[_rows(axis, 0, before)]
    result[_rows(axis, before, before + added)] = op.array(2)[_rows(axis, 0, added)]
    return [result, _scalar(before + added)]


def _fit(op: Operation) -> Sequence[Array]:
    axis, result = op.options["axis"], _room(op)
    _require_room(_number(op, 1) <= result.shape[axis], op)
    moved = _rows(axis, 0, min(result.shape[axis], op.array(0).shape[axis]))
    result[moved] = op.array(0)[moved]
    return [result]


def _fill(op: Operation) -> Sequence[Array]:
    result = op.array(0).copy()
    result[_rows(op.options["axis"], _number(op, 1), result.shape[op.options["axis"]])] = op.options["number"]
    return [result]


def _window(op: Operation) -> Sequence[Array]:
    axis, rows, result = op.options["axis"], _number(op, 1), _room(op)
    first, stop, _ = slice(op.options["begin_mask"], op.options["end_mask"]).indices(rows)
    count = min(max(0, stop - first), result.shape[axis])
    _require(not op.options["exact"] or count == result.shape[axis], op)
    result[_rows(axis, 0, count)] = op.array(0)[_rows(axis, first, first + count)]
    return [result, _scalar(count)]


def _cut(op: Operation) -> Sequence[Array]:
    options, rows, result = op.options, _number(op, 1), _room(op)
    axis, step, begin, end = options["axis"], options["step"], _number(op, 2), _number(op, 3)
    if options["sized"]:
        _require(0 <= begin <= rows and -1 <= end <= rows - begin, op)
        places = range(begin, rows if end < 0 else begin + end, step)
    else:
        # Beyond the ends a bound is clamped, and a begin beyond them leaves nothing.
        rows_taken = slice(None if options["from_first"] else begin, None if options["to_last"] else end, step)
        places = range(rows)[rows_taken]
    _require_room(len(places) <= result.shape[axis], op)
    _require(not options["exact"] or len(places) == result.shape[axis], op)
    result[_rows(axis, 0, len(places))] = np.take(op.array(0), list(places), axis=axis)
    return [result, _scalar(len(places))]


def _same_rows(op: Operation) -> Sequence[Array]:
    _require(_number(op, 0) == _number(op, 1), op)
    return [_scalar(_number(op, 0))]


def _common(op: Operation) -> Sequence[Array]:
    first, second = _number(op, 0), _number(op, 1)
    common = second if first == 1 else first
    _require(second in (common, 1), op)
    return [_scalar(common)]


def _limit(op: Operation) -> Sequence[Array]:
    holds = op.options["least"] <= _number(op, 0) <= op.options["greatest"]
    (_require if op.options["wrong_argument"] else _require_room)(holds, op)
    return [_scalar(_number(op, 0))]


def _new_shape(op: Operation) -> Sequence[Array]:
    elements, wanted = int(np.prod(op.integers(0))), [int(d) for d in op.array(1).reshape(-1)]
    _require(min(wanted, default=0) >= -1 and wanted.count(-1) <= 1, op)
    known = int(np.prod([d for d in wanted if d >= 0], dtype=np.int64))
    if -1 in wanted:
        _require(elements % known == 0 if known else elements == 0, op)
        wanted[wanted.index(-1)] = elements // known if known else 0
    else:
        _require(known == elements, op)
    return [np.array(wanted, np.int32)]


def _in_use(shape: Array, room: tuple[int, ...], axes: int) -> tuple[slice, ...]:
    dims = shape.reshape(-1)[:axes].tolist()
    return tuple(slice(0, min(d, capacity)) for d, capacity in zip(dims, room, strict=False))


def _dense(op: Operation) -> Sequence[Array]:
    values, result = op.array(0), _room(op).reshape(-1)
    packed = values[_in_use(op.array(1), values.shape, op.options["count"])].reshape(-1)
    result[: packed.size] = packed
    return [result.reshape(op.output.max_shape)]


def _spread(op: Operation) -> Sequence[Array]:
    result = _room(op)
    place = _in_use(op.array(1), result.shape, op.options["count"])
    used = result[place]
    result[place] = op.array(0).reshape(-1)[: used.size].reshape(used.shape)
    return [result]


def _repeat(op: Operation) -> Sequence[Array]:
    axis, rows, wanted, result = op.options["axis"], _number(op, 1), _number(op, 2), _room(op)
    _require(wanted >= 0, op)
    _require_room(wanted <= result.shape[axis], op)
    _require(not op.options["broadcast"] or rows in (1, wanted), op)
    if wanted:
        places = np.arange(wanted) % max(rows, 1)
        result[_rows(axis, 0, wanted)] = np.take(op.array(0), places, axis=axis)
    return [result]


def _windows(op: Operation) -> int:
    rows, stride, reach = _number(op, 0), int(op.options["stride"]), int(op.options["reach"])
    if op.options["padding"] == SAME:
        return -(-rows // stride)
    return 0 if rows < reach else (rows - reach) // stride + 1


def _window_count(op: Operation) -> Sequence[Array]:
    return [_scalar(_windows(op))]


def _window_padding(op: Operation) -> Sequence[Array]:
    missing = (_windows(op) - 1) * op.options["stride"] + op.options["reach"] - _number(op, 0)
    return [_scalar(max(0, missing) // 2)]


def _place(op: Operation) -> Sequence[Array]:
    axis, rows, begin = op.options["axis"], _number(op, 1), _number(op, 2)
    result = _room(op)
    result[...] = op.options["number"]
    _require(0 <= begin <= result.shape[axis] - rows, op)
    result[_rows(axis, begin, begin + rows)] = op.array(0)[_rows(axis, 0, rows)]
    return [result]


def _row_store(op: Operation) -> Sequence[Array]:
    """An index out of range stores nothing."""
    result, index, row = op.array(0).copy(), _number(op, 1), op.array(2)
    differs = [axis for axis in range(result.ndim) if row.ndim == result.ndim and row.shape[axis] != result.shape[axis]]
    if len(differs) == 1:
        rows, row = np.moveaxis(result, differs[0], 0), np.moveaxis(row, differs[0], 0)[0]
    else:
        rows, row = result.reshape(-1, row.size), row.reshape(-1)
    if 0 <= index < len(rows):
        rows[index] = row
    return [result]


def _rows_in_use(function: Evaluation) -> Evaluation:
    """An evaluation that applies `function` to the elements in use along the last dimension; the others are 0."""

    def evaluate(op: Operation) -> Sequence[Array]:
        depth, result = _number(op, 1), np.zeros(op.array(0).shape, op.output.dtype.numpy)
        if depth > 0:
            inner = replace(op, inputs=(op.array(0)[..., :depth],))
            result[..., :depth] = function(inner)[0]
        return [result]

    return evaluate


def _mean_in_use(op: Operation) -> Sequence[Array]:
    axes = axes_of(op)
    elements = int(np.prod([op.array(0).shape[a] for a in axes], dtype=np.int64))
    return mean_of(op, axes, _number(op, 2), elements)


def _resize(function: Callable[[Operation, Array, int, int], Array]) -> Evaluation:
    """(image, height, width, new height, new width)."""

    def evaluate(op: Operation) -> Sequence[Array]:
        height, width, new_height, new_width = (_number(op, i) for i in range(1, 5))
        result = _room(op)
        if height and width and new_height and new_width:
            result[:, :new_height, :new_width] = function(op, op.array(0)[:, :height, :width], new_height, new_width)
        return [result]

    return evaluate


def _pool(name: str) -> Evaluation:
    """(dense image, batches, height, width) -> dense output."""

    def evaluate(op: Operation) -> Sequence[Array]:
        shape = (*(_number(op, i) for i in (1, 2, 3)), op.array(0).shape[3])
        size, result = int(np.prod(shape)), _room(op).reshape(-1)
        if size:
            image = op.array(0).reshape(-1)[:size].reshape(shape)
            pooled = POOLS[name](replace(op, inputs=(image,)))[0].reshape(-1)
            result[: pooled.size] = pooled
        return [result.reshape(op.output.max_shape)]

    return evaluate


EVALUATIONS: Mapping[str, Evaluation] = {
    "APPEND_ROWS": _append,
    "FIT_ROWS": _fit,
    "FILL_ROWS": _fill,
    "WINDOW_ROWS": _window,
    "CUT_ROWS": _cut,
    "SAME_ROWS": _same_rows,
    "COMMON_ROWS": _common,
    "LIMIT_ROWS": _limit,
    "NEW_SHAPE": _new_shape,
    "DENSE": _dense,
    "SPREAD": _spread,
    "REPEAT_ROWS": _repeat,
    "WINDOW_COUNT": _window_count,
    "WINDOW_PADDING": _window_padding,
    "PLACE_ROWS": _place,
    "ROW_STORE": _row_store,
    "SOFTMAX_IN_USE": _rows_in_use(softmax),
    "LOG_SOFTMAX_IN_USE": _rows_in_use(log_softmax),
    "MEAN_IN_USE": _mean_in_use,
    "RESIZE_NEAREST_NEIGHBOR_IN_USE": _resize(resized_to_nearest),
    "RESIZE_BILINEAR_IN_USE": _resize(resized_linearly),
    "AVERAGE_POOL_IN_USE": _pool("AVERAGE_POOL_2D"),
    "L2_POOL_IN_USE": _pool("L2_POOL_2D"),
}
