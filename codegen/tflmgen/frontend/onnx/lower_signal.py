"""Fourier transforms, by SignalRfft or as products with constant matrices, and images out of columns."""

from __future__ import annotations

import math

import numpy as np

from tflmgen.frontend.onnx.element_graph import F32
from tflmgen.frontend.onnx.layer_graph import Graph
from tflmgen.frontend.onnx.layout_graph import OnnxValue, check_constant, constant
from tflmgen.frontend.onnx.lowerings import lowers
from tflmgen.frontend.onnx.move_graph import transpose
from tflmgen.frontend.onnx.node import OnnxNode, normal_axis
from tflmgen.frontend.onnx.node_error import NodeError


def _transform(g: Graph, value: OnnxValue, length: int, inverse: bool, onesided: bool) -> OnnxValue:
    """Transform along the last but one dimension of a value whose last is 1 (real) or 2 (real, imaginary)."""
    taken = min(value.shape[-2], length)
    value = g.part(value, value.rank - 2, 0, taken)
    to_real = onesided and inverse
    if is_fast(length) and not to_real:
        return _by_real_transforms(g, value, length, inverse, onesided)
    bins = length // 2 + 1 if onesided and not inverse else length
    check_constant((bins, taken), 8)
    angle = 2 * np.pi * np.outer(np.arange(bins), np.arange(taken)) / length
    if to_real and is_fast(length) and taken == length // 2 + 1:
        pairs = g.reshape(value, [*value.shape[:-2], length + 2])
        return g.unsqueeze(g.signal_transform("SignalIrfft", pairs, length), pairs.rank)
    if to_real:
        return _to_real(g, value, length, taken)
    sign, scale = (1.0, 1.0 / length) if inverse else (-1.0, 1.0)
    cosine, sine = np.cos(angle) * scale, sign * np.sin(angle) * scale
    parts = [g.part(value, value.rank - 1, k, 1) for k in range(value.shape[-1])]
    real, imaginary = g.matmul(constant(cosine, F32), parts[0]), g.matmul(constant(sine, F32), parts[0])
    if len(parts) == 2:
        real = g.sub(real, g.matmul(constant(sine, F32), parts[1]))
        imaginary = g.add(imaginary, g.matmul(constant(cosine, F32), parts[1]))
    return g.concat([real, imaginary], value.rank - 1)


def is_fast(length: int) -> bool:
    """Whether SignalRfft transforms as many real numbers: an even product of 2, 3 and 5 from 4 on."""
    rest = length
    for factor in (2, 3, 5):
        while rest % factor == 0 and rest > 1:
            rest //= factor
    return length % 2 == 0 and 4 <= length <= 1 << 16 and rest == 1


def _by_real_transforms(g: Graph, value: OnnxValue, length: int, inverse: bool, onesided: bool) -> OnnxValue:
    """_transform() by transforms of real numbers; a complex one is two of them, an inverse one that of conjugates."""
    parts = [g.squeeze(g.part(value, value.rank - 1, k, 1), [value.rank - 1]) for k in range(value.shape[-1])]
    bins, half = (length // 2 + 1 if onesided else length), length // 2 + 1
    places, spectra = np.arange(bins), []
    is_mirrored = places >= half
    places = np.where(is_mirrored, length - places, places)
    signs = np.stack([np.ones(bins), np.where(is_mirrored, -1.0, 1.0)], axis=1)
    for part in parts:
        pairs = g.reshape(g.signal_transform("SignalRfft", part, length), [*part.shape[:-1], half, 2])
        if bins > half:
            pairs = g.mul(g.gather(pairs, constant(places.astype(np.int32)), pairs.rank - 2), constant(signs, F32))
        spectra.append(pairs)
    result = spectra[0]
    if len(spectra) == 2:
        axis = result.rank - 1
        turned = g.concat([g.neg(g.part(spectra[1], axis, 1, 1)), g.part(spectra[1], axis, 0, 1)], axis)
        result = g.sub(result, turned) if inverse else g.add(result, turned)
    return g.mul(result, constant(np.array([1.0, -1.0]) / length, F32)) if inverse else result


def _to_real(g: Graph, value: OnnxValue, length: int, taken: int) -> OnnxValue:
    """The inverse of a one-sided transform: a real signal from the first half of its spectrum."""
    bins = np.arange(taken)
    weight = np.where((bins == 0) | (2 * bins == length), 1.0, 2.0) / length
    check_constant((length, taken), 8)
    angle = 2 * np.pi * np.outer(np.arange(length), bins) / length
    real = g.matmul(constant(np.cos(angle) * weight, F32), g.part(value, value.rank - 1, 0, 1))
    sines = constant(-np.sin(angle) * weight, F32)
    return g.add(real, g.matmul(sines, g.part(value, value.rank - 1, 1, 1)))


@lowers("DFT", evaluated=False)
def fourier_transform(node: OnnxNode) -> OnnxValue:
    """DFT along one axis. Raises NodeError if axis or length is not known at build time."""
    g, value = node.graph, node[0]
    axis_attribute = node.attribute("axis")
    if axis_attribute is None:
        axis_attribute = (
            int(node.known(2, "its axis").reshape(-1)[0]) if node.has(2) else (1 if node.version < 20 else -2)
        )
    axis = normal_axis(int(axis_attribute), value.rank)
    inverse, onesided = bool(node.attribute("inverse", 0)), bool(node.attribute("onesided", 0))
    length = value.shape[axis]
    if inverse and onesided:
        length = 2 * (length - 1)
    if node.has(1):
        length = int(node.known(1, "its length").reshape(-1)[0])
    order = [*(k for k in range(value.rank - 1) if k != axis), axis, value.rank - 1]
    transformed = _transform(g, transpose(value, order), length, inverse, onesided)
    return transpose(transformed, [order.index(k) for k in range(value.rank)])


@lowers("STFT", evaluated=False)
def short_time_transform(node: OnnxNode) -> OnnxValue:
    """STFT: frames as a gather, then their transforms. Raises NodeError without a window and a frame length."""
    g, signal = node.graph, node[0]
    step = int(node.known(1, "its step").reshape(-1)[0])
    window = node.optional(2)
    length = int(node.known(3, "its frame length").reshape(-1)[0]) if node.has(3) else 0
    length = length or (window.size if window is not None else 0)
    if not length:
        raise NodeError("has neither a window nor a frame length")
    signal = g.unsqueeze(signal, 2) if signal.rank == 2 else signal
    frames = 1 + (signal.shape[1] - length) // step
    places = np.arange(frames)[:, None] * step + np.arange(length)
    framed = g.gather(signal, constant(places.astype(np.int32)), 1)
    if window is not None:
        framed = g.mul(framed, g.reshape(window, [length, 1]))
    return _transform(g, framed, length, False, bool(node.attribute("onesided", 1)))


@lowers("Col2Im")
def image_from_columns(node: OnnxNode) -> OnnxValue:
    """Sums columns into the image from which their windows were taken: one padded addition per tap."""
    g, value = node.graph, node[0]
    image, block = node.integers(1, "its image") or [], node.integers(2, "its block") or []
    count = len(image)
    strides, dilations = node.attribute("strides") or [1] * count, node.attribute("dilations") or [1] * count
    pads = node.attribute("pads") or [0] * (2 * count)
    whole = [n + pads[k] + pads[k + count] for k, n in enumerate(image)]
    windows = [(n - (b - 1) * d - 1) // s + 1 for n, b, d, s in zip(whole, block, dilations, strides, strict=True)]
    channels = value.shape[1] // math.prod(block)
    taps = g.reshape(value, [value.shape[0], channels, math.prod(block), *windows])
    check_constant((math.prod(windows), math.prod(whole)), 8)
    places = np.arange(math.prod(whole)).reshape(whole)
    sums = []
    for number, tap in enumerate(np.ndindex(*block)):
        own = g.reshape(g.part(taps, 2, number, 1), [value.shape[0] * channels, math.prod(windows)])
        index = [t * d + s * np.arange(n) for t, d, s, n in zip(tap, dilations, strides, windows, strict=True)]
        matrix = np.zeros((math.prod(windows), math.prod(whole)))
        matrix[np.arange(math.prod(windows)), places[np.ix_(*index)].reshape(-1)] = 1
        sums.append(g.matmul(own, constant(matrix, F32)))
    joined_image = g.reshape(g.sum_of(sums), [value.shape[0], channels, *whole])
    return g.slices(joined_image, [0, 0, *pads[:count]], [*joined_image.shape[:2], *image], [1] * joined_image.rank)
