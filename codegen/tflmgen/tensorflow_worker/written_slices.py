"""Assignments to slices, and sequences that a network's scores decode to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from tflmgen.tensorflow_worker.written_shapes import UnwritableError, Write, check_size, constant, static_shape


def updated_slice(attributes: Mapping[str, Any], x: Any, begin: Any, end: Any, strides: Any, value: Any) -> Any:
    """The input with a slice of it replaced: a gather of old and new elements, or a slice at a computed place."""
    shape = static_shape(x, "the input")
    strides = constant(strides, "the stride")
    if not isinstance(begin, np.ndarray):
        return _updated_at(attributes, x, begin, strides, value)
    limits = constant(end, "the end")
    places = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    taken = places[tuple(_slice(attributes, i, begin, limits, strides) for i in range(len(begin)))]
    check_size(places.size, "the table of elements")
    new = tf.reshape(tf.broadcast_to(value, taken.shape), [-1])
    order = places.copy().reshape(-1)
    order[taken.reshape(-1)] = places.size + np.arange(taken.size, dtype=np.int32)
    return tf.reshape(tf.gather(tf.concat([tf.reshape(x, [-1]), new], 0), order), shape)


def _slice(attributes: Mapping[str, Any], i: int, begin: Any, end: Any, strides: Any) -> Any:
    """Entry i of a slice's specification, as Python has it."""

    def has(mask: str) -> bool:
        return bool(attributes[f"{mask}_mask"] >> i & 1)

    if has("ellipsis"):
        return Ellipsis
    if has("new_axis"):
        return None
    if has("shrink_axis"):
        return int(begin[i])
    return slice(None if has("begin") else int(begin[i]), None if has("end") else int(end[i]), int(strides[i]))


def _updated_at(attributes: Mapping[str, Any], x: Any, begin: Any, strides: Sequence[int], value: Any) -> Any:
    """Whole dimensions, and single places of others that are computed."""
    shape = static_shape(x, "the input")
    begin = tf.cast(begin, tf.int32)
    starts, extents = [], []
    for i, extent in enumerate(shape):
        is_single = i < len(strides) and attributes["shrink_axis_mask"] >> i & 1
        is_whole = i >= len(strides) or (attributes["begin_mask"] & attributes["end_mask"]) >> i & 1
        if strides[min(i, len(strides) - 1)] != 1 or not (is_single or is_whole) or attributes["new_axis_mask"]:
            raise UnwritableError("a computed slice takes whole dimensions and single places of others alone")
        start = begin[i] if is_single else tf.constant(0)
        starts.append(tf.where(start < 0, start + extent, start))
        extents.append(1 if is_single else extent)
    singles = [i for i, extent in enumerate(extents) if attributes["shrink_axis_mask"] >> i & 1]
    value = tf.broadcast_to(value, [extent for i, extent in enumerate(extents) if i not in singles])
    return gen_xla_ops.xla_dynamic_update_slice(x, tf.reshape(value, extents), tf.stack(starts))


def _ctc_greedy(attributes: Mapping[str, Any], scores: Any, lengths: Any) -> Any:
    """Best classes of each step, [steps, batches, classes]: repeated ones once where merged, blanks not at all."""
    steps, batches, classes = static_shape(scores, "the tensor of scores")
    blank = int(attributes["blank_index"])
    best = tf.transpose(tf.argmax(scores, 2, tf.int32))
    is_there = np.arange(steps, dtype=np.int32)[None] < tf.reshape(tf.cast(lengths, tf.int32), [batches, 1])
    is_kept = tf.logical_and(is_there, tf.not_equal(best, blank + classes if blank < 0 else blank))
    if attributes["merge_repeated"]:
        before = tf.concat([tf.fill([batches, 1], -1), best[:, :-1]], 1)
        is_kept = tf.logical_and(is_kept, tf.not_equal(best, before))
    number = tf.cumsum(tf.cast(is_kept, tf.int32), 1)
    places = tf.cast(tf.where(is_kept), tf.int32)
    rows = tf.gather_nd(number, places) - 1
    indices = tf.cast(tf.stack([places[:, 0], rows], 1), tf.int64)
    values = tf.cast(tf.gather_nd(best, places), tf.int64)
    longest = tf.cast(tf.reduce_max(number), tf.int64)
    largest = tf.where(tf.transpose(is_there), tf.reduce_max(scores, 2), tf.zeros([steps, batches]))
    shape = tf.stack([tf.constant(batches, tf.int64), longest])
    return indices, values, shape, -tf.reduce_sum(largest, 0)[:, None]


SLICES: Mapping[str, Write] = {"TensorStridedSliceUpdate": updated_slice, "CTCGreedyDecoder": _ctc_greedy}
