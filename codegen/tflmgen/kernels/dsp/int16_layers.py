"""Layers of int16 by int8 weights for cores with the DSP extension: packed weights, and when they are exact.

The kernels (firmware/kernels/conv2d_s16_dsp.h and its neighbours) add up in 32 bits, and rescale by one rounding high
multiplication: (sum * m + 2^(t - 1)) >> t is (sum * (m << (32 - t)) + 2^31) >> 32 where t is 16 to 32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Operand, OperatorInstance, Output, Scratch
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.numeric.quantize_math import Activation
from tflmgen.kernels.numeric.weights import FORWARD, go_backward, overlaps, params, range_fields, sum_suffix
from tflmgen.kernels.numeric.window import Window

BLOCK = 3
"""Pixels whose windows are read before any of their outputs is written."""

COLUMN_WORDS = 6
"""Of a block, for four values of each of its windows."""

STACK_WORDS = header_constant("conv2d_s16_dsp.h", "TFLMGEN_CONV2D_S16_DSP_STACK_WORDS")
"""Words of an im2col buffer on the stack; a longer one is scratch."""

GROUP = 4
"""Units, or channels of a depthwise convolution, that are computed at a time."""

STACK_DEPTH = header_constant("fully_connected_s16_dsp.h", "TFLMGEN_FULLY_CONNECTED_S16_DSP_STACK")
"""Values of a row that is copied to the stack."""

ORDER = [0, 2, 1, 3]
"""The weights in the bytes of a word."""

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Int16Layer:
    """weights [channels, terms]; bias and multiplier of each channel."""

    weights: Integers
    bias: Integers
    multipliers: Integers


def int16_layer(op: OperatorInstance, weights: Integers, scales: Sequence[tuple[int, int]]) -> Int16Layer | None:
    """The layer of an operator [input, filter, bias]; None where 32 bits or one multiplication would not do."""
    bias = np.zeros(len(weights), dtype=np.int64)
    if len(op.inputs) > 2 and op.inputs[2] is not None:
        if op.constants[2] is None or sum_suffix(op) != "b64":
            return None
        bias = np.asarray(op.constants[2], dtype=np.int64).reshape(-1)
    rounded = [min((multiplier + 2**15) >> 16, 0x7FFF) for multiplier, _ in scales]
    totals = [15 - shift for _, shift in scales]
    fits = (np.abs(weights).sum(axis=1) * 2**15 + np.abs(bias) < 2**31).all()
    if not fits or not all(16 <= total <= 32 for total in totals):
        return None
    multipliers = [m << (32 - total) for m, total in zip(rounded, totals, strict=True)]
    return Int16Layer(weights, bias, np.array(multipliers, dtype=np.int64))


def conv2d_int16(op: OperatorInstance, window: Window, layer: Int16Layer, activation: Activation) -> Kernel | None:
    """The kernel of a convolution without groups; None for a single channel or fewer than three pixels."""
    channels, terms = layer.weights.shape
    pixels = math.prod(op.outputs[0].max_shape[:3])
    if channels < 2 or pixels < BLOCK:
        return None
    words = _words(layer.weights)
    steps = words.shape[1]
    column = COLUMN_WORDS * steps
    on_stack = column <= STACK_WORDS
    fields = params(
        "tflmgen_conv2d_s16_dsp",
        window.flat.fields(channels),
        window.dilation_fields,
        (("steps", steps), *FORWARD),
        range_fields(op, activation),
    )
    scratch: tuple[Operand, ...] = () if on_stack else (Scratch(4 * column),)
    stream = ConstantArray.of("stream", _pairs(words, layer), DType.UINT32)
    starts = [*range(BLOCK, pixels, BLOCK), *range(pixels - pixels % BLOCK + 1, pixels)]
    over_input = overlaps(op.outputs[0], window.starts_distance(channels, starts))
    name = f"tflmgen_conv2d_s16_dsp{'_stack' if on_stack else ''}"
    operands = (Input(0), stream, *scratch, Output(0))
    macs = op.outputs[0].elements * terms
    kernel = Kernel(name, "conv2d_s16_dsp.h", operands, fields, over_input, macs, "dsp")
    return go_backward(op, kernel, window, [*range(pixels % BLOCK), *range(pixels % BLOCK, pixels, BLOCK)])


def fully_connected_int16(
    op: OperatorInstance, layer: Int16Layer, batches: int, activation: Activation
) -> Kernel | None:
    """The kernel; None for long rows that are not of whole fours."""
    units, depth = layer.weights.shape
    if depth % 4 and depth > STACK_DEPTH:
        return None
    sizes = ("batches", batches), ("depth", depth), ("units", units)
    fields = params("tflmgen_fully_connected_s16_dsp", sizes, range_fields(op, activation))
    stream = ConstantArray.of("stream", _groups(_words(layer.weights), layer), DType.UINT32)
    # A row of whole fours is read again for each group, any other is copied first.
    last = units if depth % 4 else 1 if units % GROUP else GROUP
    distance = max(0, units - last + max(0, (batches - 1) * (units - depth)))
    return Kernel(
        "tflmgen_fully_connected_s16_dsp",
        "fully_connected_s16_dsp.h",
        (Input(0), stream, Output(0)),
        fields,
        overlaps(op.outputs[0], distance),
        op.outputs[0].elements * depth,
        "dsp",
    )


def depthwise_int16(op: OperatorInstance, window: Window, layer: Int16Layer, activation: Activation) -> Kernel:
    """The kernel of a convolution with one filter per channel."""
    channels, taps = layer.weights.shape
    weights = layer.weights.T.copy()
    whole = channels - channels % GROUP
    weights[:, :whole] = weights[:, :whole].reshape(taps, -1, GROUP)[:, :, ORDER].reshape(taps, whole)
    fields = params(
        "tflmgen_depthwise_conv2d_s16_dsp",
        window.fields(channels),
        window.dilation_fields,
        range_fields(op, activation),
    )
    operands = (
        Input(0),
        ConstantArray.of("weights", weights, DType.INT8),
        ConstantArray.of("bias", layer.bias, DType.INT32),
        ConstantArray.of("multipliers", layer.multipliers, DType.INT32),
        Output(0),
    )
    distance = window.group_distance(GROUP if channels == GROUP else 1)
    over_input = overlaps(op.outputs[0], distance)
    macs = op.outputs[0].elements * taps
    header = "depthwise_conv2d_s16_dsp.h"
    return Kernel("tflmgen_depthwise_conv2d_s16_dsp", header, operands, fields, over_input, macs, "dsp")


def _words(weights: Integers) -> NDArray[np.uint32]:
    """Rows in words of four, zeros behind."""
    channels, terms = weights.shape
    padded = np.pad(weights, ((0, 0), (0, -terms % 4))).astype(np.int8).reshape(channels, -1, 4)
    words: NDArray[np.uint32] = np.ascontiguousarray(padded[:, :, ORDER]).view("<u4").reshape(channels, -1)
    return words


def _unsigned(values: Integers) -> NDArray[np.uint32]:
    return (values % 2**32).astype(np.uint32)


def _pairs(words: NDArray[np.uint32], layer: Int16Layer) -> NDArray[np.uint32]:
    """Pairs of channels; an odd channel at the end is paired with the one before it, computed twice."""
    channels, steps = words.shape
    firsts = [*range(0, channels - 1, 2), *([channels - 2] if channels % 2 else [])]
    stream = np.zeros((len(firsts), 2 * steps + 5), dtype=np.uint32)
    for row, first, following in zip(stream, firsts, [*firsts[1:], firsts[-1]], strict=True):
        row[:2] = _unsigned(layer.bias[first : first + 2])
        row[2:-3] = words[first : first + 2].T.reshape(-1)
        row[-3:-1] = layer.multipliers[first : first + 2]
        row[-1] = 2 * (following - first)
    return stream.reshape(-1)


def _groups(words: NDArray[np.uint32], layer: Int16Layer) -> NDArray[np.uint32]:
    """Groups of four units, then single ones."""
    units = len(words)
    whole = units - units % GROUP
    parts = []
    for unit in [*range(0, whole, GROUP), *range(whole, units)]:
        some = slice(unit, unit + (GROUP if unit < whole else 1))
        parts += [_unsigned(layer.bias[some]), words[some].T.reshape(-1), _unsigned(layer.multipliers[some])]
    return np.concatenate(parts)
