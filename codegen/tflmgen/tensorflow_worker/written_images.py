"""Operations on images and boxes that TFLite has no operator for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.written_shapes import UnwritableError, Write, check_size, constant, static_shape

MOST_CLASSES = 512
"""Suppressions that one operation is written as, each of its own nodes."""


def _crop_and_resize(attributes: Mapping[str, Any], image: Any, boxes: Any, numbers: Any, size: Any) -> Any:
    """Crops [boxes, height, width, channels] of boxes (y1, x1, y2, x2) in parts of the image's height and width."""
    _, height, width, channels = static_shape(image, "the image")
    pixels = tf.reshape(image, [-1, channels])
    lines, columns = (int(n) for n in constant(size, "the size of the crops"))
    y, x = _sampled(boxes[:, 0], boxes[:, 2], height, lines), _sampled(boxes[:, 1], boxes[:, 3], width, columns)
    rows_inside, columns_inside = _inside(y, height), _inside(x, width)
    is_inside = tf.logical_and(rows_inside[:, :, None], columns_inside[:, None, :])
    first = tf.cast(numbers, tf.int32)[:, None] * height

    def row_of(place: Any) -> Any:
        return (first + tf.cast(tf.clip_by_value(place, 0.0, height - 1.0), tf.int32)) * width

    def column_of(place: Any) -> Any:
        return tf.cast(tf.clip_by_value(place, 0.0, width - 1.0), tf.int32)

    def pixels_at(row: Any, column: Any) -> Any:
        return tf.gather(pixels, row_of(row)[:, :, None] + column_of(column)[:, None, :])

    if attributes["method"] == "nearest":
        crops = pixels_at(tf.round(y), tf.round(x))
    else:
        top, left = tf.floor(y), tf.floor(x)
        down, right = (y - top)[:, :, None, None], (x - left)[:, None, :, None]
        upper = pixels_at(top, left) + (pixels_at(top, tf.math.ceil(x)) - pixels_at(top, left)) * right
        bottom = tf.math.ceil(y)
        lower = pixels_at(bottom, left) + (pixels_at(bottom, tf.math.ceil(x)) - pixels_at(bottom, left)) * right
        crops = upper + (lower - upper) * down
    outside = tf.fill(tf.shape(crops), float(attributes["extrapolation_value"]))
    return tf.where(tf.broadcast_to(is_inside[..., None], tf.shape(crops)), tf.cast(crops, tf.float32), outside)


def _sampled(begin: Any, end: Any, extent: int, count: int) -> Any:
    """Places [boxes, count] along a dimension of `extent` pixels."""
    if count == 1:
        return (0.5 * (begin + end) * (extent - 1))[:, None]
    step = (end - begin) * (extent - 1) / (count - 1)
    return (begin * (extent - 1))[:, None] + np.arange(count, dtype=np.float32)[None, :] * step[:, None]


def _inside(places: Any, extent: int) -> Any:
    return tf.logical_and(places >= 0.0, places <= extent - 1.0)


def _patches(attributes: Mapping[str, Any], image: Any) -> Any:
    """A convolution with one filter per tap and channel, each of which is a single 1."""
    channels = static_shape(image, "the image")[3]
    _, height, width, _ = attributes["ksizes"].i
    depth = height * width * channels
    check_size(depth * depth, "the filters that take patches")
    filters = np.eye(depth, dtype=np.float32).reshape(height, width, channels, depth)
    strides, rates = list(attributes["strides"].i), list(attributes["rates"].i)
    return tf.nn.conv2d(image, filters, strides, attributes["padding"], dilations=rates)


def _combined_suppression(
    attributes: Mapping[str, Any], boxes: Any, scores: Any, per_class: Any, total: Any, overlap: Any, least: Any
) -> Any:
    """Suppression in each image and class, then the best of all classes."""
    batches, count, kinds, _ = static_shape(boxes, "the tensor of boxes")
    classes = static_shape(scores, "the tensor of scores")[2]
    if batches * classes > MOST_CLASSES:
        raise UnwritableError(f"{batches} images of {classes} classes are more than {MOST_CLASSES} suppressions")
    limit, kept = int(constant(per_class, "the number per class")), int(constant(total, "the number in all"))
    limit = min(limit, count)
    if attributes["pad_per_class"]:
        kept = min(kept, limit * classes)
    results = []
    for batch in range(batches):
        selected = [
            _of_class(boxes[batch, :, min(c, kinds - 1)], scores[batch, :, c], limit, overlap, least)
            for c in range(classes)
        ]
        all_scores = tf.concat([score for _, score in selected], 0)
        all_boxes = tf.concat([box for box, _ in selected], 0)
        room = max(kept - classes * limit, 0)
        best, places = tf.math.top_k(tf.pad(all_scores, [[0, room]], constant_values=-math.inf), kept)
        is_valid = best > -math.inf
        at = tf.minimum(places, classes * limit - 1)
        chosen = tf.gather(all_boxes, at)
        chosen = tf.clip_by_value(chosen, 0.0, 1.0) if attributes["clip_boxes"] else chosen
        chosen = tf.where(tf.broadcast_to(is_valid[:, None], [kept, 4]), chosen, tf.zeros([kept, 4]))
        labels = tf.where(is_valid, tf.cast(at // limit, tf.float32), tf.zeros([kept]))
        best = tf.where(is_valid, best, tf.zeros([kept]))
        results.append((chosen, best, labels, tf.reduce_sum(tf.cast(is_valid, tf.int32))))
    return tuple(tf.stack(part) for part in zip(*results, strict=True))


def _of_class(boxes: Any, scores: Any, limit: int, overlap: Any, least: Any) -> tuple[Any, Any]:
    """Boxes and scores that are left of one class; scores of -infinity behind them."""
    places, valid = tf.raw_ops.NonMaxSuppressionV4(
        boxes=boxes, scores=scores, max_output_size=limit, iou_threshold=_exceeding(overlap), score_threshold=least,
        pad_to_max_output_size=True,
    )  # fmt: skip
    places = tf.reshape(places, [limit])
    is_valid = np.arange(limit, dtype=np.int32) < valid
    return tf.gather(boxes, places), tf.where(is_valid, tf.gather(scores, places), tf.fill([limit], -math.inf))


def _exceeding(threshold: Any) -> Any:
    """The least threshold above this one: TFLite suppresses from it on, TensorFlow only beyond."""
    if isinstance(threshold, np.ndarray | np.generic | float):
        return np.nextafter(np.float32(threshold), np.float32(np.inf))
    return threshold * (1.0 + float(np.finfo(np.float32).eps))


def _suppression(
    attributes: Mapping[str, Any], boxes: Any, scores: Any, limit: Any, overlap: Any = 0.5, least: Any = -math.inf
) -> Any:
    """Indices of the selected boxes: TFLite's operator has zeros behind them, TensorFlow's ends with the last one."""
    threshold = _exceeding(attributes.get("iou_threshold", overlap))
    places, valid = tf.raw_ops.NonMaxSuppressionV4(
        boxes=boxes, scores=scores, max_output_size=limit, iou_threshold=threshold, score_threshold=least,
        pad_to_max_output_size=True,
    )  # fmt: skip
    return places[:valid]


def _counted_suppression(attributes: Mapping[str, Any], *operands: Any) -> Any:
    """Indices of the selected boxes, in version 5 their scores, and their number."""
    named = dict(zip(_SUPPRESSION_OPERANDS, operands, strict=False))
    named["iou_threshold"] = _exceeding(named["iou_threshold"])
    # Soft suppression lowers scores at any overlap in TensorFlow; TFLite leaves out what overlaps too much.
    if "soft_nms_sigma" in named and float(constant(named["soft_nms_sigma"], "sigma")) > 0:
        named["iou_threshold"] = np.float32(2.0)
    *lists, valid = getattr(tf.raw_ops, f"NonMaxSuppressionV{len(operands) - 1}")(**named, pad_to_max_output_size=True)
    if attributes["pad_to_max_output_size"]:
        return (*lists, valid)
    return (*(places[:valid] for places in lists), valid)


_SUPPRESSION_OPERANDS = (
    "boxes", "scores", "max_output_size", "iou_threshold", "score_threshold", "soft_nms_sigma",
)  # fmt: skip


IMAGES: Mapping[str, Write] = {
    **dict.fromkeys(("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3"), _suppression),
    **dict.fromkeys(("NonMaxSuppressionV4", "NonMaxSuppressionV5"), _counted_suppression),
    "CropAndResize": _crop_and_resize,
    "ExtractImagePatches": _patches,
    "CombinedNonMaxSuppression": _combined_suppression,
}
