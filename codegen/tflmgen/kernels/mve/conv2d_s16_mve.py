"""CONV_2D of int16 by int8 for cores with MVE: the stream of packed weights, and when the kernel is applicable."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Null, Output, PackedCall, Scratch, UnpackedSums
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int16_layer import Int16Layer
from tflmgen.kernels.numeric.packed_readers import records, without_padding
from tflmgen.kernels.numeric.stream_words import as_words
from tflmgen.kernels.requests import Int16Convolution
from tflmgen.kernels.specification.weights import FORWARD, go_backward, overlaps, params, range_fields

HEADER = "conv2d_s16_mve.h"
GROUP = header_constant(HEADER, "TFLMGEN_CONV2D_S16_MVE_CHANNELS")
"""Channels that are computed at a time, and values of a step."""

STACK_BYTES = header_constant(HEADER, "TFLMGEN_CONV2D_S16_MVE_STACK_BYTES")
"""Bytes of a row on the stack; a longer one is scratch."""

HALVES = [0, 2, 4, 6, 1, 3, 5, 7]
"""Channels of a group as the vectors of their multipliers have them."""


def conv2d_s16_mve(request: Int16Convolution) -> Kernel:
    """The kernel of a convolution without groups."""
    op, window, layer = request.op, request.window, request.layer
    channels, terms = layer.weights.shape
    pixels = math.prod(op.outputs[0].max_shape[:3])
    fields = params(
        "tflmgen_conv2d_s16_mve",
        window.flat.fields(channels),
        window.dilation_fields,
        (("chunks", -(-terms // GROUP)), *FORWARD),
        range_fields(op, request.activation),
    )
    operands = (Input(0), stream_of(layer), row_for(terms), Output(0))
    input_overlaps = overlaps(op.outputs[0], window.block_distance(channels, 1))
    macs = op.outputs[0].elements * terms
    kernel = Kernel("tflmgen_conv2d_s16_mve", HEADER, operands, fields, input_overlaps, Cost(macs), "mve")
    return go_backward(op, kernel, window, range(pixels))


def row_for(terms: int) -> Null | Scratch:
    """Scratch for a row's copy of so many values, filled up to a multiple of eight; Null if the stack has room."""
    size = 2 * GROUP * -(-terms // GROUP)
    return Null() if size <= STACK_BYTES else Scratch(size)


def stream_of(layer: Int16Layer) -> ConstantArray:
    """The stream as an operand."""
    return ConstantArray.of("stream", stream_words(layer), DType.UINT32)


def stream_words(layer: Int16Layer) -> NDArray[np.uint32]:
    """Groups of eight channels, zeros for those that the last one lacks."""
    channels, terms = layer.weights.shape
    groups, chunks = -(-channels // GROUP), -(-terms // GROUP)
    weights = np.zeros((groups * GROUP, chunks * GROUP), dtype=np.int8)
    weights[:channels, :terms] = layer.weights
    order = weights.reshape(groups, GROUP, chunks, GROUP).transpose(0, 2, 1, 3)
    bias, multipliers = (grouped(values) for values in (layer.bias, layer.multipliers))
    packed = np.ascontiguousarray(order).view("<u4").reshape(groups, -1)
    return np.concatenate([bias, packed, multipliers[:, HALVES]], axis=1).reshape(-1)


def stream_bytes(channels: int, terms: int) -> int:
    """Bytes of a stream of so many channels whose windows have `terms` values."""
    return -(-channels // GROUP) * (GROUP * GROUP * -(-terms // GROUP) + 8 * GROUP)


def grouped(values: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Values of channels as words [groups, 8], zeros behind."""
    return as_words(np.pad(values, (0, -len(values) % GROUP))).reshape(-1, GROUP)


def read_groups(call: PackedCall) -> list[UnpackedSums]:
    """A call's only stream."""
    return [read_stream(call.words(), call.channels, call.terms)]


def read_stream(data: bytes, channels: int, terms: int) -> UnpackedSums:
    """Groups of eight channels: biases, eight weights of each for every chunk, multipliers of even and of odd ones."""
    chunks = -(-terms // 8)
    fields = [("bias", "<i4", (8,)), ("weights", "i1", (chunks, 8, 8)), ("even", "<i4", (4,)), ("odd", "<i4", (4,))]
    stream = records(data, fields, -(-channels // 8))
    weights = stream["weights"].transpose(0, 2, 1, 3).reshape(-1, 8 * chunks)
    starts = stream["bias"].reshape(-1)
    high = np.stack([stream["even"], stream["odd"]], axis=-1).reshape(-1)
    if weights[channels:].any() or starts[channels:].any() or high[channels:].any():
        raise ValueError("channels that the last group lacks are not zero")
    starts, high = (values[:channels].astype(np.int64) for values in (starts, high))
    return UnpackedSums(without_padding(weights[:channels], terms), starts, high)


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(Int16Convolution, conv2d_s16_mve),),
    {
        "conv2d_s16_mve": convolution_cost(
            "conv2d int16", "pixel spread_pixel row dilated_tap gathered_step block step", 1, 8, 8
        )
    },
    (Cases("conv2d_s16"),),
    read=read_groups,
)
