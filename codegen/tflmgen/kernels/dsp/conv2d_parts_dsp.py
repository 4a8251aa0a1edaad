"""Convolutions in groups and TRANSPOSE_CONV in int8 for cores with the DSP extension: parts that are convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import (
    ConstantArray,
    Cost,
    Input,
    Kernel,
    Null,
    Operand,
    Output,
    PackedCall,
    Scratch,
    UnpackedPart,
)
from tflmgen.kernels.costs.cost_model import convolution_cost, transposed_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.conv2d_dsp import BLOCK, STACK_WORDS, channel_pairs, read_pairs
from tflmgen.kernels.dsp.dsp_requantisation import DspRequantisations, first_sums, pair_words, requantisations
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers
from tflmgen.kernels.numeric.packed_readers import reading_phases, without_padding
from tflmgen.kernels.numeric.phases import phases_of, transposed_fields
from tflmgen.kernels.requests import GroupedConvolution, TransposedConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import params
from tflmgen.kernels.specification.window import Fields

HEADER = "conv2d_parts_dsp.h"


def conv2d_groups_dsp(request: GroupedConvolution) -> list[Kernel]:
    """The kernels of a convolution whose channels are in groups: as they are, joined to groups of whole words, and
    with some channels beside a group's own to whole words; none where they would not be exact.
    """
    layer, own, groups = request.layer, request.group_inputs, request.groups
    join, whole = 4 // math.gcd(own, 4), -(-own // 4) * 4
    kernels = [_groups(request, layer, own, groups)]
    if join > 1 and groups % join == 0:
        kernels.append(_groups(request, _joined(request, join), own * join, groups // join))
    if 2 * own > whole > own:
        kernels.append(_groups(request, _widened(request, whole), whole, groups))
    return [kernel for kernel in kernels if kernel]


def _joined(request: GroupedConvolution, count: int) -> Int8Layer:
    """Groups of `count` groups, with zeros for the channels of the others."""
    group = np.arange(len(request.layer.weights)) * request.groups // len(request.layer.weights)
    return _spread(request, request.group_inputs * count, group % count * request.group_inputs)


def _widened(request: GroupedConvolution, width: int) -> Int8Layer:
    """Groups that see `width` channels, the first of which is theirs or comes before, with zeros for all others."""
    group = np.arange(len(request.layer.weights)) * request.groups // len(request.layer.weights)
    first = group * request.group_inputs
    return _spread(request, width, first - np.minimum(first, request.window.input[3] - width))


def _spread(request: GroupedConvolution, width: int, firsts: NDArray[np.int64]) -> Int8Layer:
    """The layer with `width` values of each tap, of which a channel's own begin at its place in `firsts`."""
    layer, own = request.layer, request.group_inputs
    rows = layer.weights.reshape(len(layer.weights), -1, own)
    spread = np.zeros((*rows.shape[:2], width), dtype=np.int64)
    np.put_along_axis(spread, (firsts[:, None] + np.arange(own))[:, None], rows, axis=2)
    return replace(layer, weights=spread.reshape(len(rows), -1))


def _groups(request: GroupedConvolution, layer: Int8Layer, inputs: int, groups: int) -> Kernel | None:
    """The kernel of `groups` groups, each of which sees so many input channels."""
    # A column of pixels is a line of them, in which three are next to each other.
    op, window = request.op, request.window
    channels = len(layer.weights)
    step = channels // groups
    layers = [layer.channels(np.arange(first, first + step)) for first in range(0, channels, step)]
    fields = (
        *window.fields(channels),
        *window.dilation_fields,
        ("groups", groups),
        ("group_inputs", inputs),
        ("padding_value", zero_point(input_type(op, 0))),
    )
    return _kernel(0, "conv2d_groups", fields, layers, inputs, request.macs)


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


def _kernel(source: int, name: str, fields: Fields, layers: Sequence[Int8Layer], own: int, macs: int) -> Kernel | None:
    trials = [_stream(layer, requantisations(layer)) for layer in layers]
    known = [stream for stream in trials if stream is not None]
    if len(known) < len(layers):
        return None
    streams, clamped = [stream for stream, _ in known], any(clamped for _, clamped in known)
    steps = max(-(-layer.weights.shape[1] // 4) for layer in layers)
    im2col_words = 2 * BLOCK * steps + (steps if own % 4 else 0)
    scratch = Null() if im2col_words <= STACK_WORDS else Scratch(4 * im2col_words)
    stream = ConstantArray.of("stream", np.concatenate(streams), DType.UINT32)
    operands: tuple[Operand, ...] = (Input(source), stream, scratch, Output(0))
    call_params = params(f"tflmgen_{name}_dsp_s8", fields, layers[0].limit_fields(clamped))
    return Kernel(
        f"tflmgen_{name}_dsp_s8", HEADER, operands, call_params, cost=Cost(macs, f"{name}_dsp"), variant="dsp"
    )


def _stream(layer: Int8Layer, requantisation: DspRequantisations | None) -> tuple[NDArray[np.uint32], bool] | None:
    """Channel pairs, a single channel paired with itself, and whether outputs need a clamp; None where not exact."""
    words = pair_words(layer.weights)
    if words is None or requantisation is None or not requantisation.fixable:
        return None
    starts = first_sums(layer, requantisation)
    if len(words) == 1:
        words, starts = np.repeat(words, 2, axis=0), np.repeat(starts, 2)
        requantisation = replace(requantisation, channels=2 * requantisation.channels)
    return channel_pairs(words, starts, requantisation), requantisation.clamped


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Groups of channels, or phases of a TRANSPOSE_CONV, one after the other: each has a stream of channel pairs."""
    phases = reading_phases(call) if "transpose_conv" in call.function else []
    groups = 1 if phases else call.number("groups")
    whole = (list(range(call.taps[0])), list(range(call.taps[1])))
    own, step = call.inputs // groups, call.channels // groups
    seen = own if phases else call.number("group_inputs")
    data, unpacked = call.words(), []
    for number, (down, across) in enumerate(phases or [whole] * groups):
        rows = np.arange(step) + (0 if phases else number * step)
        terms = len(down) * len(across) * seen
        size = 4 * -(-len(rows) // 2) * (2 * -(-terms // 4) + 7)
        weights, outputs = read_pairs(data[:size], len(rows), True)
        # Beside its own channels a group may see others, from where that many are left.
        first = 0 if phases else number * own - min(number * own, call.inputs - seen)
        own_weights = _own(without_padding(weights, terms), seen, first, own)
        unpacked.append(UnpackedPart(rows, own_weights, outputs, down, across))
        data = data[size:]
    if data:
        raise ValueError("the stream has more than its parts")
    return unpacked


def _own(weights: Integers, seen: int, first: int, own: int) -> Integers:
    """The `own` weights from `first` on of the `seen` ones of each tap. Raises ValueError where another is not zero."""
    taps = weights.reshape(len(weights), -1, seen)
    if taps[:, :, :first].any() or taps[:, :, first + own :].any():
        raise ValueError("weights of channels beside the group's are not zero")
    return taps[:, :, first : first + own].reshape(len(weights), -1)


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
