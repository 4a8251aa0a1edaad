"""Operations along axes that TFLite has no operator for: rolled rows, running products, searches, histograms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.written_shapes import UnwritableError, Write, check_size, constant, static_shape


def _roll(_: Mapping[str, Any], x: Any, shift: Any, axis: Any) -> Any:
    """Each axis by a gather of its places, moved and wrapped."""
    shape = static_shape(x, "the input")
    axes = np.ravel(constant(axis, "the axis"))
    shifts = tf.reshape(tf.cast(shift, tf.int32), [len(axes)])
    for number, a in enumerate(axes.tolist()):
        extent = shape[a]
        places = tf.math.floormod(np.arange(extent, dtype=np.int32) - shifts[number], extent)
        x = tf.gather(x, places, axis=a)
    return x


def _running(attributes: Mapping[str, Any], x: Any, axis: Any, combine: Any, neutral: float) -> Any:
    """By doubling (Hillis and Steele, 1986): after k steps each element has what the last 2^k combine to."""
    shape = static_shape(x, "the input")
    a = int(constant(axis, "the axis")) % len(shape)
    x = tf.reverse(x, [a]) if attributes["reverse"] else x

    def moved(values: Any, steps: int) -> Any:
        """The values `steps` places further, neutral ones before them."""
        extents = [steps if i == a else extent for i, extent in enumerate(shape)]
        first = tf.fill(extents, tf.cast(neutral, x.dtype))
        size = [extent - steps if i == a else extent for i, extent in enumerate(shape)]
        return tf.concat([first, tf.slice(values, [0] * len(shape), size)], a)

    x = moved(x, 1) if attributes["exclusive"] else x
    steps = 1
    while steps < shape[a]:
        x = combine(x, moved(x, steps))
        steps *= 2
    return tf.reverse(x, [a]) if attributes["reverse"] else x


def bisected(ordered: Any, starts: Any, count: int, values: Any, is_before: Any) -> Any:
    """Numbers of sorted numbers that are `is_before` each value, among `count` of `ordered` from the value's start."""
    counts = tf.zeros(tf.shape(values), tf.int32)
    step = 1 << max(count, 1).bit_length() - 1
    while step and count:
        later = counts + step
        last = tf.gather(ordered, starts + tf.minimum(later, count) - 1)
        counts = tf.where(tf.logical_and(later <= count, is_before(last, values)), later, counts)
        step //= 2
    return counts


def _search(is_before: Any) -> Write:
    """Number of sorted values [B, N] that are `is_before` each value [B, M]: bisection, all values at once."""

    def write(attributes: Mapping[str, Any], ordered: Any, values: Any) -> Any:
        batches, count = static_shape(ordered, "the sorted input")
        static_shape(values, "the values")
        flat = tf.reshape(ordered, [batches * count])
        starts = (count * np.arange(batches, dtype=np.int32))[:, None]
        counts = bisected(flat, starts, count, values, is_before)
        return tf.cast(counts, attributes["out_type"])

    return write


def _histogram(attributes: Mapping[str, Any], values: Any, limits: Any, bins: Any) -> Any:
    count = int(constant(bins, "the number of bins"))
    check_size(count, "the histogram")
    low, high = limits[0], limits[1]
    places = tf.floor(tf.cast(count, values.dtype) * (values - low) / (high - low))
    places = tf.cast(tf.clip_by_value(places, 0, count - 1), tf.int32)
    flat = tf.reshape(places, [-1])
    return tf.cast(tf.math.unsorted_segment_sum(tf.ones_like(flat), flat, count), attributes["dtype"])


def _bincount(attributes: Mapping[str, Any], values: Any, size: Any, weights: Any) -> Any:
    """Counts, or sums of weights, of each number in a row [N] or in rows [B, N]; numbers beyond `size` do not count."""
    if not isinstance(size, np.ndarray | np.generic):
        raise UnwritableError("the number of bins is no constant", "Give bincount a minlength and a maxlength, alike")
    count, shape = int(size), static_shape(values, "the input")
    is_weighted = 0 not in static_shape(weights, "the tensor of weights")
    kind = attributes["T"]
    added = weights if is_weighted else tf.ones(shape, kind if kind in (tf.int32, tf.float32) else tf.float32)
    if attributes["binary_output"]:
        added = tf.ones_like(added)
    rows = shape[0] if len(shape) > 1 else 1
    values = tf.cast(values, tf.int32)
    is_inside = tf.logical_and(values >= 0, values < count)
    starts = count * np.arange(rows, dtype=np.int32).reshape([-1] + [1] * (len(shape) - 1))
    places = tf.where(is_inside, values + (starts if len(shape) > 1 else 0), -tf.ones_like(values))
    combine = tf.math.unsorted_segment_max if attributes["binary_output"] else tf.math.unsorted_segment_sum
    sums = combine(tf.reshape(added, [-1]), tf.reshape(places, [-1]), rows * count)
    sums = tf.maximum(sums, 0) if attributes["binary_output"] else sums
    return tf.cast(tf.reshape(sums, [rows, count] if len(shape) > 1 else [count]), kind)


def _local_response(attributes: Mapping[str, Any], x: Any) -> Any:
    """Squares of `depth_radius` channels on either side: windows of TFLite's operator end one channel earlier."""
    *lead, depth = static_shape(x, "the input")
    radius = min(int(attributes["depth_radius"]), depth)
    squares = tf.pad(tf.square(x), [[0, 0]] * len(lead) + [[radius, radius]])
    sums = tf.add_n([squares[..., first : first + depth] for first in range(2 * radius + 1)])
    return x * tf.pow(attributes["bias"] + attributes["alpha"] * sums, -attributes["beta"])


def _length(attributes: Mapping[str, Any], x: Any, axis: Any) -> Any:
    return tf.sqrt(tf.reduce_sum(tf.square(x), axis, keepdims=attributes["keep_dims"]))


def _cross(_: Mapping[str, Any], a: Any, b: Any) -> Any:
    """Products of the elements after each one, less those the other way round."""
    after = [np.array(places, np.int32) for places in ([1, 2, 0], [2, 0, 1])]
    a1, a2, b1, b2 = (tf.gather(v, places, axis=-1) for v in (a, b) for places in after)
    return a1 * b2 - a2 * b1


def _running_log_sum(attributes: Mapping[str, Any], x: Any, axis: Any) -> Any:
    """ln of running sums of exponentials, by doubling as products are."""

    def joined(a: Any, b: Any) -> Any:
        return tf.maximum(a, b) + tf.math.log1p(tf.exp(-tf.abs(a - b)))

    return _running(attributes, x, axis, joined, x.dtype.min)


ROWS: Mapping[str, Write] = {
    "Roll": _roll,
    "Cumprod": lambda attributes, x, axis: _running(attributes, x, axis, tf.multiply, 1.0),
    "CumulativeLogsumexp": _running_log_sum,
    "LowerBound": _search(tf.less),
    "UpperBound": _search(tf.less_equal),
    "HistogramFixedWidth": _histogram,
    "Bincount": lambda attributes, *operands: _bincount({**attributes, "binary_output": False}, *operands),
    "DenseBincount": _bincount,
    "AccumulateNV2": lambda _, inputs: tf.add_n(inputs),
    "Cross": _cross,
    "EuclideanNorm": _length,
    "LRN": _local_response,
}
