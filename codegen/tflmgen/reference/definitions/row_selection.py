"""Operators that pick rows by the values of elements: WHERE, UNIQUE, keys, sparse lists, and non-maximum suppression of
boxes.

NONZERO_ROWS and UNIQUE_ROWS are what a Module has of the first two, and SEGMENT_SUM_ROWS of SEGMENT_SUM: room for the
most rows, and their number.
Sources: TensorFlow's where_op.cc, unique_op.cc and non_max_suppression_op.cc; Bodla et al., "Soft-NMS", 2017.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from tflmgen.reference.definitions.fixed_point_numbers import wrapped
from tflmgen.reference.operation import Array, BoundError, Evaluation, Operation, RunTimeError


def _where(op: Operation) -> Sequence[Array]:
    return [np.argwhere(op.array(0))]


def _unique(op: Operation) -> Sequence[Array]:
    places: dict[object, int] = {}
    values = op.array(0).reshape(-1)
    indices = [places.setdefault(_key(value, i), len(places)) for i, value in enumerate(values.tolist())]
    firsts = [indices.index(place) for place in range(len(places))]
    return [values[firsts], np.array(indices, op.output_types[1].dtype.numpy)]


def _key(value: float, place: int) -> object:
    """Key that equal elements share; NaN is equal to nothing."""
    return value if value == value else (place,)


def _with_room(op: Operation, rows: Array) -> list[Array]:
    """Rows in a tensor of the declared size, and their number."""
    result = np.zeros(op.output.max_shape, rows.dtype)
    if len(rows) > len(result):
        raise BoundError(op.name)
    result[: len(rows)] = rows
    return [result, np.array(len(rows), np.int32)]


def _nonzero_rows(op: Operation) -> Sequence[Array]:
    return _with_room(op, _where(op)[0])


def _unique_rows(op: Operation) -> Sequence[Array]:
    in_use = int(op.array(1).reshape(-1)[0])
    values, indices = _unique(replace(op, inputs=(op.array(0)[:in_use],)))
    rows, count = _with_room(op, values)
    room = np.zeros(op.array(0).shape, indices.dtype)
    room[:in_use] = indices
    return [rows, room, count]


def _segment_rows(op: Operation) -> Sequence[Array]:
    """Sums of the rows in use by their indices, which must not descend."""
    in_use = int(op.array(2).reshape(-1)[0])
    indices = op.integers(1)[:in_use]
    count = int(indices[-1]) + 1 if in_use else 0
    if np.any(np.diff(indices, prepend=0) < 0):
        raise RunTimeError(f"{op.name}: segment ids descend, or are negative")
    if count > op.output.max_shape[0]:
        raise BoundError(op.name)
    sums = np.zeros((count, *op.output.max_shape[1:]), np.float64 if op.gives_floats else np.int64)
    np.add.at(sums, indices, op.array(0)[:in_use])
    return _with_room(op, sums.astype(op.output.dtype.numpy) if op.gives_floats else wrapped(sums).astype(np.int32))


def _overlap(a: Array, b: Array) -> np.float32:
    """Intersection over union of two boxes of two opposite corners (y, x) each; 0 where one has no normal area."""
    corners = np.sort(np.stack([a, b]).reshape(2, 2, 2).astype(np.float32), axis=1)
    areas = (corners[:, 1] - corners[:, 0]).prod(axis=1)
    if not (areas >= np.finfo(np.float32).tiny).all():
        return np.float32(0)
    sides = np.maximum(corners[:, 1].min(axis=0) - corners[:, 0].max(axis=0), np.float32(0))
    common = sides.prod()
    return np.float32(common / (areas.sum() - common))


def _suppressed(op: Operation) -> Sequence[Array]:
    """NON_MAX_SUPPRESSION_V4 and V5: (boxes, scores, most, greatest overlap, least score, sigma)."""
    boxes, scores = op.array(0), op.array(1).astype(np.float32)
    limit = int(op.array(2).reshape(-1)[0])
    overlap_limit, least = (np.float32(op.array(i).reshape(-1)[0]) for i in (3, 4))
    sigma = np.float32(op.array(5).reshape(-1)[0]) if op.has(5) else np.float32(0)
    heap = [(-score, box, 0) for box, score in enumerate(scores) if score > least]
    heapq.heapify(heap)
    selected: list[tuple[int, np.float32]] = []
    while heap and len(selected) < limit:
        negative, box, compared = heapq.heappop(heap)
        before = score = -negative
        for other, _ in reversed(selected[compared:]):
            overlap = _overlap(boxes[box], boxes[other])
            if overlap >= overlap_limit:
                break
            if sigma > 0:
                score = np.float32(score * np.exp(np.float32(-0.5) / sigma * overlap * overlap))
                if score <= least:
                    score = np.float32(-np.inf)
                    break
        else:
            if score == before:
                selected.append((box, score))
            else:
                heapq.heappush(heap, (-score, box, len(selected)))
    indices, kept = np.zeros(limit, np.int32), np.zeros(limit, np.float32)
    for i, (box, score) in enumerate(selected):
        indices[i], kept[i] = box, score
    count = np.array(len(selected), np.int32)
    return [indices, kept, count] if op.has(5) else [indices, count]


def _keyed(op: Operation) -> Sequence[Array]:
    """HASHTABLE_LOOKUP: the row of each query's key, or zeros, and whether there is one."""
    places = {int(key): place for place, key in enumerate(op.array(1))}
    chosen = [places.get(int(query)) for query in op.array(0)]
    rows = np.zeros((len(chosen), *op.array(2).shape[1:]), op.array(2).dtype)
    for row, place in zip(rows, chosen, strict=True):
        if place is not None:
            row[...] = op.array(2)[place]
    return [rows, np.array([place is not None for place in chosen], np.uint8)]


def _sparse_sums(op: Operation) -> Sequence[Array]:
    """EMBEDDING_LOOKUP_SPARSE: each run of entries of one example is summed, and divided by itself."""
    ids, places, weights, table = op.array(0), op.array(1), op.real(3), op.real(4)
    shape = tuple(int(d) for d in op.array(2)[:-1])
    sums = np.zeros((*shape, *table.shape[1:]))
    kept = [i for i, place in enumerate(places[:, :-1]) if all(0 <= p < d for p, d in zip(place, shape, strict=True))]
    for example, entries in groupby(kept, lambda i: tuple(places[i, :-1])):
        run = list(entries)
        rows = table[np.clip(ids[run], 0, len(table) - 1)]
        total = sums[example] + np.tensordot(weights[run], rows, 1)
        divisor = (1.0, weights[run].sum(), np.sqrt((weights[run] ** 2).sum()))[int(op.options["combiner"])]
        with np.errstate(all="ignore"):
            sums[example] = total / divisor
    return [sums.astype(np.float32)]


EVALUATIONS: Mapping[str, Evaluation] = {
    "WHERE": _where,
    "UNIQUE": _unique,
    "NONZERO_ROWS": _nonzero_rows,
    "UNIQUE_ROWS": _unique_rows,
    "SEGMENT_SUM_ROWS": _segment_rows,
    "NON_MAX_SUPPRESSION_V4": _suppressed,
    "NON_MAX_SUPPRESSION_V5": _suppressed,
    "HASHTABLE_LOOKUP": _keyed,
    "EMBEDDING_LOOKUP_SPARSE": _sparse_sums,
}
