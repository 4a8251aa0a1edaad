"""Layers that TFLite has no operator for: pools of volumes, morphology, fused convolutions, cells, colours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tflmgen.tensorflow_worker.written_shapes import UnwritableError, Write, constant, static_shape


def _pooled_volume(pool: Callable[..., Any]) -> Write:
    """[N, D, H, W, C] pooled along H and W, then along D: a window's mean or maximum is that of its planes'."""

    def write(attributes: Mapping[str, Any], x: Any) -> Any:
        if attributes["data_format"] != "NDHWC":
            raise UnwritableError("channels come before other dimensions")
        batches, depth, height, width, channels = static_shape(x, "the input")
        (_, window, *sizes, _), (_, step, *steps, _) = attributes["ksize"].i, attributes["strides"].i
        planes = tf.reshape(x, [batches * depth, height, width, channels])
        planes = pool(planes, sizes, steps, attributes["padding"])
        _, height, width, _ = planes.shape
        rows = tf.reshape(planes, [batches, depth, height * width, channels])
        rows = pool(rows, [window, 1], [step, 1], attributes["padding"])
        return tf.reshape(rows, [batches, rows.shape[1], height, width, channels])

    return write


def _geometry(extent: int, window: int, step: int, padding: str) -> tuple[int, int]:
    """Number of windows along a dimension, and elements before the first that are none of the input's."""
    if padding == "VALID":
        return (extent - window) // step + 1, 0
    count = -(-extent // step)
    return count, max((count - 1) * step + window - extent, 0) // 2


def _pooled_with_places(attributes: Mapping[str, Any], x: Any) -> Any:
    """Largest elements of windows, and their flat places, the first of equal ones."""
    batches, height, width, channels = static_shape(x, "the input")
    (_, *sizes, _), (_, *steps, _) = attributes["ksize"].i, attributes["strides"].i
    sides = [
        _geometry(extent, size, step, attributes["padding"])
        for extent, size, step in zip((height, width), sizes, steps, strict=True)
    ]
    places = np.arange(height * width * channels, dtype=np.int32).reshape(height, width, channels)
    ends = [
        (before, max((count - 1) * step + size - before - extent, 0))
        for (count, before), extent, size, step in zip(sides, (height, width), sizes, steps, strict=True)
    ]
    padded = np.pad(places, [*ends, (0, 0)], constant_values=-1)
    windows = np.stack(
        [
            padded[
                i : i + (sides[0][0] - 1) * steps[0] + 1 : steps[0], j : j + (sides[1][0] - 1) * steps[1] + 1 : steps[1]
            ]
            for i, j in itertools.product(*map(range, sizes))
        ],
        -1,
    )
    rows = tf.concat([tf.fill([batches, 1], x.dtype.min), tf.reshape(x, [batches, -1])], 1)
    taps = tf.gather(rows, (windows + 1).reshape(-1), axis=1)
    taps = tf.reshape(taps, [batches, -1, windows.shape[-1]])
    best = tf.argmax(taps, 2, tf.int32)
    first = np.arange(windows[..., 0].size, dtype=np.int32) * windows.shape[-1]
    flat = tf.gather(windows.reshape(-1), best + first)
    if attributes["include_batch_in_index"]:
        flat = flat + (np.arange(batches, dtype=np.int32) * places.size)[:, None]
    shape = [batches, *windows.shape[:-1]]
    return tf.reshape(tf.reduce_max(taps, 2), shape), tf.cast(tf.reshape(flat, shape), attributes["Targmax"])


def _dilated(attributes: Mapping[str, Any], image: Any, filters: Any) -> Any:
    """Greyscale dilation: the largest sum of an element of a window and the filter's."""
    _, height, width, _ = static_shape(image, "the image")
    lines, columns, _ = static_shape(filters, "the filter")
    (_, *steps, _), (_, *rates, _) = attributes["strides"].i, attributes["rates"].i
    spans = [(lines - 1) * rates[0] + 1, (columns - 1) * rates[1] + 1]
    sides = [
        _geometry(extent, span, step, attributes["padding"])
        for extent, span, step in zip((height, width), spans, steps, strict=True)
    ]
    ends = [
        [before, max((count - 1) * step + span - before - extent, 0)]
        for (count, before), extent, span, step in zip(sides, (height, width), spans, steps, strict=True)
    ]
    padded = tf.pad(image, [[0, 0], *ends, [0, 0]], constant_values=image.dtype.min)
    largest = None
    for i, j in itertools.product(range(lines), range(columns)):
        top, left = i * rates[0], j * rates[1]
        taps = padded[
            :,
            top : top + (sides[0][0] - 1) * steps[0] + 1 : steps[0],
            left : left + (sides[1][0] - 1) * steps[1] + 1 : steps[1],
        ]
        taps = taps + filters[i, j]
        largest = taps if largest is None else tf.maximum(largest, taps)
    return largest


def _padded_convolution(attributes: Mapping[str, Any], image: Any, *operands: Any) -> Any:
    """Resized, if a size is given, padded by mirroring, convolved."""
    *sizes, paddings, filters = operands
    if sizes:
        corners = attributes["resize_align_corners"]
        image = tf.compat.v1.image.resize_bilinear(image, constant(sizes[0], "the size"), align_corners=corners)
    padded = tf.pad(image, constant(paddings, "the padding"), attributes["mode"])
    return tf.nn.conv2d(padded, filters, list(attributes["strides"].i), attributes["padding"])


def _convolution(attributes: Mapping[str, Any], x: Any, filters: Any) -> Any:
    """Convolution of any number of dimensions."""
    if len(x.shape) not in (4, 5) or attributes["batch_dims"] != 1 or attributes["groups"] != 1:
        raise UnwritableError("it is none of images or volumes, or it has groups")
    convolve = tf.nn.conv2d if len(x.shape) == 4 else tf.nn.conv3d
    return convolve(x, filters, list(attributes["strides"].i), attributes["padding"])


def _transposed(attributes: Mapping[str, Any], x: Any, filters: Any, gradient: Any) -> Any:
    more = {key: list(attributes[key].i) for key in ("strides", "dilations")}
    return tf.raw_ops.Conv2DBackpropInput(
        input_sizes=static_shape(x, "the input"), filter=filters, out_backprop=gradient,
        padding=attributes["padding"], data_format=attributes["data_format"], **more,
    )  # fmt: skip


def _normalised(attributes: Mapping[str, Any], *operands: Any) -> Any:
    names = ("x", "scale", "offset", "mean", "variance")
    more = {key: attributes[key] for key in ("epsilon", "exponential_avg_factor", "data_format", "is_training")}
    return tuple(tf.raw_ops.FusedBatchNormV3(**dict(zip(names, operands, strict=True)), **more))[:5]


def _gru_cell(_: Mapping[str, Any], x: Any, h: Any, gates: Any, candidate: Any, gate_bias: Any, bias: Any) -> Any:
    reset, update = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), gates) + gate_bias), 2, 1)
    new = tf.tanh(tf.matmul(tf.concat([x, reset * h], 1), candidate) + bias)
    return reset, update, new, update * h + (1.0 - update) * new


def _lstm_cell(attributes: Mapping[str, Any], x: Any, cell: Any, h: Any, w: Any, *operands: Any) -> Any:
    """Gates in the order input, new, forget, output; peepholes where they are used."""
    to_input, to_forget, to_output, bias = operands
    parts = tf.split(tf.matmul(tf.concat([x, h], 1), w) + bias, 4, 1)
    looks = attributes["use_peephole"]
    enter = tf.sigmoid(parts[0] + (cell * to_input if looks else 0.0))
    new = tf.tanh(parts[1])
    keep = tf.sigmoid(parts[2] + attributes["forget_bias"] + (cell * to_forget if looks else 0.0))
    state = new * enter + cell * keep
    clip = attributes["cell_clip"]
    state = tf.clip_by_value(state, -clip, clip) if clip > 0 else state
    leave = tf.sigmoid(parts[3] + (state * to_output if looks else 0.0))
    shown = tf.tanh(state)
    return enter, state, keep, leave, new, shown, shown * leave


def _to_hsv(rgb: Any) -> Any:
    red, green, blue = (rgb[..., i] for i in range(3))
    value, least = tf.reduce_max(rgb, -1), tf.reduce_min(rgb, -1)
    extent = value - least
    norm = 1.0 / (6.0 * tf.where(extent > 0.0, extent, tf.ones_like(extent)))
    others = tf.where(tf.equal(green, value), norm * (blue - red) + 2.0 / 6.0, norm * (red - green) + 4.0 / 6.0)
    hue = tf.where(tf.equal(red, value), norm * (green - blue), others)
    hue = tf.where(extent > 0.0, tf.where(hue < 0.0, hue + 1.0, hue), tf.zeros_like(hue))
    saturation = tf.where(value > 0.0, extent / tf.where(value > 0.0, value, tf.ones_like(value)), tf.zeros_like(value))
    return tf.stack([hue, saturation, value], -1)


def _to_rgb(hsv: Any) -> Any:
    hue, saturation, value = 6.0 * hsv[..., 0], hsv[..., 1], hsv[..., 2]
    parts = (tf.abs(hue - 3.0) - 1.0, 2.0 - tf.abs(hue - 2.0), 2.0 - tf.abs(hue - 4.0))
    shares = [tf.clip_by_value(part, 0.0, 1.0) for part in parts]
    return tf.stack([(1.0 - saturation + saturation * share) * value for share in shares], -1)


def _hue_moved(_: Mapping[str, Any], images: Any, delta: Any) -> Any:
    hsv = _to_hsv(images)
    hue = hsv[..., :1] + delta
    return _to_rgb(tf.concat([hue - tf.floor(hue), hsv[..., 1:]], -1))


def _saturated(_: Mapping[str, Any], images: Any, scale: Any) -> Any:
    hsv = _to_hsv(images)
    return _to_rgb(tf.concat([hsv[..., :1], tf.clip_by_value(hsv[..., 1:2] * scale, 0.0, 1.0), hsv[..., 2:]], -1))


def _contrasted(_: Mapping[str, Any], images: Any, factor: Any) -> Any:
    mean = tf.reduce_mean(images, [-3, -2], keepdims=True)
    return (images - mean) * factor + mean


LAYERS: Mapping[str, Write] = {
    "AdjustContrastv2": _contrasted,
    "AdjustHue": _hue_moved,
    "AdjustSaturation": _saturated,
    "AvgPool3D": _pooled_volume(tf.nn.avg_pool2d),
    "Conv": _convolution,
    "Conv2DBackpropInputV2": _transposed,
    "Dilation2D": _dilated,
    "FusedBatchNormV2": _normalised,
    "FusedPadConv2D": _padded_convolution,
    "FusedResizeAndPadConv2D": _padded_convolution,
    "GRUBlockCell": _gru_cell,
    "HSVToRGB": lambda _, images: _to_rgb(images),
    "LSTMBlockCell": _lstm_cell,
    "MaxPool3D": _pooled_volume(tf.nn.max_pool2d),
    "MaxPoolV2": lambda attributes, x, sizes, steps: tf.nn.max_pool2d(
        x, constant(sizes, "the window"), constant(steps, "the stride"), attributes["padding"]
    ),
    "MaxPoolWithArgmax": _pooled_with_places,
    "RGBToHSV": lambda _, images: _to_hsv(images),
}
