"""CONV_2D in int8 for every Cortex-M: the stream of weights, and when the kernel is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Scratch
from tflmgen.ops.dsp_channels import Integers, Layer
from tflmgen.ops.rules import input_type, zero_point
from tflmgen.ops.thumb_channels import MOST_TERMS, Rescalings, rescalings
from tflmgen.ops.weights import FORWARD, go_backward, params
from tflmgen.ops.window import Window
from tflmgen.types import DType

HEADER = "conv2d_thumb.h"
BLOCK = 6
"""Pixels whose windows are read before any of their outputs is written."""


def conv2d_thumb(op: OperatorInstance, window: Window, layer: Layer) -> Kernel | None:
    """The kernel of a convolution without groups; None where it would not be exact."""
    channels, terms = layer.weights.shape
    exact = rescalings(layer, layer.bias - 128 * layer.weights.sum(axis=1))
    if exact is None or terms > MOST_TERMS:
        return None
    fields = params(
        "tflmgen_conv2d_thumb_s8",
        window.flat.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("terms", terms)),
        FORWARD,
        (("output_min", layer.low if exact.clamped else -128), ("output_max", layer.high if exact.clamped else 127)),
    )
    stream = ConstantArray.of("stream", _stream(layer.weights, exact), DType.UINT32)
    distance = window.block_distance(channels, BLOCK)
    overlaps = (Overlap(0, 0, distance),) if distance < op.outputs[0].bytes else ()
    kernel = Kernel(
        f"tflmgen_conv2d_thumb_{'signed' if exact.signed else 'clamped'}_s8",
        HEADER,
        (Input(0), stream, Scratch(4 * (BLOCK + BLOCK // 2 * terms)), Output(0)),
        fields,
        overlaps,
        op.outputs[0].elements * terms,
        "thumb",
    )
    pixels = window.flat.input[2]
    return go_backward(op, kernel, window, range(pixels % BLOCK, pixels, BLOCK))


def _stream(weights: Integers, exact: Rescalings) -> NDArray[np.uint32]:
    channels, terms = weights.shape
    padded = np.zeros((channels, -(-terms // 4) * 4), dtype=np.uint8)
    padded[:, padded.shape[1] - terms :] = weights + 128
    return np.concatenate([padded.view("<u4"), exact.words], axis=1).reshape(-1)
