"""CONV_2D in int8 for cores with the DSP extension: the stream of packed weights, and when it is exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import ConstantArray, Input, Kernel, Operand, OperatorInstance, Output, Overlap, Scratch
from tflmgen.ops.dsp_channels import Layer, Rescalings, first_sums, pair_words, rescalings
from tflmgen.ops.rules import input_type, zero_point
from tflmgen.ops.weights import FORWARD, go_backward, params
from tflmgen.ops.window import Window
from tflmgen.types import DType

HEADER = "conv2d_dsp.h"
BLOCK = 3
"""Pixels whose windows are read before any of their outputs is written."""

STACK_WORDS = 6 * 25
"""TFLMGEN_CONV2D_DSP_STACK_WORDS."""


def conv2d_dsp(op: OperatorInstance, window: Window, layer: Layer) -> Kernel | None:
    """The kernel of a convolution without groups; None where it would not be exact."""
    channels, terms = layer.weights.shape
    row = window.taps[1] * window.input[3]
    pitch = -(-row // 4) * 4
    if pitch * window.taps[0] > -(-terms // 4) * 4:
        pitch = row
    spread = _with_pitch(layer, row, pitch)
    exact, words = rescalings(layer), pair_words(spread.weights)
    if exact is None or words is None or channels < 2:
        return None
    steps = words.shape[1]
    fields = params(
        "tflmgen_conv2d_dsp_s8",
        window.flat.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("row_pitch", pitch), ("steps", steps)),
        FORWARD,
        (("output_min", layer.low if exact.clamped else -128), ("output_max", layer.high if exact.clamped else 127)),
    )
    column = 6 * steps + (0 if window.input[3] % 4 == 0 else steps + 1)
    on_stack = column <= STACK_WORDS
    stream = ConstantArray.of("stream", _stream(words, first_sums(spread, exact), exact), DType.UINT32)
    scratch: tuple[Operand, ...] = () if on_stack else (Scratch(4 * column),)
    function = f"tflmgen_conv2d_dsp_{'signed' if exact.signed else 'clamped'}{'_stack' if on_stack else ''}_s8"
    operands: tuple[Operand, ...] = (Input(0), stream, *scratch, Output(0))
    distance = window.block_distance(channels, BLOCK, steps_back=True)
    overlaps = (Overlap(0, 0, distance),) if distance < op.outputs[0].bytes else ()
    kernel = Kernel(function, HEADER, operands, fields, overlaps, op.outputs[0].elements * terms, "dsp")
    pixels = window.flat.input[2]
    return go_backward(op, kernel, window, range(pixels % BLOCK, pixels, BLOCK))


def _with_pitch(layer: Layer, row: int, pitch: int) -> Layer:
    """The same layer with zeros behind each row of a window, where whole words cost no more steps."""
    channels, terms = layer.weights.shape
    rows = layer.weights.reshape(channels, terms // row, row)
    padded = np.pad(rows, ((0, 0), (0, 0), (0, pitch - row)))
    return replace(layer, weights=padded.reshape(channels, -1))


def _stream(words: NDArray[np.uint32], starts: NDArray[np.uint32], exact: Rescalings) -> NDArray[np.uint32]:
    """Channel pairs; an odd channel at the end is paired with the one before it, computed twice."""
    channels, steps = words.shape
    firsts = list(range(0, channels - 1, 2)) + ([channels - 2] if channels % 2 else [])
    stream = np.zeros((len(firsts), 2 + 2 * steps + 5), dtype=np.uint32)
    for row, first, following in zip(stream, firsts, [*firsts[1:], firsts[-1]], strict=True):
        pair = exact.channels[first : first + 2]
        row[:2] = starts[first : first + 2]
        row[2 : 2 + 2 * steps] = words[first : first + 2].T.reshape(-1)
        row[-5:-1] = [n % 2**32 for channel in pair for n in (channel.multiplier, channel.addend)]
        row[-1] = pair[0].shift + (pair[1].shift << 8) + (following - first << 16)
    return stream.reshape(-1)
