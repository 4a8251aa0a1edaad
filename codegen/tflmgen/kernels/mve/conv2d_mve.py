"""CONV_2D in int8 for cores with MVE: the stream of packed weights, and when it is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Null, Operand, Output, Overlap, Scratch
from tflmgen.kernels.costs.model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.mve.channels import fit, padded_bytes, words
from tflmgen.kernels.numeric.int8_layer import Layer
from tflmgen.kernels.numeric.weights import FORWARD, go_backward, params
from tflmgen.kernels.numeric.window import Window
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.rules import input_type, zero_point

HEADER = "conv2d_mve.h"
BLOCK = header_constant("conv2d_block_mve.h", "TFLMGEN_CONV2D_MVE_PIXELS")
"""Pixels whose windows are read before any of their outputs is written."""

STACK_BYTES = header_constant(HEADER, "TFLMGEN_CONV2D_MVE_STACK_BYTES")
"""Bytes of an im2col buffer on the stack; a longer one is scratch."""

CHUNK = 16
"""Values."""

COLUMN_BYTES = BLOCK * CHUNK
"""Per chunk."""


def conv2d_mve(request: Convolution) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels = len(layer.weights)
    exact = fit(layer)
    if exact is None:
        return None
    packed = padded_bytes(layer.weights)
    chunks = packed.shape[1]
    fields = params(
        "tflmgen_conv2d_mve_s8",
        window.flat.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("chunks", chunks)),
        (("output_zero_point", layer.zero_point),),
        FORWARD,
        (("output_min", layer.low if exact.clamped else -128), ("output_max", layer.high if exact.clamped else 127)),
    )
    column = COLUMN_BYTES * chunks
    table = np.zeros(0, dtype=np.uint32)
    if window.input[3] % 16 or window.steps.dilation_width > 1:
        values = table_of(window.flat, window.input[3])
        if values is None:
            return None
        table = values
    stream = ConstantArray.of("stream", np.concatenate([table, pair_stream(packed, layer)]), DType.UINT32)
    scratch = Null() if column <= STACK_BYTES else Scratch(column)
    function = f"tflmgen_conv2d_mve{'' if exact.signed else '_relu'}_s8"
    operands: tuple[Operand, ...] = (Input(0), stream, scratch, Output(0))
    distance = window.block_distance(channels, BLOCK)
    overlaps = (Overlap(0, 0, distance),) if distance < op.outputs[0].bytes else ()
    kernel = Kernel(function, HEADER, operands, fields, overlaps, request.macs, "mve")
    return go_backward(op, kernel, window, range(window.flat.input[2] % BLOCK, window.flat.input[2], BLOCK))


def table_of(window: Window, channels: int) -> NDArray[np.uint32] | None:
    """Of each value of a window with the first `channels` of the input's, by eights: offsets, rows, columns; None where
    they are beyond 16 or 8 bits."""
    _, height, width, pixel = window.input
    row, column, channel = np.unravel_index(np.arange(np.prod(window.taps) * channels), (*window.taps, channels))
    row, column = row * window.steps.dilation_height, column * window.steps.dilation_width
    offset = (row * width + column) * pixel + channel
    if offset[-1] >= 2**16 or max(row[-1], column[-1]) >= 2**8 or max(height, width) >= 2**15:
        return None
    chunks = -(-len(offset) // 16)
    table = np.zeros((2 * chunks, 32), dtype=np.uint8)
    for first, last, values, dtype in ((0, 16, offset, "<u2"), (16, 24, row, "u1"), (24, 32, column, "u1")):
        padded = np.zeros(16 * chunks, dtype=dtype)
        padded[: len(values)] = values
        table[:, first:last] = padded.view(np.uint8).reshape(2 * chunks, -1)
    return table.reshape(-1).view("<u4")


def pair_stream(packed: NDArray[np.uint32], layer: Layer) -> NDArray[np.uint32]:
    """Channel pairs; an odd channel at the end is paired with the one before it, a single one with itself."""
    channels, chunks, _ = packed.shape
    firsts = list(range(0, channels - 1, 2)) + ([max(channels - 2, 0)] if channels % 2 else [])
    stream = np.zeros((len(firsts), 8 * chunks + 6), dtype=np.uint32)
    biases = words(layer.bias)
    scales = words(np.array(layer.scales, dtype=np.int64))
    for row, first, following in zip(stream, firsts, [*firsts[1:], firsts[-1]], strict=True):
        pair = [first, min(first + 1, channels - 1)]
        row[: 8 * chunks] = packed[pair].transpose(1, 0, 2).reshape(-1)
        row[8 * chunks :] = np.column_stack([biases[pair], scales[pair]]).reshape(-1)
        row[-4] = (row[-4] & 255) + (following - first << 8)
    return stream.reshape(-1)


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(Convolution, conv2d_mve),),
    {"conv2d_mve": convolution_cost("line line_gather gathered_step cut_value alone_value block step", 4, 2, 16)},
    (Cases("scaled_conv2d scaled_grouped"),),
)
