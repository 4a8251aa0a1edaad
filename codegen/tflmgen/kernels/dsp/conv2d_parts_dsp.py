"""Convolutions in groups and TRANSPOSE_CONV in int8 for cores with the DSP extension: parts that are convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Null, Operand, OperatorInstance, Output, Scratch
from tflmgen.kernels.dsp.channels import Rescalings, first_sums, pair_words, rescalings
from tflmgen.kernels.dsp.conv2d_dsp import STACK_WORDS, channel_pairs
from tflmgen.kernels.numeric.int8_layer import Layer
from tflmgen.kernels.numeric.phases import phases_of, transposed_fields
from tflmgen.kernels.numeric.weights import params
from tflmgen.kernels.numeric.window import Fields, Window
from tflmgen.kernels.rules import input_type, zero_point

HEADER = "conv2d_parts_dsp.h"


def conv2d_groups_dsp(op: OperatorInstance, window: Window, layer: Layer) -> list[Kernel]:
    """The kernels of a convolution whose channels are in groups, as they are, and joined to groups of whole words; none
    where they would not be exact.

    layer.weights: [channels, taps * (input channels of a group)].
    """
    own = layer.weights.shape[1] // math.prod(window.taps)
    join = 4 // math.gcd(own, 4)
    made = [_groups(op, window, layer)]
    if join > 1 and window.input[3] // own % join == 0:
        made.append(_groups(op, window, _joined(layer, window, join)))
    return [replace(kernel, macs=op.outputs[0].elements * layer.weights.shape[1]) for kernel in made if kernel]


def _joined(layer: Layer, window: Window, count: int) -> Layer:
    """Groups of `count` groups, with zeros for the channels of the others."""
    channels, terms = layer.weights.shape
    own = terms // math.prod(window.taps)
    spread = np.zeros((channels, math.prod(window.taps), count, own), dtype=np.int64)
    group = np.arange(channels) * (window.input[3] // own) // channels
    spread[np.arange(channels), :, group % count] = layer.weights.reshape(channels, -1, own)
    return replace(layer, weights=spread.reshape(channels, -1))


def _groups(op: OperatorInstance, window: Window, layer: Layer) -> Kernel | None:
    # A column of pixels is a line of them, in which three are next to each other.
    window = window.line
    channels, terms = layer.weights.shape
    own = terms // math.prod(window.taps)
    groups = window.input[3] // own
    step = channels // groups
    layers = [layer.channels(np.arange(first, first + step)) for first in range(0, channels, step)]
    fields = (
        *window.fields(channels),
        *window.dilation_fields,
        ("groups", groups),
        ("padding_value", zero_point(input_type(op, 0))),
    )
    return _kernel(0, "conv2d_groups", fields, layers, own, op.outputs[0].elements * terms)


def transpose_conv_dsp(op: OperatorInstance, window: Window, layer: Layer) -> Kernel | None:
    """The kernel of a TRANSPOSE_CONV; None where it would not be exact, or where an output has no tap.

    window: of the convolution from the output to the input; layer.weights: [channels, taps * input channels].
    """
    source = input_type(op, 2)
    phases = phases_of(window, layer, zero_point(source))
    if phases is None:
        return None
    inputs = source.max_shape[3]
    fields = (*transposed_fields(op, window), ("padding_value", zero_point(source)))
    macs = source.elements * layer.weights.size // inputs
    return _kernel(2, "transpose_conv", fields, [part for _, part in phases], inputs, macs)


def _kernel(source: int, name: str, fields: Fields, layers: Sequence[Layer], own: int, macs: int) -> Kernel | None:
    found = [_stream(layer, rescalings(layer)) for layer in layers]
    known = [one for one in found if one is not None]
    if len(known) < len(layers):
        return None
    streams, clamped = [stream for stream, _ in known], any(clamped for _, clamped in known)
    steps = max(-(-layer.weights.shape[1] // 4) for layer in layers)
    column = 6 * steps + (steps if own % 4 else 0)
    scratch = Null() if column <= STACK_WORDS else Scratch(4 * column)
    ends = (
        ("output_min", layers[0].low if clamped else -128),
        ("output_max", layers[0].high if clamped else 127),
    )
    stream = ConstantArray.of("stream", np.concatenate(streams), DType.UINT32)
    operands: tuple[Operand, ...] = (Input(source), stream, scratch, Output(0))
    given = params(f"tflmgen_{name}_dsp_s8", fields, ends)
    return Kernel(f"tflmgen_{name}_dsp_s8", HEADER, operands, given, (), macs, "dsp")


def _stream(layer: Layer, exact: Rescalings | None) -> tuple[NDArray[np.uint32], bool] | None:
    """Channel pairs, a single channel paired with itself, and whether outputs need a clamp; None where not exact."""
    words = pair_words(layer.weights)
    if words is None or exact is None:
        return None
    starts = first_sums(layer, exact)
    if len(words) == 1:
        words, starts = np.repeat(words, 2, axis=0), np.repeat(starts, 2)
        exact = replace(exact, channels=2 * exact.channels)
    return channel_pairs(words, starts, exact), exact.clamped
