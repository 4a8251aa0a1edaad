"""Gradients of convolutions and pools as operators of tflmgen's own, and normalisation of batches.

TFLite has filters as [outputs, height, width, inputs], TensorFlow as [height, width, inputs, outputs].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.composites import fused_name
from tflmgen.tensorflow_worker.written_shapes import Attributes, UnwritableError, Write, constant, static_shape

_PADDINGS = {"SAME": 0, "VALID": 1}
"""TFLite's numbers."""


def _operator(name: str, attributes: Attributes, raw: Callable[..., Any], *operands: Any) -> Any:
    """A custom operator in the place of a function, whose body says what it computes."""
    options = {"padding": _PADDINGS["VALID" if attributes["padding"] == "EXPLICIT" else attributes["padding"]]}
    (_, stride_h, stride_w, _), dilations = attributes["strides"].i, attributes.get("dilations")
    options |= {"stride_h": stride_h, "stride_w": stride_w}
    if "ksize" in attributes:
        _, options["filter_height"], options["filter_width"], _ = attributes["ksize"].i
    elif dilations is not None:
        _, options["dilation_h_factor"], options["dilation_w_factor"], _ = dilations.i
    body = tf.function(raw, autograph=False, experimental_implements=fused_name(name, options))
    return body(*map(tf.convert_to_tensor, operands))


def _require_nhwc(attributes: Attributes) -> None:
    if attributes.get("data_format", "NHWC") != "NHWC":
        raise UnwritableError(f"the data format is {attributes['data_format']}", "Use NHWC, channels last")


def _pads(attributes: Attributes) -> list[tuple[int, int]]:
    """Explicit padding of each dimension."""
    pads = list(attributes["explicit_paddings"].i) if attributes["padding"] == "EXPLICIT" else [0] * 8
    return list(zip(pads[::2], pads[1::2], strict=True))


def _raw(attributes: Attributes) -> dict[str, Any]:
    """Attributes of the gradient operation for padding that is done outside."""
    padding = "VALID" if attributes["padding"] == "EXPLICIT" else attributes["padding"]
    own = {key: list(attributes[key].i) for key in ("strides", "dilations", "ksize") if key in attributes}
    return {**own, "padding": padding}


def _conv_filter(attributes: Attributes, x: Any, sizes: Any, g: Any) -> Any:
    _require_nhwc(attributes)
    shape = [int(n) for n in constant(sizes, "the filter's shape")]

    def raw(x: Any, g: Any) -> Any:
        result = tf.raw_ops.Conv2DBackpropFilter(input=x, filter_sizes=shape, out_backprop=g, **_raw(attributes))
        return tf.transpose(result, [3, 0, 1, 2])

    padded = tf.pad(x, _pads(attributes))
    result = _operator("TflmgenConv2DFilterGradient", attributes, raw, padded, g)
    return tf.transpose(result, [1, 2, 3, 0])


def _conv_input(attributes: Attributes, sizes: Any, filters: Any, g: Any) -> Any:
    _require_nhwc(attributes)
    shape, pads = [int(n) for n in constant(sizes, "the input's shape")], _pads(attributes)
    padded = [n + before + after for n, (before, after) in zip(shape, pads, strict=True)]

    def raw(g: Any, filters: Any) -> Any:
        own = tf.transpose(filters, [1, 2, 3, 0])
        return tf.raw_ops.Conv2DBackpropInput(input_sizes=padded, filter=own, out_backprop=g, **_raw(attributes))

    result = _operator("TflmgenConv2DInputGradient", attributes, raw, g, tf.transpose(filters, [3, 0, 1, 2]))
    return _inside(result, pads, shape)


def _inside(result: Any, pads: Sequence[tuple[int, int]], shape: Sequence[int]) -> Any:
    return tf.slice(result, [before for before, _ in pads], list(shape)) if any(map(any, pads)) else result


def _depthwise_filter(attributes: Attributes, x: Any, sizes: Any, g: Any) -> Any:
    _require_nhwc(attributes)
    shape = [int(n) for n in constant(sizes, "the filter's shape")]
    own = [1, *shape[:2], shape[2] * shape[3]]

    def raw(x: Any, g: Any) -> Any:
        operands = {"input": x, "filter_sizes": shape, "out_backprop": g}
        return tf.reshape(tf.raw_ops.DepthwiseConv2dNativeBackpropFilter(**operands, **_raw(attributes)), own)

    padded = tf.pad(x, _pads(attributes))
    return tf.reshape(_operator("TflmgenDepthwiseConv2DFilterGradient", attributes, raw, padded, g), shape)


def _depthwise_input(attributes: Attributes, sizes: Any, filters: Any, g: Any) -> Any:
    _require_nhwc(attributes)
    shape, pads = [int(n) for n in constant(sizes, "the input's shape")], _pads(attributes)
    padded = [n + before + after for n, (before, after) in zip(shape, pads, strict=True)]
    height, width, channels, multiple = static_shape(filters, "the filter")

    def raw(g: Any, flat: Any) -> Any:
        own = tf.reshape(flat, [height, width, channels, multiple])
        operands = {"input_sizes": padded, "filter": own, "out_backprop": g}
        return tf.raw_ops.DepthwiseConv2dNativeBackpropInput(**operands, **_raw(attributes))

    flat = tf.reshape(filters, [1, height, width, channels * multiple])
    return _inside(_operator("TflmgenDepthwiseConv2DInputGradient", attributes, raw, g, flat), pads, shape)


def _max_pool(attributes: Attributes, x: Any, y: Any, g: Any) -> Any:
    """To the first of a window's greatest elements."""
    _require_nhwc(attributes)
    del y

    def raw(x: Any, g: Any) -> Any:
        own = _raw(attributes)
        return tf.raw_ops.MaxPoolGrad(orig_input=x, orig_output=tf.raw_ops.MaxPool(input=x, **own), grad=g, **own)

    return _operator("TflmgenMaxPool2DGradient", attributes, raw, x, g)


def _average_pool(attributes: Attributes, sizes: Any, g: Any) -> Any:
    _require_nhwc(attributes)
    shape = [int(n) for n in constant(sizes, "the input's shape")]

    def raw(g: Any) -> Any:
        return tf.raw_ops.AvgPoolGrad(orig_input_shape=shape, grad=g, **_raw(attributes))

    return _operator("TflmgenAveragePool2DGradient", attributes, raw, g)


def _batch_norm(attributes: Attributes, x: Any, scale: Any, offset: Any, mean: Any, variance: Any) -> Any:
    """Ioffe and Szegedy, 2015; in training, averages move by `exponential_avg_factor`."""
    _require_nhwc(attributes)
    kept_mean, kept_variance = mean, variance
    new_mean, new_variance = mean, variance
    if attributes["is_training"]:
        kept_mean = tf.reduce_mean(x, [0, 1, 2])
        kept_variance = tf.reduce_mean(tf.square(x - kept_mean), [0, 1, 2])
        count = float(tf.TensorShape(static_shape(x, "the image")[:3]).num_elements())
        factor = float(attributes.get("exponential_avg_factor", 1.0))
        new_mean, new_variance = kept_mean, kept_variance * (count / max(count - 1.0, 1.0))
        if factor != 1.0:
            new_mean = (1.0 - factor) * mean + factor * new_mean
            new_variance = (1.0 - factor) * variance + factor * new_variance
    y = (x - kept_mean) * (tf.math.rsqrt(kept_variance + float(attributes["epsilon"])) * scale) + offset
    return y, new_mean, new_variance, kept_mean, kept_variance, tf.zeros([1])


def _batch_norm_gradient(
    attributes: Attributes, g: Any, x: Any, scale: Any, mean: Any, variance: Any, _: Any = None
) -> Any:
    """Gradients by x, scale and offset; averages that do not train are constants."""
    _require_nhwc(attributes)
    inverse = tf.math.rsqrt(variance + float(attributes["epsilon"]))
    normal = (x - mean) * inverse
    by_offset, by_scale = tf.reduce_sum(g, [0, 1, 2]), tf.reduce_sum(g * normal, [0, 1, 2])
    by_input = g
    if attributes["is_training"]:
        count = float(tf.TensorShape(static_shape(x, "the image")[:3]).num_elements())
        by_input = g - by_offset / count - normal * (by_scale / count)
    return by_input * (scale * inverse), by_scale, by_offset, tf.zeros([0]), tf.zeros([0])


WINDOW_GRADIENTS: Mapping[str, Write] = {
    "AvgPoolGrad": _average_pool,
    "Conv2DBackpropFilter": _conv_filter,
    "DepthwiseConv2dNativeBackpropFilter": _depthwise_filter,
    "DepthwiseConv2dNativeBackpropInput": _depthwise_input,
    "FusedBatchNormGrad": _batch_norm_gradient,
    "FusedBatchNormGradV2": _batch_norm_gradient,
    "FusedBatchNormGradV3": _batch_norm_gradient,
    "MaxPoolGrad": _max_pool,
}

WINDOWS: Mapping[str, Write] = {"Conv2DBackpropInput": _conv_input, "FusedBatchNormV3": _batch_norm}
"""Operations that graphs without gradients have, too."""
