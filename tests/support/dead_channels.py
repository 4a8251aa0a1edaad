"""Random int8 and int16 models whose layers have channels that are constant, and weights that ignore channels."""

from __future__ import annotations

from typing import Any

import numpy as np
from tflmgen.ir.types import TensorType

from support.kernel_harness import Tensor, constant
from support.random_layers import Layers, Node, activation, elementwise, reduced, same

FAR = 2_000_000
"""A bias that takes every sum beyond what weights can bring back."""


def _layer(
    layers: Layers,
    kind: str,
    shape: tuple[int, ...],
    axis: int,
    options: dict[str, Any],
    output: Tensor | None = None,
) -> bool:
    """A layer: some rows of weights are zeros, some biases far out, and some columns are zeros too."""
    rng, x = layers.rng, layers.at.tensor.type.quantization
    assert x is not None
    weights = rng.integers(-127, 128, shape)
    rows = np.moveaxis(weights, axis, 0)
    rows[rng.random(shape[axis]) < 0.3] = 0
    if kind != "DEPTHWISE_CONV_2D":
        weights[..., rng.random(shape[-1]) < 0.3] = 0
    scales = rng.uniform(0.002, 0.02, layers.pick(1, shape[axis]))
    bias = rng.integers(-3000, 3000, shape[axis])
    bias += rng.choice([-FAR, 0, 0, 0, FAR], shape[axis]) * (256 if layers.dtype == "int16" else 1)
    w = layers.node(constant("int8", weights, scales, 0, axis))
    wide = "int64" if layers.dtype == "int16" else "int32"
    b = layers.node(constant(wide, bias, np.resize(x.scale * scales, shape[axis]), 0, 0))
    like = None if output is None else Tensor(output.type)
    return layers.step(kind, w, *([b] if rng.random() < 0.8 else []), output=like, **options)


def convolution(layers: Layers) -> None:
    rng, shape = layers.rng, layers.at.shape
    if len(shape) != 4:
        return
    taps = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    options = {
        "padding": int(rng.integers(2)),
        "stride_h": int(rng.integers(1, 3)),
        "stride_w": int(rng.integers(1, 3)),
        "dilation_h_factor": int(layers.pick(1, 1, 2)),
        "dilation_w_factor": 1,
        "fused_activation_function": int(layers.pick(0, 1, 1, 3)),
    }
    if rng.random() < 0.6:
        _layer(layers, "CONV_2D", (int(rng.integers(1, 10)), *taps, shape[3]), 0, options)
    else:
        _layer(layers, "DEPTHWISE_CONV_2D", (1, *taps, shape[3] * int(layers.pick(1, 1, 2))), 3, options)


def pointwise(layers: Layers) -> None:
    shape = layers.at.shape
    if len(shape) == 4:
        options = {"padding": 0, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
        options["fused_activation_function"] = int(layers.pick(0, 1, 3))
        _layer(layers, "CONV_2D", (int(layers.rng.integers(1, 17)), 1, 1, shape[3]), 0, options)


def dense(layers: Layers) -> None:
    """A matrix; sometimes with rows of several pixels."""
    shape = layers.at.shape
    if layers.rng.random() < 0.5:
        layers.step("RESHAPE", layers.constant([1, -1]), output=same(layers))
        shape = layers.at.shape
    depth = shape[-1] * (shape[-2] if len(shape) > 2 and layers.rng.random() < 0.3 else 1)
    options = {"keep_num_dims": False, "fused_activation_function": int(layers.pick(0, 1))}
    _layer(layers, "FULLY_CONNECTED", (int(layers.rng.integers(1, 9)), depth), 0, options)


def pool(layers: Layers) -> None:
    shape = layers.at.shape
    if len(shape) != 4:
        return
    options = {"padding": int(layers.rng.integers(2)), "stride_h": 1, "stride_w": 2, "fused_activation_function": 0}
    options |= {"filter_height": int(layers.rng.integers(1, 3)), "filter_width": int(layers.rng.integers(1, 4))}
    layers.step(layers.pick("MAX_POOL_2D", "AVERAGE_POOL_2D"), output=same(layers), **options)


def pad(layers: Layers) -> None:
    rank = len(layers.at.shape)
    table = layers.rng.integers(0, 2, (rank, 2))
    table[0] = 0
    if layers.rng.random() < 0.7:
        table[-1] = 0
    layers.step("PAD", layers.constant(table), output=same(layers))


def resized(layers: Layers) -> None:
    """One of two ways to make an image larger or smaller."""
    if len(layers.at.shape) != 4 or layers.dtype != "int8":
        return
    size = layers.constant(layers.rng.integers(1, 7, 2))
    half = {"half_pixel_centers": bool(layers.rng.integers(2)), "align_corners": False}
    layers.step(layers.pick("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), size, output=same(layers), **half)


def gated(layers: Layers) -> None:
    """Squeeze and excitation: channels times what their means make of them."""
    x = layers.at
    if len(x.shape) != 4 or not layers.step("MEAN", layers.constant([1, 2]), keep_dims=True):
        return
    options = {"padding": 0, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    options["fused_activation_function"] = int(layers.pick(0, 1))
    if _layer(layers, "CONV_2D", (x.shape[3], 1, 1, x.shape[3]), 0, options):
        layers.step("MUL", x)


def residual(layers: Layers) -> None:
    """A layer of as many channels, and its sum with what it reads."""
    before, shape = layers.at, layers.at.shape
    if len(shape) != 4:
        return
    options = {"padding": 0, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    options["fused_activation_function"] = int(layers.pick(0, 1))
    if _layer(layers, "CONV_2D", (shape[3], 3, 3, shape[3]), 0, options):
        layers.step("ADD", before, fused_activation_function=int(layers.pick(0, 1)))


def joined(layers: Layers) -> None:
    """Two branches, or one and a constant, side by side; along the channels or another dimension."""
    before, axis = layers.at, int(layers.pick(-1, -1, 1))
    if len(before.shape) < 2:
        return
    pointwise(layers)
    other: Node = layers.at
    q = other.tensor.type.quantization
    if other.tensor.type.max_shape[:-1] != before.shape[:-1] or q is None:
        return
    if layers.rng.random() < 0.4:
        fixed = constant(layers.dtype, layers.rng.integers(-100, 100, other.shape), q.scale, q.zero_point)
        layers.step("CONCATENATION", layers.node(fixed), output=same(layers), axis=axis)
        return
    if len(other.shape) != 4:
        return
    # A second layer, quantised as the first.
    layers.at = before
    options = {"padding": 0, "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    shape = (other.shape[3], 1, 1, before.shape[3])
    if _layer(layers, "CONV_2D", shape, 0, options | {"fused_activation_function": 1}, other.tensor):
        layers.step("CONCATENATION", other, output=same(layers), axis=axis)


PIECES = (
    convolution,
    convolution,
    pointwise,
    pointwise,
    dense,
    pool,
    pad,
    resized,
    gated,
    residual,
    joined,
    activation,
    elementwise,
    reduced,
)


def dead_channels(rng: np.random.Generator, dtype: str) -> tuple[bytes, TensorType]:
    """A file with one input and one signature, and the type of the input."""
    shape = (1, int(rng.integers(1, 6)), int(rng.integers(1, 6)), int(rng.integers(1, 5)))
    layers = Layers(rng, dtype, shape)
    pointwise(layers)
    for _ in range(int(rng.integers(2, 7))):
        layers.pick(*PIECES)(layers)
    if rng.random() < 0.7:
        dense(layers)
    return layers.finish()
