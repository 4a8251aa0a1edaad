"""Convolutions in groups and TRANSPOSE_CONV in int8 for cores with the DSP extension: parts that are convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Null, Operand, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import convolution_cost, transposed_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.conv2d_dsp import BLOCK, STACK_WORDS, channel_pairs, read_pairs
from tflmgen.kernels.dsp.dsp_requantisation import Rescalings, first_sums, pair_words, rescalings
from tflmgen.kernels.numeric.int8_layer import Layer
from tflmgen.kernels.numeric.packed_readers import reading_phases, without_padding
from tflmgen.kernels.numeric.phases import phases_of, transposed_fields
from tflmgen.kernels.numeric.weights import params
from tflmgen.kernels.numeric.window import Fields
from tflmgen.kernels.requests import GroupedConvolution, TransposedConvolution
from tflmgen.kernels.rules import input_type, zero_point

HEADER = "conv2d_parts_dsp.h"


def conv2d_groups_dsp(request: GroupedConvolution) -> list[Kernel]:
    """The kernels of a convolution whose channels are in groups, as they are, and joined to groups of whole words; none
    where they would not be exact.
    """
    join = 4 // math.gcd(request.group_inputs, 4)
    kernels = [_groups(request)]
    if join > 1 and request.groups % join == 0:
        kernels.append(_groups(replace(request, layer=_joined(request, join))))
    return [replace(kernel, macs=request.macs) for kernel in kernels if kernel]


def _joined(request: GroupedConvolution, count: int) -> Layer:
    """Groups of `count` groups, with zeros for the channels of the others."""
    layer, own = request.layer, request.group_inputs
    channels = len(layer.weights)
    spread = np.zeros((channels, math.prod(request.window.taps), count, own), dtype=np.int64)
    group = np.arange(channels) * request.groups // channels
    spread[np.arange(channels), :, group % count] = layer.weights.reshape(channels, -1, own)
    return replace(layer, weights=spread.reshape(channels, -1))


def _groups(request: GroupedConvolution) -> Kernel | None:
    # A column of pixels is a line of them, in which three are next to each other.
    op, layer, window, groups = request.op, request.layer, request.window.line, request.groups
    channels = len(layer.weights)
    step = channels // groups
    layers = [layer.channels(np.arange(first, first + step)) for first in range(0, channels, step)]
    fields = (
        *window.fields(channels),
        *window.dilation_fields,
        ("groups", groups),
        ("padding_value", zero_point(input_type(op, 0))),
    )
    return _kernel(0, "conv2d_groups", fields, layers, request.group_inputs, request.macs)


def transpose_conv_dsp(request: TransposedConvolution) -> Kernel | None:
    """The kernel of a TRANSPOSE_CONV; None where it would not be exact, or where an output has no tap."""
    op, window, layer = request.op, request.window, request.layer
    source = input_type(op, 2)
    phases = phases_of(window, layer, zero_point(source))
    if phases is None:
        return None
    inputs = source.max_shape[3]
    fields = (*transposed_fields(op, window), ("padding_value", zero_point(source)))
    macs = source.elements * layer.weights.size // inputs
    return _kernel(2, "transpose_conv", fields, [part for _, part in phases], inputs, macs)


def _kernel(source: int, name: str, fields: Fields, layers: Sequence[Layer], own: int, macs: int) -> Kernel | None:
    trials = [_stream(layer, rescalings(layer)) for layer in layers]
    known = [stream for stream in trials if stream is not None]
    if len(known) < len(layers):
        return None
    streams, clamped = [stream for stream, _ in known], any(clamped for _, clamped in known)
    steps = max(-(-layer.weights.shape[1] // 4) for layer in layers)
    column = 2 * BLOCK * steps + (steps if own % 4 else 0)
    scratch = Null() if column <= STACK_WORDS else Scratch(4 * column)
    ends = (
        ("output_min", layers[0].low if clamped else -128),
        ("output_max", layers[0].high if clamped else 127),
    )
    stream = ConstantArray.of("stream", np.concatenate(streams), DType.UINT32)
    operands: tuple[Operand, ...] = (Input(source), stream, scratch, Output(0))
    call_params = params(f"tflmgen_{name}_dsp_s8", fields, ends)
    return Kernel(
        f"tflmgen_{name}_dsp_s8", HEADER, operands, call_params, macs=macs, variant="dsp", family=f"{name}_dsp"
    )


def _stream(layer: Layer, exact: Rescalings | None) -> tuple[NDArray[np.uint32], bool] | None:
    """Channel pairs, a single channel paired with itself, and whether outputs need a clamp; None where not exact."""
    words = pair_words(layer.weights)
    if words is None or exact is None or not exact.fixable:
        return None
    starts = first_sums(layer, exact)
    if len(words) == 1:
        words, starts = np.repeat(words, 2, axis=0), np.repeat(starts, 2)
        exact = replace(exact, channels=2 * exact.channels)
    return channel_pairs(words, starts, exact), exact.clamped


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Groups of channels, or phases of a TRANSPOSE_CONV, one after the other: each has a stream of channel pairs."""
    phases = reading_phases(call) if "transpose_conv" in call.function else []
    groups = 1 if phases else call.number("groups")
    whole = (list(range(call.taps[0])), list(range(call.taps[1])))
    own, step = call.inputs // groups, call.channels // groups
    data, unpacked = call.words(), []
    for number, (down, across) in enumerate(phases or [whole] * groups):
        rows = np.arange(step) + (0 if phases else number * step)
        terms = len(down) * len(across) * own
        size = 4 * -(-len(rows) // 2) * (2 * -(-terms // 4) + 7)
        weights, outputs = read_pairs(data[:size], len(rows), True)
        unpacked.append(UnpackedPart(rows, without_padding(weights, terms), outputs, down, across))
        data = data[size:]
    if data:
        raise ValueError("the stream has more than its parts")
    return unpacked


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(GroupedConvolution, conv2d_groups_dsp), Computes(TransposedConvolution, transpose_conv_dsp)),
    {
        "conv2d_groups_dsp": convolution_cost(
            "conv2d in groups", "value cut cut_row cut_odd_value line_gather line_step", 3, 2, 4
        ),
        "transpose_conv_dsp": transposed_cost(
            "transpose_conv", "cut line_gather_row line_gather_step line_pass product_inside", 3, 2, 4
        ),
    },
    (Cases("grouped scaled_grouped transpose_conv"),),
    read=_read,
)
