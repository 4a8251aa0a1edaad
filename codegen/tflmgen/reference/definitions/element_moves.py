"""Operators that move elements: shapes, pieces, permutations, padding, gathering (TFLite's reference_ops)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.ir import DType
from tflmgen.reference.operation import Array, BoundError, Evaluation, Operation, RunTimeError, zero_point_of


def _reshape(op: Operation) -> Sequence[Array]:
    values = op.array(0)
    shape: Sequence[int] = op.output.max_shape
    if op.output.is_static and int(np.prod(shape, dtype=np.int64)) == values.size:
        return [values.reshape(shape)]
    wanted = op.array(1).reshape(-1).tolist() if op.has(1) else list(op.options.get("new_shape") or ())
    if not wanted or wanted.count(-1) > 1:
        raise RunTimeError(f"RESHAPE of {values.shape} to {wanted}")
    known = int(np.prod([d for d in wanted if d != -1], dtype=np.int64))
    if values.size % known if known and -1 in wanted else values.size != known:
        raise RunTimeError(f"RESHAPE of {values.shape} to {wanted}")
    return [values.reshape(wanted)]


def _squeeze(op: Operation) -> Sequence[Array]:
    values = op.array(0)
    axes = [int(a) % values.ndim for a in op.options.get("squeeze_dims") or ()]
    axes = axes or [a for a, size in enumerate(values.shape) if size == 1]
    return [values.reshape([size for a, size in enumerate(values.shape) if a not in axes])]


def _expand_dims(op: Operation) -> Sequence[Array]:
    return [np.expand_dims(op.array(0), int(op.array(1).reshape(-1)[0]))]


def _concatenation(op: Operation) -> Sequence[Array]:
    parts = [op.array(i) for i in range(len(op.inputs))]
    return [np.concatenate(parts, axis=int(op.options.get("axis", 0)))]


def _pack(op: Operation) -> Sequence[Array]:
    return [np.stack([op.array(i) for i in range(len(op.inputs))], axis=int(op.options.get("axis", 0)))]


def _unpack(op: Operation) -> Sequence[Array]:
    values, axis = op.array(0), int(op.options.get("axis", 0))
    return [np.take(values, i, axis=axis) for i in range(len(op.output_types))]


def _split(op: Operation) -> Sequence[Array]:
    return np.split(op.array(1), len(op.output_types), axis=int(op.array(0).reshape(-1)[0]))


def _split_v(op: Operation) -> Sequence[Array]:
    values, axis = op.array(0), int(op.array(2).reshape(-1)[0])
    sizes = op.integers(1).reshape(-1)
    rest = values.shape[axis] - int(sizes[sizes >= 0].sum())
    sizes = np.where(sizes < 0, rest, sizes)
    return np.split(values, np.cumsum(sizes)[:-1], axis=axis)


def _slice(op: Operation) -> Sequence[Array]:
    values, begins, sizes = op.array(0), op.array(1).reshape(-1).tolist(), op.array(2).reshape(-1).tolist()
    cuts = []
    for extent, begin, size in zip(values.shape, begins, sizes, strict=True):
        end = extent if size == -1 else begin + size
        if not 0 <= begin <= end <= extent:
            raise RunTimeError(f"SLICE of {values.shape} from {begins} by {sizes}")
        cuts.append(slice(begin, end))
    return [values[tuple(cuts)]]


def _strided_slice(op: Operation) -> Sequence[Array]:
    """Each bound has a bit in the masks: begin, end (open), ellipsis, new axis, shrink axis (one element)."""
    values = op.array(0)
    bounds = zip(*(op.array(i).reshape(-1).tolist() for i in (1, 2, 3)), strict=True)
    masks = {name: int(op.options.get(f"{name}_mask", 0) or 0) for name in _MASKS}
    entries = list(bounds)
    added = bin(masks["new_axis"] & ((1 << len(entries)) - 1)).count("1")
    index: list[Any] = []
    axis = 0
    for i, (begin, end, step) in enumerate(entries):
        bit = 1 << i
        if masks["ellipsis"] & bit:
            skipped = values.ndim - (len(entries) - added - 1)
            index += [slice(None)] * skipped
            axis += skipped
        elif masks["new_axis"] & bit:
            index.append(None)
        else:
            index.append(_cut(values.shape[axis], begin, end, step, masks, bit, bool(op.options.get("offset"))))
            axis += 1
    return [values[tuple(index)]]


_MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")


def _cut(extent: int, begin: int, end: int, step: int, masks: Mapping[str, int], bit: int, offset: bool) -> Any:
    if masks["shrink_axis"] & bit:
        if not -extent <= begin < extent:
            raise RunTimeError(f"STRIDED_SLICE at {begin} of {extent}")
        return begin % extent
    if offset and not masks["end"] & bit:
        end += begin
    first = None if masks["begin"] & bit else begin
    last = None if masks["end"] & bit else end
    if first is not None and step < 0 and first < -extent:
        return slice(0, 0)
    return slice(first, last, step)


def _pad(op: Operation) -> Sequence[Array]:
    values, around = op.array(0), op.array(1).reshape(-1, 2).tolist()
    if op.has(2):
        fill = op.array(2).reshape(-1)[0]
    else:
        fill = np.array(zero_point_of(op.output) if op.output.dtype is not DType.BOOL else 0)
    return [np.pad(values, around, constant_values=fill.astype(values.dtype))]


def _mirror_pad(op: Operation) -> Sequence[Array]:
    around, repeat = op.array(1).reshape(-1, 2).tolist(), int(op.options.get("mode", 0))
    return [np.pad(op.array(0), around, mode="symmetric" if repeat else "reflect")]


def _transpose(op: Operation) -> Sequence[Array]:
    return [np.transpose(op.array(0), [int(a) for a in op.array(1).reshape(-1)])]


def _reverse(op: Operation) -> Sequence[Array]:
    return [np.flip(op.array(0), tuple(int(a) for a in op.array(1).reshape(-1)))]


def _gather(op: Operation) -> Sequence[Array]:
    values, indices = op.array(0), op.integers(1)
    axis, batch_dims = int(op.options.get("axis", 0)), int(op.options.get("batch_dims", 0) or 0)
    axis, batch_dims = axis % max(1, values.ndim), batch_dims + (indices.ndim if batch_dims < 0 else 0)
    _check_indices(indices, values.shape[axis])
    if not batch_dims:
        return [np.take(values, indices, axis=axis)]
    shape = values.shape[:batch_dims]
    flat, rows = values.reshape(-1, *values.shape[batch_dims:]), indices.reshape(-1, *indices.shape[batch_dims:])
    parts = [np.take(part, row, axis=axis - batch_dims) for part, row in zip(flat, rows, strict=True)]
    return [np.stack(parts).reshape(*shape, *parts[0].shape)]


def _check_indices(indices: Array, extent: int) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= extent):
        raise RunTimeError(f"an index from {indices.min()} to {indices.max()} of {extent} elements")


def _gather_nd(op: Operation) -> Sequence[Array]:
    values, indices = op.array(0), op.integers(1)
    for place in range(indices.shape[-1]):
        _check_indices(indices[..., place], values.shape[place])
    if not indices.shape[-1]:
        return [np.broadcast_to(values, (*indices.shape[:-1], *values.shape))]
    return [values[tuple(np.moveaxis(indices, -1, 0))]]


def _scatter_nd(op: Operation) -> Sequence[Array]:
    """Updates that meet are added up; those of points that are all -1, which is how rows not in use come, are none."""
    indices, updates, shape = op.integers(0), op.array(1), tuple(int(d) for d in op.array(2))
    if indices.shape[-1]:
        in_use = (indices != -1).any(-1)
        indices, updates = indices[in_use], updates[in_use]
    for place in range(indices.shape[-1]):
        _check_indices(indices[..., place], shape[place])
    result = np.zeros(shape, updates.dtype)
    where = tuple(np.moveaxis(indices, -1, 0))
    if updates.dtype == bool:
        np.logical_or.at(result, where, updates)
    else:
        np.add.at(result, where, updates)
    return [result]


def _one_hot(op: Operation) -> Sequence[Array]:
    indices, depth = op.integers(0), int(op.array(1).reshape(-1)[0])
    on, off = op.array(2).reshape(-1)[0], op.array(3).reshape(-1)[0]
    axis = int(op.options.get("axis", -1))
    hot = np.expand_dims(indices, axis)
    places = [1] * hot.ndim
    places[axis] = depth
    return [np.where(hot == np.arange(depth).reshape(places), on, off).astype(op.output.dtype.numpy)]


def _tile(op: Operation) -> Sequence[Array]:
    return [np.tile(op.array(0), [int(m) for m in op.array(1).reshape(-1)])]


def _broadcast_to(op: Operation) -> Sequence[Array]:
    return [np.broadcast_to(op.array(0), [int(d) for d in op.array(1).reshape(-1)])]


def _broadcast_args(op: Operation) -> Sequence[Array]:
    shapes = (tuple(int(d) for d in op.array(i)) for i in (0, 1))
    return [np.array(np.broadcast_shapes(*shapes), op.output.dtype.numpy)]


def _fill(op: Operation) -> Sequence[Array]:
    return [np.full([int(d) for d in op.array(0).reshape(-1)], op.array(1).reshape(-1)[0])]


MOST_NUMBERS = 1 << 22
"""Numbers of a RANGE that is evaluated: a limit known at run time may be any, and no microcontroller has so much."""


def _range(op: Operation) -> Sequence[Array]:
    start, limit, step = (op.array(i).reshape(-1)[0] for i in range(3))
    if abs(float(limit) - float(start)) > MOST_NUMBERS * abs(float(step)):
        raise BoundError("RANGE")
    if op.gives_floats:
        count = max(0, int(np.ceil(np.abs((float(limit) - float(start)) / float(step)))))
        return [(start + np.arange(count, dtype=np.float32) * step).astype(op.output.dtype.numpy)]
    return [np.arange(int(start), int(limit), int(step)).astype(op.output.dtype.numpy)]


def _update_slice(op: Operation) -> Sequence[Array]:
    """Starts are moved so that the update lies inside."""
    result, update = op.array(0).copy(), op.array(1)
    pairs = zip(op.integers(2).reshape(-1).tolist(), result.shape, update.shape, strict=True)
    starts = [max(0, min(start, extent - size)) for start, extent, size in pairs]
    result[tuple(slice(s, s + n) for s, n in zip(starts, update.shape, strict=True))] = update
    return [result]


def _depth_to_space(op: Operation) -> Sequence[Array]:
    block, values = int(op.options["block_size"]), op.array(0)
    batches, height, width, depth = values.shape
    cut_up = values.reshape(batches, height, width, block, block, depth // block**2).transpose(0, 1, 3, 2, 4, 5)
    return [cut_up.reshape(batches, height * block, width * block, -1)]


def _space_to_depth(op: Operation) -> Sequence[Array]:
    block, values = int(op.options["block_size"]), op.array(0)
    batches, height, width, depth = values.shape
    cut_up = values.reshape(batches, height // block, block, width // block, block, depth).transpose(0, 1, 3, 2, 4, 5)
    return [cut_up.reshape(batches, height // block, width // block, -1)]


def _space_to_batch(op: Operation) -> Sequence[Array]:
    values, blocks = op.array(0), [int(b) for b in op.array(1).reshape(-1)]
    around = [(0, 0), *op.array(2).reshape(-1, 2).tolist()]
    around += [(0, 0)] * (values.ndim - len(around))
    padded = np.pad(values, around, constant_values=zero_point_of(op.output))
    shape: list[int] = [padded.shape[0]]
    for extent, block in zip(padded.shape[1:], blocks, strict=False):
        shape += [extent // block, block]
    rest, count = padded.shape[1 + len(blocks) :], len(blocks)
    cut_up = padded.reshape(*shape, *rest)
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2), *range(2 * count + 1, cut_up.ndim)]
    return [cut_up.transpose(order).reshape(-1, *shape[1::2], *rest)]


def _batch_to_space(op: Operation) -> Sequence[Array]:
    values, blocks = op.array(0), [int(b) for b in op.array(1).reshape(-1)]
    crops, count = op.array(2).reshape(-1, 2).tolist(), len(blocks)
    spatial, rest = values.shape[1 : 1 + count], values.shape[1 + count :]
    cut_up = values.reshape(*blocks, -1, *spatial, *rest)
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    order += list(range(2 * count + 1, cut_up.ndim))
    whole = cut_up.transpose(order).reshape(-1, *(s * b for s, b in zip(spatial, blocks, strict=True)), *rest)
    cuts = [slice(None), *(slice(a, extent - b) for (a, b), extent in zip(crops, whole.shape[1:], strict=False))]
    return [whole[tuple(cuts)]]


def _matrix_diag(op: Operation) -> Sequence[Array]:
    values = op.array(0)
    matrices = np.zeros((*values.shape, values.shape[-1]), values.dtype)
    np.einsum("...ii->...i", matrices)[...] = values
    return [matrices]


def _matrix_set_diag(op: Operation) -> Sequence[Array]:
    matrices = op.array(0).astype(np.result_type(op.array(0), op.array(1)))
    length = min(matrices.shape[-2:])
    np.einsum("...ii->...i", matrices[..., :length, :length])[...] = op.array(1)
    return [matrices]


def _reverse_sequence(op: Operation) -> Sequence[Array]:
    values, rank = op.array(0), op.array(0).ndim
    steps, batch = int(op.options.get("seq_dim", 0)) % rank, int(op.options.get("batch_dim", 0)) % rank
    rows = np.moveaxis(values, (batch, steps), (0, 1)).copy()
    for row, length in zip(rows, op.integers(1).clip(0, values.shape[steps]), strict=True):
        row[:length] = row[:length][::-1].copy()
    return [np.moveaxis(rows, (0, 1), (batch, steps))]


def _sparse_to_dense(op: Operation) -> Sequence[Array]:
    shape, values = op.array(1).reshape(-1).tolist(), op.array(2).reshape(-1)
    places = op.integers(0).reshape(-1, len(shape))
    dense = np.full(shape, op.array(3).reshape(-1)[0], values.dtype)
    for place, value in zip(places.tolist(), np.resize(values, len(places)), strict=True):
        if all(0 <= at < extent for at, extent in zip(place, shape, strict=True)):
            dense[tuple(place)] = value
    return [dense]


def _bitcast(op: Operation) -> Sequence[Array]:
    values = np.ascontiguousarray(op.array(0))
    before, after = values.dtype.itemsize, op.output.dtype.numpy.itemsize
    shape = (*values.shape, before // after) if before > after else values.shape[: values.ndim - (before < after)]
    return [values.reshape(-1).view(op.output.dtype.numpy).reshape(shape)]


def _shape_of(function: Callable[[Array], Any]) -> Evaluation:
    return lambda op: [np.array(function(op.array(0)), op.output.dtype.numpy)]


EVALUATIONS: Mapping[str, Evaluation] = {
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": _expand_dims,
    "CONCATENATION": _concatenation,
    "PACK": _pack,
    "UNPACK": _unpack,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided_slice,
    "PAD": _pad,
    "PADV2": _pad,
    "MIRROR_PAD": _mirror_pad,
    "TRANSPOSE": _transpose,
    "REVERSE_V2": _reverse,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "SCATTER_ND": _scatter_nd,
    "ONE_HOT": _one_hot,
    "TILE": _tile,
    "BROADCAST_TO": _broadcast_to,
    "BROADCAST_ARGS": _broadcast_args,
    "FILL": _fill,
    "ZEROS_LIKE": lambda op: [np.zeros_like(op.array(0))],
    "RANGE": _range,
    "SHAPE": _shape_of(np.shape),
    "RANK": _shape_of(np.ndim),
    "DYNAMIC_UPDATE_SLICE": _update_slice,
    "MATRIX_DIAG": _matrix_diag,
    "MATRIX_SET_DIAG": _matrix_set_diag,
    "REVERSE_SEQUENCE": _reverse_sequence,
    "SPARSE_TO_DENSE": _sparse_to_dense,
    "BITCAST": _bitcast,
    "DEPTH_TO_SPACE": _depth_to_space,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "BATCH_TO_SPACE_ND": _batch_to_space,
}
