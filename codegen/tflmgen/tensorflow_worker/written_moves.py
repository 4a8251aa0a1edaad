"""Operations that move elements or weigh them by constants: TensorFlow itself, asked about numbers, says how.

An operation of constant parameters that only moves elements gives, of the elements' own numbers, the places to gather
from. One that resizes each dimension by itself gives, of unit vectors, its matrix of weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.node_constants import evaluated
from tflmgen.tensorflow_worker.written_shapes import Write, check_size, constant, static_shape


def _moved(name: str, data: int = 0, filling: int | None = None) -> Write:
    """A gather from the elements of operand `data`, and the element of operand `filling` for what is none of them."""

    def write(attributes: Mapping[str, Any], *operands: Any) -> Any:
        shape = static_shape(operands[data], "the input")
        check_size(math.prod(shape), "the table of elements")
        known = list(operands)
        known[data] = np.arange(1, math.prod(shape) + 1, dtype=np.int32).reshape(shape)
        if filling is not None:
            known[filling] = np.int32(0)
        known = [constant(operand, "a parameter") for operand in known]
        (places,) = evaluated(name, attributes, known)
        check_size(places.size, "the table of elements")
        elements = tf.reshape(operands[data], [-1])
        first = tf.zeros([1], elements.dtype) if filling is None else tf.reshape(operands[filling], [1])
        if places.size and places.min() > 0:
            return tf.gather(elements, places - 1)
        return tf.gather(tf.concat([first, elements], 0), places)

    return write


def _resized(name: str) -> Write:
    """Two products with constant matrices, one along each dimension of images [N, H, W, C]."""

    def write(attributes: Mapping[str, Any], image: Any, size: Any, scale: Any = None, translation: Any = None) -> Any:
        batches, height, width, channels = static_shape(image, "the image")
        lines, columns = (int(n) for n in constant(size, "the size"))
        more: list[Any] = [None, None]
        if scale is not None:
            scale, translation = constant(scale, "the scale"), constant(translation, "the translation")
            more = [[np.array([scale[i], 1], np.float32), np.array([translation[i], 0], np.float32)] for i in range(2)]
        down = _weights(name, attributes, height, lines, more[0])
        across = _weights(name, attributes, width, columns, more[1])
        image = tf.cast(image, tf.float32)
        rows = tf.reshape(tf.transpose(image, [0, 2, 3, 1]), [batches * width * channels, height])
        rows = tf.reshape(tf.matmul(rows, down), [batches, width, channels, lines])
        rows = tf.reshape(tf.transpose(rows, [0, 3, 2, 1]), [batches * lines * channels, width])
        rows = tf.reshape(tf.matmul(rows, across), [batches, lines, channels, columns])
        return tf.transpose(rows, [0, 1, 3, 2])

    return write


def _weights(name: str, attributes: Mapping[str, Any], extent: int, size: int, more: Any) -> np.ndarray[Any, Any]:
    """Matrix [extent, size] of a resizing along one dimension: what it makes of each of its unit vectors."""
    check_size(extent * max(extent, size), "the table of weights")
    units = np.eye(extent, dtype=np.float32)[:, :, None, None]
    (rows,) = evaluated(name, attributes, [units, np.array([size, 1], np.int32), *(more or ())])
    return rows[:, :, 0, 0]


def _reversed(_: Mapping[str, Any], x: Any, is_reversed: Any) -> Any:
    return tf.reverse(x, np.flatnonzero(constant(is_reversed, "the dimensions")).astype(np.int32))


def _named_dimensions(attributes: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Place in the source format of each dimension of the destination format."""
    source, destination = attributes["src_format"], attributes["dst_format"]
    return np.array([source.index(letter) for letter in destination], np.int32)


def _mapped_dimension(attributes: Mapping[str, Any], x: Any) -> Any:
    order = np.argsort(_named_dimensions(attributes)).astype(np.int32)
    return tf.gather(order, tf.math.floormod(x, len(order)))


def _unravelled(_: Mapping[str, Any], indices: Any, dims: Any) -> Any:
    rows = []
    for extent in reversed([int(dim) for dim in constant(dims, "the shape")]):
        rows.append(tf.math.floormod(indices, extent))
        indices = indices // extent
    return tf.stack(rows[::-1])


def _partitioned(attributes: Mapping[str, Any], data: Any, partitions: Any) -> Sequence[Any]:
    """Rows of each number, as many as there are."""
    shape = static_shape(partitions, "the tensor of partitions")
    rows = tf.reshape(data, [-1, *static_shape(data, "the data")[len(shape) :]])
    numbers = tf.reshape(partitions, [-1])
    return [
        tf.gather(rows, tf.cast(tf.where(tf.equal(numbers, i))[:, 0], tf.int32))
        for i in range(attributes["num_partitions"])
    ]


def _difference(attributes: Mapping[str, Any], x: Any, y: Any) -> Any:
    """Elements of x that y has not, and their places."""
    is_other = tf.logical_not(tf.reduce_any(tf.equal(x[:, None], y[None, :]), 1))
    places = tf.cast(tf.where(is_other)[:, 0], tf.int32)
    return tf.gather(x, places), tf.cast(places, attributes["out_idx"])


def _counted(attributes: Mapping[str, Any], x: Any) -> Any:
    unique, places = tf.raw_ops.Unique(x=x, out_idx=tf.int32)
    (count,) = static_shape(x, "the input")
    counts = tf.math.unsorted_segment_sum(tf.ones([count], tf.int32), places, count)[: tf.size(unique)]
    return unique, tf.cast(places, attributes["out_idx"]), tf.cast(counts, attributes["out_idx"])


def _among_largest(_: Mapping[str, Any], scores: Any, targets: Any, k: Any) -> Any:
    """Whether fewer than k scores of a row are above its target's, which must be finite."""
    own = tf.gather(scores, tf.cast(targets, tf.int32), axis=1, batch_dims=1)[:, None]
    above = tf.reduce_sum(tf.cast(scores > own, tf.int32), 1)
    return tf.logical_and(above < tf.cast(k, tf.int32), tf.abs(own[:, 0]) <= float(np.finfo(np.float32).max))


def _nth(attributes: Mapping[str, Any], x: Any, n: Any) -> Any:
    number = int(constant(n, "the place")) + 1
    if attributes["reverse"]:
        return tf.math.top_k(x, number)[0][..., number - 1]
    return -tf.math.top_k(-x, number)[0][..., number - 1]


MOVES: Mapping[str, Write] = {
    **{name: _moved(name) for name in ("Diag", "DiagPart", "ExtractVolumePatches", "MatrixDiagPart", "SpaceToBatch")},
    "MatrixDiagPartV2": _moved("MatrixDiagPartV2", filling=2),
    "MatrixDiagPartV3": _moved("MatrixDiagPartV3", filling=2),
    "MatrixDiagV2": _moved("MatrixDiagV2", filling=4),
    "StridedSliceGrad": _moved("StridedSliceGrad", data=4),
    **{name: _resized(name) for name in ("ResizeArea", "ResizeBicubic", "ScaleAndTranslate")},
    "DataFormatDimMap": _mapped_dimension,
    "DataFormatVecPermute": lambda attributes, x: tf.gather(x, _named_dimensions(attributes)),
    "DynamicPartition": _partitioned,
    "InTopK": lambda attributes, x, targets: _among_largest(attributes, x, targets, attributes["k"]),
    "InTopKV2": _among_largest,
    "ListDiff": _difference,
    "NthElement": _nth,
    "ParallelConcat": lambda _, values: tf.concat(values, 0),
    "Reverse": _reversed,
    "UniqueV2": lambda attributes, x, _: tf.raw_ops.Unique(x=x, out_idx=attributes["out_idx"]),
    "UniqueWithCounts": _counted,
    "UniqueWithCountsV2": lambda attributes, x, _: _counted(attributes, x),
    "UnravelIndex": _unravelled,
}
