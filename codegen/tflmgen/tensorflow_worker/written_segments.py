"""Sums and the like of rows by segments, and rows scattered into a tensor, where TFLite has sums of few kinds alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.written_shapes import Write, check_size, constant, static_shape


def _of_constant_ids(combine: Callable[[Any, Any, int], Any]) -> Write:
    """Segments whose number the constant ids say."""

    def write(_: Mapping[str, Any], data: Any, ids: Any) -> Any:
        ids = constant(ids, "the tensor of segment ids")
        return combine(data, ids, int(ids[-1]) + 1 if len(ids) else 0)

    return write


def _of_number(combine: Callable[[Any, Any, int], Any]) -> Write:
    def write(_: Mapping[str, Any], data: Any, ids: Any, number: Any) -> Any:
        count = int(constant(number, "the number of segments"))
        check_size(count, "the result")
        return combine(data, ids, count)

    return write


def _of_gathered_ids(combine: Callable[[Any, Any, int], Any]) -> Write:
    def write(_: Mapping[str, Any], data: Any, indices: Any, ids: Any) -> Any:
        ids = constant(ids, "the tensor of segment ids")
        return combine(tf.gather(data, indices), ids, int(ids[-1]) + 1 if len(ids) else 0)

    return write


def _of_gathered_number(combine: Callable[[Any, Any, int], Any]) -> Write:
    def write(_: Mapping[str, Any], data: Any, indices: Any, ids: Any, number: Any) -> Any:
        count = int(constant(number, "the number of segments"))
        check_size(count, "the result")
        return combine(tf.gather(data, indices), ids, count)

    return write


def _counts(data: Any, ids: Any, number: int) -> Any:
    """Number of rows in each segment, shaped so that it broadcasts against segments."""
    ones = tf.ones([static_shape(data, "the data")[0]], data.dtype)
    counts = tf.math.unsorted_segment_sum(ones, tf.cast(ids, tf.int32), number)
    return tf.reshape(counts, [number] + [1] * (len(data.shape) - 1))


def _sum(data: Any, ids: Any, number: int) -> Any:
    return tf.math.unsorted_segment_sum(data, tf.cast(ids, tf.int32), number)


def _mean(data: Any, ids: Any, number: int) -> Any:
    return _sum(data, ids, number) / tf.maximum(_counts(data, ids, number), 1)


def _root_mean(data: Any, ids: Any, number: int) -> Any:
    return _sum(data, ids, number) / tf.sqrt(tf.maximum(_counts(data, ids, number), 1))


def _product(data: Any, ids: Any, number: int) -> Any:
    return tf.math.unsorted_segment_prod(data, tf.cast(ids, tf.int32), number)


def _extreme(function: Any) -> Callable[[Any, Any, int], Any]:
    """The extreme of each segment; 0 for one without rows."""

    def combine(data: Any, ids: Any, number: int) -> Any:
        values = function(data, tf.cast(ids, tf.int32), number)
        is_there = tf.broadcast_to(_counts(data, ids, number) > 0, tf.shape(values))
        return tf.where(is_there, values, tf.zeros_like(values))

    return combine


def _scattered_extreme(segments: Any, function: Any) -> Write:
    """Each row of the tensor and the rows that are scattered to it: these are segments by flat places."""

    def write(_: Mapping[str, Any], tensor: Any, indices: Any, updates: Any) -> Any:
        shape = static_shape(tensor, "the tensor")
        depth = static_shape(indices, "the tensor of indices")[-1]
        strides = np.cumprod((1, *shape[:depth][::-1]))[:-1][::-1].astype(np.int32)
        places = tf.reshape(tf.reduce_sum(tf.cast(indices, tf.int32) * strides, -1), [-1])
        rows = tf.reshape(updates, [-1, *shape[depth:]])
        number = int(np.prod(shape[:depth]))
        return function(tensor, tf.reshape(segments(rows, places, number), shape))

    return write


def _matrix(indices: Any, values: Any, shape: Any) -> Any:
    return tf.scatter_nd(tf.cast(indices, tf.int32), values, constant(shape, "the shape").astype(np.int32))


def _sparse_product(attributes: Mapping[str, Any], indices: Any, values: Any, shape: Any, dense: Any) -> Any:
    return tf.matmul(
        _matrix(indices, values, shape), dense, transpose_a=attributes["adjoint_a"], transpose_b=attributes["adjoint_b"]
    )


def _rows_at(function: Any) -> Write:
    return lambda _, x, i, v: function(x, tf.reshape(tf.cast(i, tf.int32), [-1, 1]), v)


_MOST, _LEAST = _extreme(tf.math.unsorted_segment_max), _extreme(tf.math.unsorted_segment_min)
SEGMENTS: Mapping[str, Write] = {
    **{
        f"Segment{name}": _of_constant_ids(combine)
        for name, combine in (("Max", _MOST), ("Min", _LEAST), ("Mean", _mean), ("Prod", _product))
    },
    **{
        f"Segment{name}V2": _of_number(combine)
        for name, combine in (("Max", _MOST), ("Min", _LEAST), ("Sum", _sum), ("Prod", _product))
    },
    **{
        f"SparseSegment{name}{more}": of(combine)
        for name, combine in (("Mean", _mean), ("SqrtN", _root_mean), ("Sum", _sum))
        for more, of in (("", _of_gathered_ids), ("WithNumSegments", _of_gathered_number))
    },
    "InplaceAdd": _rows_at(tf.tensor_scatter_nd_add),
    "InplaceSub": _rows_at(lambda x, places, rows: tf.tensor_scatter_nd_add(x, places, -rows)),
    "InplaceUpdate": _rows_at(tf.tensor_scatter_nd_update),
    "ScatterNdNonAliasingAdd": lambda _, x, places, rows: tf.tensor_scatter_nd_add(x, places, rows),
    "SparseTensorDenseAdd": lambda _, indices, values, shape, dense: _matrix(indices, values, shape) + dense,
    "SparseTensorDenseMatMul": _sparse_product,
    "TensorScatterMax": _scattered_extreme(tf.math.unsorted_segment_max, tf.maximum),
    "TensorScatterMin": _scattered_extreme(tf.math.unsorted_segment_min, tf.minimum),
    "TensorScatterSub": lambda _, x, places, rows: tf.tensor_scatter_nd_add(x, places, -rows),
}
