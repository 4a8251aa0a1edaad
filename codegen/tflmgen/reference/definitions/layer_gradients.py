"""Gradients of convolutions and pools, as sums over the taps of their windows; and a value under a condition.

Written from the derivative of what weighted_sums.py and window_pools.py compute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from tflmgen.reference.definitions.window_geometry import WindowAxis, image_axes, padded, tap
from tflmgen.reference.operation import Array, Evaluation, Operation, RunTimeError

Axes = tuple[WindowAxis, WindowAxis]


def _result_shape(op: Operation) -> tuple[int, ...]:
    return tuple(int(size) for size in op.output.max_shape)


def _places(axes: Axes) -> list[tuple[int, int]]:
    return list(product(range(axes[0].taps), range(axes[1].taps)))


def _without_padding(around: Array, axes: Axes) -> Array:
    """The pixels of the image in a padded one."""
    cuts = [slice(axis.before, axis.before + axis.size) for axis in axes]
    return around[:, cuts[0], cuts[1]]


def _groups(channels: int, filters: tuple[int, ...]) -> int:
    return channels // filters[3]


def _filter_gradient(op: Operation) -> Sequence[Array]:
    image, gradient, shape = op.real(0), op.real(1), _result_shape(op)
    axes = image_axes(op.options, image.shape, (shape[1], shape[2]))
    around, groups = padded(image, axes), _groups(image.shape[3], shape)
    slopes = gradient.reshape(*gradient.shape[:3], groups, -1)
    result = np.zeros(shape)
    for y, x in _places(axes):
        seen = tap(around, axes, (y, x)).reshape(*gradient.shape[:3], groups, shape[3])
        result[:, y, x] = np.einsum("nhwgo,nhwgi->goi", slopes, seen).reshape(shape[0], shape[3])
    return [op.clamped_real(result)]


def _input_gradient(op: Operation) -> Sequence[Array]:
    gradient, filters, shape = op.real(0), op.real(1), _result_shape(op)
    axes = image_axes(op.options, shape, (filters.shape[1], filters.shape[2]))
    around, groups = padded(np.zeros(shape), axes), _groups(shape[3], filters.shape)
    slopes = gradient.reshape(*gradient.shape[:3], groups, -1)
    for y, x in _places(axes):
        weights = filters[:, y, x].reshape(groups, -1, filters.shape[3])
        tap(around, axes, (y, x))[...] += np.einsum("nhwgo,goi->nhwgi", slopes, weights).reshape(
            *gradient.shape[:3], shape[3]
        )
    return [op.clamped_real(_without_padding(around, axes))]


def _depthwise_filter_gradient(op: Operation) -> Sequence[Array]:
    image, gradient, shape = op.real(0), op.real(1), _result_shape(op)
    axes = image_axes(op.options, image.shape, (shape[1], shape[2]))
    around = padded(np.repeat(image, shape[3] // image.shape[3], axis=3), axes)
    result = np.zeros(shape)
    for y, x in _places(axes):
        result[0, y, x] = (tap(around, axes, (y, x)) * gradient).sum(axis=(0, 1, 2))
    return [op.clamped_real(result)]


def _depthwise_input_gradient(op: Operation) -> Sequence[Array]:
    gradient, filters, shape = op.real(0), op.real(1), _result_shape(op)
    axes = image_axes(op.options, shape, (filters.shape[1], filters.shape[2]))
    around = padded(np.zeros(shape), axes)
    for y, x in _places(axes):
        shares = (gradient * filters[0, y, x]).reshape(*gradient.shape[:3], shape[3], -1)
        tap(around, axes, (y, x))[...] += shares.sum(axis=4)
    return [op.clamped_real(_without_padding(around, axes))]


def _pool_axes(op: Operation) -> Axes:
    taps = (int(op.options["filter_height"]), int(op.options["filter_width"]))
    return image_axes(op.options, _result_shape(op), taps)


def _max_pool_gradient(op: Operation) -> Sequence[Array]:
    image, gradient, axes = op.real(0), op.real(1), _pool_axes(op)
    around, result = padded(image, axes, -np.inf), padded(np.zeros_like(image), axes)
    inside = padded(np.ones_like(image), axes)
    windows = np.stack([tap(around, axes, place) for place in _places(axes)])
    counts = np.stack([tap(inside, axes, place) for place in _places(axes)]) > 0
    first = np.where(counts, windows, -np.inf).argmax(axis=0)
    for number, place in enumerate(_places(axes)):
        tap(result, axes, place)[...] += np.where(first == number, gradient, 0.0)
    return [op.clamped_real(_without_padding(result, axes))]


def _average_pool_gradient(op: Operation) -> Sequence[Array]:
    gradient, axes = op.real(0), _pool_axes(op)
    counts = np.maximum(axes[0].taps_inside[:, None] * axes[1].taps_inside[None, :], 1)[..., None]
    result = padded(np.zeros(_result_shape(op)), axes)
    for place in _places(axes):
        tap(result, axes, place)[...] += gradient / counts
    return [op.clamped_real(_without_padding(result, axes))]


def _require(op: Operation) -> Sequence[Array]:
    if not op.array(0).all():
        raise RunTimeError("a condition does not hold")
    return [op.array(1)]


EVALUATIONS: Mapping[str, Evaluation] = {
    "CUSTOM:TflmgenConv2DFilterGradient": _filter_gradient,
    "CUSTOM:TflmgenConv2DInputGradient": _input_gradient,
    "CUSTOM:TflmgenDepthwiseConv2DFilterGradient": _depthwise_filter_gradient,
    "CUSTOM:TflmgenDepthwiseConv2DInputGradient": _depthwise_input_gradient,
    "CUSTOM:TflmgenMaxPool2DGradient": _max_pool_gradient,
    "CUSTOM:TflmgenAveragePool2DGradient": _average_pool_gradient,
    "CUSTOM:TflmgenRequire": _require,
    "CUSTOM:TflmgenAfter": lambda op: [op.array(0)],
}
