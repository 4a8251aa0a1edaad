"""Cases whose outputs show every value of the input, to find out how far an output may really lie over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.kernel_harness import Array, Case, Tensor, constant, make_case, tensor

TRIES = 12
"""Inputs per case: of several, one is sure to show what the first overwritten value spoils."""

WINDOWS: dict[str, tuple[tuple[int, int, int], int, tuple[int, int], tuple[int, int], int]] = {
    "3x3": ((6, 5, 8), 8, (3, 3), (1, 1), 0),
    "3x3 of valid windows": ((7, 6, 8), 8, (3, 3), (1, 1), 1),
    "3x3 by two": ((8, 10, 8), 8, (3, 3), (2, 2), 0),
    "2x2 by two": ((6, 8, 8), 8, (2, 2), (2, 2), 1),
    "5x5": ((7, 9, 20), 8, (5, 5), (1, 1), 0),
    "5x1": ((9, 3, 12), 12, (5, 1), (1, 1), 0),
    "3x3 of one channel": ((7, 6, 1), 1, (3, 3), (1, 1), 0),
    "1x1": ((4, 5, 8), 8, (1, 1), (1, 1), 0),
    "1x1 of more channels": ((4, 5, 8), 16, (1, 1), (1, 1), 0),
    "1x1 of fewer channels": ((4, 5, 16), 8, (1, 1), (1, 1), 0),
}
"""Input (height, width, channels), output channels, filter, strides, padding (0: SAME, 1: VALID)."""

TILES: dict[str, tuple[tuple[int, int, int], int, tuple[int, int], tuple[int, int], int]] = {
    "whole tiles": ((8, 6, 8), 8, (3, 3), (1, 1), 0),
    "half tiles": ((5, 7, 4), 8, (3, 3), (1, 1), 0),
    "one line": ((1, 16, 8), 8, (3, 3), (1, 1), 0),
    "one column": ((9, 1, 8), 8, (3, 3), (1, 1), 0),
    "valid tiles": ((9, 8, 8), 12, (3, 3), (1, 1), 1),
    "fewer channels": ((6, 8, 12), 5, (3, 3), (1, 1), 0),
}
"""The same of 3x3 filters in steps of one pixel."""


def conv2d(window: str, dtype: str) -> Case:
    shape, channels, taps, _, _ = _window(window)
    filter_shape = (channels, *taps, shape[2])
    return make_case("CONV_2D", _operands(dtype, shape, filter_shape, 0), [_output(dtype)], _options(window))


def conv2d_beyond(window: str) -> Case:
    """One with pairs of weights that 16 bits do not hold."""
    shape, channels, taps, _, _ = WINDOWS[window]
    inputs = _operands("int8", shape, (channels, *taps, shape[2]), 0)
    assert inputs[1] is not None
    assert inputs[1].data is not None
    weights = np.array(inputs[1].data)
    weights[:, 0, 0, :2] = -1, -128
    inputs[1] = constant("int8", weights, [0.001] * channels, 0, 0)
    return make_case("CONV_2D", inputs, [_output("int8")], _options(window))


def depthwise(window: str, dtype: str) -> Case:
    shape, _, taps, _, _ = WINDOWS[window]
    filter_shape = (1, *taps, shape[2])
    inputs = _operands(dtype, shape, filter_shape, 3)
    return make_case("DEPTHWISE_CONV_2D", inputs, [_output(dtype)], {**_options(window), "depth_multiplier": 1})


def pool(window: str, dtype: str, operator: str = "AVERAGE_POOL_2D") -> Case:
    shape, _, taps, _, _ = WINDOWS[window]
    x = tensor(dtype, (1, *shape), None if dtype == "float32" else 0.05, 0)
    options = {**_options(window), "filter_height": taps[0], "filter_width": taps[1]}
    return make_case(operator, [x], [x], options)


def fully_connected(batches: int, depth: int, units: int, dtype: str) -> Case:
    inputs = _operands(dtype, (depth,), (units, depth), 0, batches)
    options = {"fused_activation_function": 0, "keep_num_dims": False}
    return make_case("FULLY_CONNECTED", inputs, [_output(dtype)], options)


def values(case: Case, rng: np.random.Generator) -> list[Array | None]:
    """Small values, so that no sum is clamped."""
    x = case.inputs[0]
    assert x is not None
    return [rng.integers(-9, 10, x.type.max_shape).astype(x.type.dtype.numpy), *[None] * (len(case.inputs) - 1)]


def _window(window: str) -> tuple[tuple[int, int, int], int, tuple[int, int], tuple[int, int], int]:
    return WINDOWS[window] if window in WINDOWS else TILES[window]


def _options(window: str) -> dict[str, Any]:
    _, _, _, stride, padding = _window(window)
    return {"padding": padding, "stride_h": stride[0], "stride_w": stride[1], "fused_activation_function": 0}


def _operands(
    dtype: str, shape: tuple[int, ...], filter_shape: tuple[int, ...], axis: int, batches: int = 1
) -> list[Tensor | None]:
    """Weights that differ, none of them zero."""
    ramp = np.arange(int(np.prod(filter_shape))).reshape(filter_shape) % 5 + 1
    if dtype == "float32":
        return [tensor(dtype, (batches, *shape)), constant(dtype, ramp), None]
    channels = filter_shape[axis]
    return [tensor(dtype, (batches, *shape), 0.05, 0), constant("int8", ramp, [0.01] * channels, 0, axis), None]


def _output(dtype: str) -> Tensor:
    return tensor(dtype, (), None if dtype == "float32" else 0.003, 0)
