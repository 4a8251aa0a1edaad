"""Graphs of filters and pools over an image of open height and width, each with several strides and paddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from support.dynamic_axes import Shape, vary
from support.dynamic_models import one_graph
from support.model_writer import SubgraphWriter

SCALES = {"int8": ([0.05], [-7]), "int16": ([0.001], [0])}
PADDINGS = {"SAME": 0, "VALID": 1}

Steps = tuple[int, tuple[int, int], int]
"""Padding, strides (height, width), dilation."""

STEPS: tuple[Steps, ...] = (
    (0, (1, 1), 1),
    (0, (2, 2), 1),
    (0, (1, 3), 1),
    (0, (4, 2), 1),
    (0, (1, 1), 2),
    (1, (1, 1), 1),
    (1, (2, 1), 1),
    (1, (3, 2), 1),
    (1, (1, 1), 2),
)


def quantized(dtype: str, factor: float = 1.0) -> dict[str, Any]:
    """Quantisation of a tensor of `dtype`; empty for floats."""
    if dtype not in SCALES:
        return {}
    scale, zero_point = SCALES[dtype]
    return {"scale": [scale[0] * factor], "zero_point": zero_point}


def filters(name: str, dtype: str, shape: Shape, weights: str, taps: tuple[int, int] = (3, 3)) -> bytes:
    """CONV_2D or DEPTHWISE_CONV_2D of x by `weights` (a type), once for each of STEPS."""

    def build(g: SubgraphWriter) -> None:
        x = vary(g, "x", dtype, shape, **quantized(dtype))
        rng = np.random.default_rng(3)
        units, channels = (shape[3], shape[3]) if name == "DEPTHWISE_CONV_2D" else (5, shape[3])
        size = (1, *taps, units) if name == "DEPTHWISE_CONV_2D" else (units, *taps, channels)
        axis = 3 if name == "DEPTHWISE_CONV_2D" else 0
        scales = rng.uniform(0.01, 0.02, units)
        numbers = rng.integers(-127, 128, size)
        if weights == "float32":
            w = g.constant("w", (numbers * 0.01).astype(np.float32))
        else:
            w = g.constant("w", numbers, weights, scale=scales.tolist(), zero_point=[0] * units, axis=axis)
        bias = g.constant("bias", *_bias(dtype, scales, rng.integers(-999, 999, units)))
        for step, (padding, strides, dilation) in enumerate(STEPS):
            options = {
                "padding": padding,
                "stride_h": strides[0],
                "stride_w": strides[1],
                "dilation_h_factor": dilation,
                "dilation_w_factor": dilation,
                **({"depth_multiplier": 1} if name == "DEPTHWISE_CONV_2D" else {}),
            }
            y = vary(g, f"y{step}", dtype, (shape[0], -1, -1, units), **quantized(dtype, 3.0))
            g.operator(name, [x, w, bias], [y], options)
            g.outputs.append(y)
        g.inputs = [x]

    return one_graph(build)


def _bias(dtype: str, scales: Any, numbers: Any) -> Sequence[Any]:
    if dtype == "float32":
        return ((numbers * 0.01).astype(np.float32),)
    wide = "int32" if dtype == "int8" else "int64"
    product = SCALES[dtype][0][0] * scales
    return numbers, wide, product.tolist(), [0] * len(product)


def pools(name: str, dtype: str, shape: Shape, taps: tuple[int, int] = (3, 2)) -> bytes:
    """One pool of x for each of STEPS without dilation."""

    def build(g: SubgraphWriter) -> None:
        x = vary(g, "x", dtype, shape, **quantized(dtype))
        for step, (padding, strides, dilation) in enumerate(STEPS):
            if dilation > 1:
                continue
            options = {
                "padding": padding,
                "stride_h": strides[0],
                "stride_w": strides[1],
                "filter_height": taps[0],
                "filter_width": taps[1],
            }
            y = vary(g, f"y{step}", dtype, (shape[0], -1, -1, shape[3]), **quantized(dtype))
            g.operator(name, [x], [y], options)
            g.outputs.append(y)
        g.inputs = [x]

    return one_graph(build)
