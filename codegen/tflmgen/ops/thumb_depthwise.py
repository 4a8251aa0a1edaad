"""DEPTHWISE_CONV_2D in int8 for every Cortex-M: the stream of weights, planes, and when the kernel is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap, Scratch
from tflmgen.ops.dsp_channels import Integers, Layer
from tflmgen.ops.rules import input_type, zero_point
from tflmgen.ops.thumb_channels import Rescalings, rescalings
from tflmgen.ops.weights import params
from tflmgen.ops.window import Window
from tflmgen.types import DType

HEADER = "depthwise_thumb.h"
PLANE_BYTES = (2048, 1024, 0)
"""What a plane takes, where that is enough for two lines of output, with 0 for one: more memory, or more strips."""

TAPS_BYTES = 16
"""Of two taps, beside the plane."""


def depthwise_thumb(op: OperatorInstance, window: Window, layer: Layer) -> tuple[Kernel, ...]:
    """The kernels of a layer with one filter per channel, with strips of several heights; none is exact for some.

    layer.weights: [channels, taps].
    """
    exact = rescalings(layer, layer.bias)
    if exact is None:
        return ()
    steps, output = window.steps, (window.height.output, window.width.output)
    line = steps.stride_width * (output[1] + output[1] % 2 - 1) + (window.taps[1] - 1) * steps.dilation_width + 1
    reach = (window.taps[0] - 1) * steps.dilation_height + 1
    helds = [max(size // (4 * line), reach + (steps.stride_height if size else 0)) for size in PLANE_BYTES]
    strips = dict.fromkeys(min(output[0], (held - reach) // steps.stride_height + 1) for held in helds)
    stream = _stream(layer.weights, exact)
    return tuple(_kernel(op, window, layer, exact, stream, line, strip) for strip in strips)


def _kernel(
    op: OperatorInstance,
    window: Window,
    layer: Layer,
    exact: Rescalings,
    stream: NDArray[np.uint32],
    line: int,
    strip: int,
) -> Kernel:
    channels, taps = layer.weights.shape
    steps, (height, width) = window.steps, (window.height.output, window.width.output)
    by_three = window.taps == (3, 3) and (steps.dilation_height, steps.dilation_width) == (1, 1)
    fields = params(
        "tflmgen_depthwise_thumb_s8",
        window.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))),),
        (("line", line), ("strip", strip), ("channel_words", stream.shape[1])),
        (("output_min", layer.low if exact.clamped else -128), ("output_max", layer.high if exact.clamped else 127)),
    )
    packed = ConstantArray.of("channels", stream.reshape(-1), DType.UINT32)
    records = 0 if by_three else TAPS_BYTES * -(-taps // 2)
    lines = (strip - 1) * steps.stride_height + (window.taps[0] - 1) * steps.dilation_height + 1
    scratch = Scratch(records + 4 * (line * lines + steps.stride_width))
    in_place = height <= window.input[1] and width <= window.input[2]
    return Kernel(
        f"tflmgen_depthwise_thumb_{'3x3' if by_three else 'window'}_{'signed' if exact.signed else 'clamped'}_s8",
        HEADER,
        (Input(0), packed, scratch, Output(0)),
        fields,
        (Overlap(0, 0, 0, exact=True),) if in_place else (),
        op.outputs[0].elements * taps,
        "thumb",
    )


def _stream(weights: Integers, exact: Rescalings) -> NDArray[np.uint32]:
    channels, taps = weights.shape
    padded = np.zeros((channels, -(-taps // 4) * 4), dtype=np.int8)
    padded[:, :taps] = weights
    if taps == 9:
        padded[:, 9] = _small(weights.reshape(channels, 3, 3))
    return np.concatenate([padded.view("<u4"), exact.words], axis=1)


def _small(rows: Integers) -> NDArray[np.bool_]:
    """Whether the products of each row, summed, stay in a half, for every input: [channels, row, weight]."""
    positive, negative = np.maximum(rows, 0).sum(axis=2), np.minimum(rows, 0).sum(axis=2)
    least, greatest = 127 * negative - 128 * positive, 127 * positive - 128 * negative
    result: NDArray[np.bool_] = ((least >= -(2**15) + 1) & (greatest <= 2**15)).all(axis=1)
    return result
