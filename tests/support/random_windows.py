"""Random networks over a window of time, for tests of sliding windows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from support.random_layers import (
    Layers,
    activation,
    convolution,
    dense,
    elementwise,
    gated,
    normalised,
    pad,
    same,
    squeezed,
    weigh,
)


@dataclass(frozen=True, slots=True)
class Windowed:
    """A model, and along which axis of its only input time runs."""

    data: bytes
    axis: int


def random_window(seed: int, dtype: str) -> Windowed:
    """A chain of layers over 10 to 40 rows of time, and a head that reads all of them, the last, or each."""
    rng = np.random.default_rng(seed)
    rows, width, channels = (int(rng.integers(*limits)) for limits in ((10, 41), (1, 6), (1, 5)))
    shapes = [
        ((1, rows, width, channels), 1),
        ((1, rows, 1, channels), 1),
        ((1, 1, rows, channels), 2),
        ((1, rows, channels), 1),
        ((1, rows * width), 1),
    ]
    shape, axis = shapes[int(rng.integers(len(shapes)))]
    layers = Layers(rng, dtype, shape)
    if len(shape) == 2:
        layers.step("RESHAPE", layers.constant((1, rows, width, 1)), output=same(layers))
    if len(shape) == 3:
        layers.step("RESHAPE", layers.constant((1, rows, 1, channels)), output=same(layers))
    pieces = (along_time, along_time, convolution, activation, elementwise, dense, gated, pad, squeezed, normalised)
    for _ in range(int(rng.integers(2, 7))):
        layers.pick(*pieces)(layers)
    if seed % 5 == 4:
        strided(layers)
        layers.pick(*pieces)(layers)
    layers.pick(averaged, flattened, last, last, per_row)(layers)
    data, _ = layers.finish()
    return Windowed(data, axis)


def along_time(layers: Layers) -> None:
    """A convolution of stride 1 along the longer dimension of the image, as temporal networks have it."""
    rng, shape = layers.rng, layers.at.shape
    if len(shape) != 4:
        return
    is_high = shape[1] >= shape[2]
    taps = int(rng.integers(1, 5))
    dilation = int(layers.pick(1, 1, 2, 4))
    window = (taps, 1) if is_high else (1, taps)
    options = {
        "padding": int(rng.integers(2)),
        "stride_h": 1,
        "stride_w": 1,
        "dilation_h_factor": dilation if is_high else 1,
        "dilation_w_factor": 1 if is_high else dilation,
        "fused_activation_function": int(layers.pick(0, 1, 3)),
    }
    if rng.random() < 0.3:
        before = np.zeros((4, 2), np.int32)
        before[1 if is_high else 2, 0] = (taps - 1) * dilation
        layers.step("PAD", layers.constant(before), output=same(layers))
        options["padding"] = 1
    if rng.random() < 0.4:
        weigh(layers, "DEPTHWISE_CONV_2D", (1, *window, shape[3]), 3, options)
    else:
        weigh(layers, "CONV_2D", (int(rng.integers(1, 9)), *window, shape[3]), 0, options)


def strided(layers: Layers) -> None:
    """A convolution or pool of stride 2 or 3 along the longer dimension of the image, or two or three rows as one."""
    rng, shape = layers.rng, layers.at.shape
    if len(shape) != 4:
        return
    is_high = shape[1] >= shape[2]
    rows, stride = max(shape[1:3]), int(layers.pick(2, 2, 3))
    if rows < 3 * stride:
        return
    if rng.random() < 0.2 and rows % stride == 0 and min(shape[1:3]) == 1:
        joined = (1, rows // stride, 1, stride * shape[3])
        layers.step("RESHAPE", layers.constant(joined if is_high else (1, 1, *joined[1::2])), output=same(layers))
        return
    steps = (stride, 1) if is_high else (1, stride)
    taps = int(rng.integers(1, 5))
    window = (taps, 1) if is_high else (1, taps)
    options = {"padding": int(rng.integers(2)), "stride_h": steps[0], "stride_w": steps[1]}
    if rng.random() < 0.3:
        sizes = {"filter_height": window[0], "filter_width": window[1], "fused_activation_function": 0}
        pool = layers.pick("MAX_POOL_2D", "AVERAGE_POOL_2D")
        layers.step(pool, output=same(layers), **options, **sizes)
        return
    options |= {"dilation_h_factor": 1, "dilation_w_factor": 1, "fused_activation_function": 1}
    weigh(layers, "CONV_2D", (int(rng.integers(1, 9)), *window, shape[3]), 0, options)


def averaged(layers: Layers) -> None:
    """The mean, sum or greatest over time and what lies across, then a dense layer."""
    shape = layers.at.shape
    rank = len(shape)
    if rank == 4 and layers.rng.random() < 0.5:
        sizes = {"filter_height": shape[1], "filter_width": shape[2]}
        steps = {"padding": int(layers.rng.integers(2)), "stride_h": shape[1], "stride_w": shape[2]}
        layers.step("AVERAGE_POOL_2D", output=same(layers), fused_activation_function=0, **sizes, **steps)
        dense(layers)
        return
    axes = layers.constant(np.arange(1, max(2, rank - 1), dtype=np.int32))
    layers.step(layers.pick("MEAN", "MEAN", "SUM", "REDUCE_MAX"), axes, output=same(layers), keep_dims=False)
    if len(layers.at.shape) > 1:
        dense(layers)


def flattened(layers: Layers) -> None:
    layers.step("RESHAPE", layers.constant((1, int(np.prod(layers.at.shape)))), output=same(layers))
    dense(layers)


def last(layers: Layers) -> None:
    """The newest row alone, as causal networks read it."""
    shape = layers.at.shape
    axis = int(np.argmax(shape))
    begin, size = np.zeros(len(shape), np.int32), np.array(shape, np.int32)
    begin[axis], size[axis] = shape[axis] - 1, 1
    layers.step("SLICE", layers.constant(begin), layers.constant(size), output=same(layers))
    dense(layers)


def per_row(layers: Layers) -> None:
    """An output for each row, perhaps as probabilities."""
    dense(layers)
    if layers.dtype == "float32":
        layers.step("SOFTMAX", beta=1.0)
