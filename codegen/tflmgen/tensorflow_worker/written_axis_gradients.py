"""Gradients of operations that move or mix elements along axes: the transposes of what these do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from tflmgen.tensorflow_worker.written_shapes import (
    Attributes,
    UnwritableError,
    Write,
    check_size,
    constant,
    static_shape,
)


def placed(base: Any, part: Any, begin: Any) -> Any:
    """`base` with `part`, of the same rank, from an index [rank] on; the converter makes DYNAMIC_UPDATE_SLICE of it."""
    result = gen_xla_ops.xla_dynamic_update_slice(input=base, update=part, indices=begin)
    result.set_shape(base.shape)
    return result


def along(x: Any, axis: int, matrix: NDArray[Any]) -> Any:
    """Elements along an axis multiplied by a matrix [new, old]."""
    shape = static_shape(x, "the gradient")
    rank = len(shape)
    order = [k for k in range(rank) if k != axis] + [axis]
    rows = tf.reshape(tf.transpose(x, order), [-1, shape[axis]])
    product = tf.matmul(rows, matrix.T.astype(x.dtype.as_numpy_dtype))
    moved = tf.reshape(product, [*(shape[k] for k in order[:-1]), len(matrix)])
    return tf.transpose(moved, list(np.argsort(order)))


def _cuts(attributes: Attributes, sizes: Sequence[int], *limits: NDArray[Any]) -> list[range]:
    """The elements that a strided slice takes of each axis."""
    masks = {key: int(attributes.get(f"{key}_mask", 0)) for key in _MASKS}
    begins, ends, steps = ([int(n) for n in limit.reshape(-1)] for limit in limits)
    whole = sum(not masks["new_axis"] >> k & 1 for k in range(len(steps)) if not masks["ellipsis"] >> k & 1)
    cuts: list[range] = []
    for k, step in enumerate(steps):
        if masks["ellipsis"] >> k & 1:
            cuts += [range(n) for n in sizes[len(cuts) : len(cuts) + len(sizes) - whole]]
        elif not masks["new_axis"] >> k & 1:
            size = sizes[len(cuts)]
            if masks["shrink_axis"] >> k & 1:
                cuts.append(range(begins[k] % size, begins[k] % size + 1))
                continue
            begin = None if masks["begin"] >> k & 1 else begins[k]
            end = None if masks["end"] >> k & 1 else ends[k]
            cuts.append(range(size)[begin:end:step])
    return cuts + [range(n) for n in sizes[len(cuts) :]]


_MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")


def _strided_slice(attributes: Attributes, shape: Any, begin: Any, end: Any, strides: Any, g: Any) -> Any:
    """g among zeros."""
    sizes = [int(n) for n in constant(shape, "the shape of the input")]
    steps = constant(strides, "the steps")
    if not isinstance(begin, np.ndarray):
        return _put(attributes, sizes, begin, steps, g)
    ends = end if isinstance(end, np.ndarray) else np.zeros_like(begin)
    cuts = _cuts(attributes, sizes, begin, ends, steps)
    g = tf.reshape(g, [len(cut) for cut in cuts])
    for axis, cut in enumerate(cuts):
        if len(cut) > 1 and cut.step != 1:
            matrix = np.zeros([sizes[axis], len(cut)], np.float32)
            matrix[list(cut), range(len(cut))] = 1
            g = along(g, axis, matrix)
    widths = static_shape(g, "the gradient")
    starts = [0 if width == size else cut.start for cut, width, size in zip(cuts, widths, sizes, strict=True)]
    return tf.pad(g, [(a, n - a - w) for a, w, n in zip(starts, widths, sizes, strict=True)])


def _put(attributes: Attributes, sizes: Sequence[int], begin: Any, steps: NDArray[Any], g: Any) -> Any:
    """g among zeros at a computed place."""
    masks = {key: int(attributes.get(f"{key}_mask", 0)) for key in _MASKS}
    if masks["ellipsis"] or masks["new_axis"] or (steps != 1).any():
        raise UnwritableError("a slice at a computed place has steps, new axes or an ellipsis")
    kept = iter(static_shape(g, "the gradient"))
    extents = [1 if masks["shrink_axis"] >> k & 1 else next(kept) for k in range(len(sizes))]
    starts = [tf.constant(0)] * len(sizes)
    for k in range(len(steps)):
        if not masks["begin"] >> k & 1:
            start = tf.cast(begin[k], tf.int32)
            starts[k] = start + sizes[k] * tf.cast(start < 0, tf.int32)
    return placed(tf.zeros(sizes, g.dtype), tf.reshape(g, extents), tf.stack(starts))


def _mirror_pad(attributes: Attributes, g: Any, paddings: Any) -> Any:
    """Each element of the border counts for the one that it mirrors."""
    is_reflected = attributes["mode"] == "REFLECT"
    for axis, (before, after) in enumerate(constant(paddings, "the padding")):
        if not before and not after:
            continue
        size = static_shape(g, "the gradient")[axis] - int(before) - int(after)
        mode = "reflect" if is_reflected else "symmetric"
        source = np.pad(np.arange(size), (int(before), int(after)), mode=mode)  # type: ignore[call-overload]
        check_size(size * len(source), "the table of mirrored elements")
        matrix = np.zeros([size, len(source)], np.float32)
        matrix[source, range(len(source))] = 1
        g = along(g, axis, matrix)
    return g


def _places(size: int, resized: int, attributes: Attributes, is_nearest: bool) -> NDArray[Any]:
    """Places of the elements of a resized axis in the axis of `size` elements, as TensorFlow computes it in float32."""
    corners = bool(attributes["align_corners"]) and resized > 1
    scale = np.float32((size - 1) / (resized - 1) if corners else size / resized)
    i = np.arange(resized, dtype=np.float32)
    if not attributes["half_pixel_centers"]:
        return np.asarray(i * scale, np.float32)
    return np.asarray((i + np.float32(0.5)) * scale - np.float32(0 if is_nearest else 0.5), np.float32)


def _bilinear_weights(size: int, resized: int, attributes: Attributes) -> NDArray[Any]:
    """Weights [size, resized]."""
    check_size(size * resized, "the table of weights")
    places = _places(size, resized, attributes, is_nearest=False)
    low = np.floor(places)
    share = places - low
    matrix = np.zeros([size, resized], np.float32)
    for k in range(resized):
        first, second = np.clip([low[k], np.ceil(places[k])], 0, size - 1).astype(int)
        matrix[first, k] += 1 - share[k]
        matrix[second, k] += share[k]
    return matrix


def _nearest_weights(size: int, resized: int, attributes: Attributes) -> NDArray[Any]:
    check_size(size * resized, "the table of weights")
    places = _places(size, resized, attributes, is_nearest=True)
    # TensorFlow rounds half away from zero.
    chosen = np.floor(places + np.float32(0.5)) if attributes["align_corners"] else np.floor(places)
    matrix = np.zeros([size, resized], np.float32)
    matrix[np.minimum(chosen.astype(int), size - 1), range(resized)] = 1
    return matrix


def _resize_bilinear(attributes: Attributes, g: Any, image: Any) -> Any:
    sizes, resized = static_shape(image, "the image"), static_shape(g, "the gradient")
    rows = along(g, 1, _bilinear_weights(sizes[1], resized[1], attributes))
    return along(rows, 2, _bilinear_weights(sizes[2], resized[2], attributes))


def _resize_nearest(attributes: Attributes, g: Any, size: Any) -> Any:
    sizes, resized = [int(n) for n in constant(size, "the size")], static_shape(g, "the gradient")
    rows = along(g, 1, _nearest_weights(sizes[0], resized[1], attributes))
    return along(rows, 2, _nearest_weights(sizes[1], resized[2], attributes))


def _local_response(attributes: Attributes, g: Any, x: Any, y: Any) -> Any:
    """y = x s^-beta with s = bias + alpha times the sum of the squares around (Krizhevsky and others, 2012)."""
    radius = int(attributes["depth_radius"])
    bias, alpha, beta = (float(attributes[key]) for key in ("bias", "alpha", "beta"))
    channels = static_shape(x, "the image")[3]
    check_size(channels * channels, "the table of neighbours")
    place = np.arange(channels)
    around = (np.abs(place[:, None] - place[None, :]) <= radius).astype(np.float32)
    scale = bias + alpha * along(x * x, 3, around)
    return g * tf.pow(scale, -beta) - 2.0 * alpha * beta * x * along(g * y / scale, 3, around)


AXIS_GRADIENTS: Mapping[str, Write] = {
    "LRNGrad": _local_response,
    "MirrorPadGrad": _mirror_pad,
    "ResizeBilinearGrad": _resize_bilinear,
    "ResizeNearestNeighborGrad": _resize_nearest,
    "StridedSliceGrad": _strided_slice,
}
