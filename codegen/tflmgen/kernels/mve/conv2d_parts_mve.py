"""Convolutions in groups and TRANSPOSE_CONV in int8 for cores with MVE: parts that are convolutions of their own."""

from __future__ import annotations

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
from tflmgen.kernels.mve.conv2d_mve import (
    BUFFER_BYTES,
    STACK_BYTES,
    check_table,
    pair_stream,
    pairs_bytes,
    read_pairs,
    table_of,
)
from tflmgen.kernels.mve.mve_requantisation import fit, padded_bytes
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.numeric.packed_readers import reading_phases
from tflmgen.kernels.numeric.phases import phases_of, transposed_fields
from tflmgen.kernels.requests import GroupedConvolution, TransposedConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import params
from tflmgen.kernels.specification.window import Fields, Steps, Window

HEADER = "conv2d_parts_mve.h"
MAX_PIXEL = 2**14
"""Bytes from an output pixel to the next one: four of them are 16 bits."""

Words = NDArray[np.uint32]


def conv2d_groups_mve(request: GroupedConvolution) -> Kernel | None:
    """The kernel of a convolution whose channels are in groups; None where it would not be exact."""
    # A column of pixels is a line of them, in which four are next to each other.
    op, layer, window = request.op, request.layer, request.window
    channels, own, groups = len(layer.weights), request.group_inputs, request.groups
    variant = fit(layer)
    table = table_of(window, own)
    if variant is None or not variant.fixable or table is None or channels >= MAX_PIXEL:
        return None
    step = channels // groups
    packed = padded_bytes(layer.weights)
    rows = [np.arange(first, first + step) for first in range(0, channels, step)]
    streams = [pair_stream(packed[channels], layer.channels(channels)) for channels in rows]
    fields = (
        *window.fields(channels),
        *window.dilation_fields,
        ("groups", groups),
        ("padding_value", zero_point(input_type(op, 0))),
        ("chunks", packed.shape[1]),
    )
    return _kernel(
        0, "conv2d_groups", fields, (layer, variant.clamped), [table, *streams], packed.shape[1], request.macs
    )


def transpose_conv_mve(request: TransposedConvolution) -> Kernel | None:
    """The kernel of a TRANSPOSE_CONV; None where it would not be exact, or where an output has no tap."""
    op, window, layer = request.op, request.window, request.layer
    channels, terms = layer.weights.shape
    inputs, pixel = terms // (window.taps[0] * window.taps[1]), window.steps.stride_width * channels
    source = input_type(op, 2)
    phases = phases_of(window, layer, zero_point(source))
    if phases is None or pixel >= MAX_PIXEL:
        return None
    words: list[Words] = []
    longest, clamped = 0, False
    for taps, part in phases:
        shape = source.max_shape
        part_window = Window(Steps(False, 1, 1), (shape[0], shape[1], shape[2], shape[3]), taps)
        table, packed = table_of(part_window, inputs), padded_bytes(part.weights)
        variant = fit(part)
        if table is None or variant is None or not variant.fixable:
            return None
        clamped |= variant.clamped
        words += [table, pair_stream(packed, part)]
        longest = max(longest, packed.shape[1])
    fields: Fields = (*transposed_fields(op, window), ("padding_value", zero_point(source)))
    macs = source.elements * layer.weights.size // inputs
    return _kernel(2, "transpose_conv", fields, (layer, clamped), words, longest, macs)


def _kernel(
    source: int,
    name: str,
    fields: Fields,
    outputs: tuple[Int8Layer, bool],
    words: list[Words],
    chunks: int,
    macs: int,
) -> Kernel:
    layer, clamped = outputs
    ends = (
        ("output_zero_point", layer.zero_point),
        *layer.limit_fields(clamped),
    )
    scratch = Null() if BUFFER_BYTES * chunks <= STACK_BYTES else Scratch(BUFFER_BYTES * chunks)
    stream = ConstantArray.of("stream", np.concatenate(words), DType.UINT32)
    operands: tuple[Operand, ...] = (Input(source), stream, scratch, Output(0))
    call_params = params(f"tflmgen_{name}_mve_s8", fields, ends)
    return Kernel(
        f"tflmgen_{name}_mve_s8", HEADER, operands, call_params, cost=Cost(macs, f"{name}_mve"), variant="mve"
    )


def _read(call: PackedCall) -> list[UnpackedPart]:
    """A table and groups of channels, or of each phase of a TRANSPOSE_CONV a table and its channels."""
    return _read_phases(call) if "transpose_conv" in call.function else _read_groups(call)


def _read_groups(call: PackedCall) -> list[UnpackedPart]:
    groups, taps = call.number("groups"), (call.number("filter_height"), call.number("filter_width"))
    own, step = call.inputs // groups, call.channels // groups
    terms = taps[0] * taps[1] * own
    table, size = 32 * 2 * -(-terms // 16), pairs_bytes(step, terms)
    data = call.words()
    check_table(data[:table], call, taps, own, (call.number("dilation_height"), call.number("dilation_width")))
    if len(data) != table + groups * size:
        raise ValueError("the stream is not as long as its groups")
    return [
        UnpackedPart(
            np.arange(group * step, (group + 1) * step),
            *read_pairs(data[table + group * size : table + (group + 1) * size], call, step, terms, True),
        )
        for group in range(groups)
    ]


def _read_phases(call: PackedCall) -> list[UnpackedPart]:
    data, parts = call.words(), []
    for down, across in reading_phases(call):
        terms = len(down) * len(across) * call.inputs
        table, size = 32 * 2 * -(-terms // 16), pairs_bytes(call.channels, terms)
        check_table(data[:table], call, (len(down), len(across)), call.inputs, (1, 1))
        unpacked = read_pairs(data[table : table + size], call, call.channels, terms, True)
        parts.append(UnpackedPart(np.arange(call.channels), *unpacked, down, across))
        data = data[table + size :]
    if data:
        raise ValueError("the stream has more than its phases")
    return parts


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(GroupedConvolution, conv2d_groups_mve), Computes(TransposedConvolution, transpose_conv_mve)),
    {
        "conv2d_groups_mve": convolution_cost(
            "conv2d in groups", "part border cut_value line_gather line_gather_step block step", 4, 2, 16
        ),
        "transpose_conv_mve": transposed_cost(
            "transpose_conv", "part border cut_value line_gather line_gather_step line_four full_step", 4, 2, 16
        ),
    },
    (Cases("scaled_grouped transpose_conv"),),
    preference=3,
    read=_read,
)
