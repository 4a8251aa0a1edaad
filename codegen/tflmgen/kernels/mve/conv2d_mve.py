"""CONV_2D in int8 for cores with MVE: the stream of packed weights, and when the kernel is applicable."""

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
    Outputs,
    PackedCall,
    Scratch,
    UnpackedPart,
)
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.mve_requantisation import fit, padded_bytes
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers
from tflmgen.kernels.numeric.kernel_requantisation import Rounding
from tflmgen.kernels.numeric.packed_readers import agreeing, pairs_of, records, without_padding
from tflmgen.kernels.numeric.stream_words import as_words, pair_firsts
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import FORWARD, go_backward, overlaps, params
from tflmgen.kernels.specification.window import Fields, Window

HEADER = "conv2d_mve.h"
BLOCK = header_constant("conv2d_block_mve.h", "TFLMGEN_CONV2D_MVE_PIXELS")
"""Pixels whose windows are read before any of their outputs is written."""

STACK_BYTES = header_constant("conv2d_block_mve.h", "TFLMGEN_CONV2D_MVE_STACK_BYTES")
"""Bytes of an im2col buffer on the stack; a longer one is scratch."""

SHORT = header_constant("conv2d_block_mve.h", "TFLMGEN_CONV2D_MVE_SHORT")
"""Chunks of windows up to which there are functions for them alone."""

CHUNK = 16
"""Values of a window that a vector register holds."""

BUFFER_BYTES = BLOCK * CHUNK
"""Bytes of the im2col buffer for each chunk of a window."""


def conv2d_mve(request: Convolution) -> Kernel | None:
    """The kernel, of single pixels or of any windows; None where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels, inputs, pixels = len(layer.weights), window.input[3], window.flat.input[2]
    variant = fit(layer)
    if variant is None:
        return None
    packed = padded_bytes(layer.weights)
    chunks = packed.shape[1]
    is_line = window.is_pointwise and not any(window.steps.before + window.steps.after)
    name, table = "conv2d_pixels_mve" if is_line else "conv2d_mve", None
    fields: Fields
    if is_line:
        fields = (("pixels", pixels), ("input_channels", inputs), ("output_channels", channels))
    else:
        fields = (*window.fields(channels), *window.dilation_fields, ("padding_value", zero_point(input_type(op, 0))))
        if inputs % 16 or window.steps.dilation_width > 1:
            table = table_of(window, inputs)
            if table is None:
                return None
    call_params = params(
        f"tflmgen_{name}_s8",
        fields,
        (("chunks", chunks), ("output_zero_point", layer.zero_point), ("sign_fix", int(variant.signed))),
        FORWARD if is_line else (),
        layer.limit_fields(variant.clamped),
    )
    pairs, im2col_bytes = pair_stream(packed, layer), BUFFER_BYTES * chunks
    stream = ConstantArray.of("stream", pairs if table is None else np.concatenate([table, pairs]), DType.UINT32)
    scratch = Null() if im2col_bytes <= STACK_BYTES else Scratch(im2col_bytes)
    signed = variant.signed or chunks > SHORT
    function = f"tflmgen_{name}{'_long' if is_line and chunks > SHORT else '' if signed else '_relu'}_s8"
    operands: tuple[Operand, ...] = (Input(0), stream, scratch, Output(0))
    input_overlaps = overlaps(op.outputs[0], window.block_distance(channels, BLOCK))
    cost = Cost(request.macs, name, (("own_scales", True), ("signed", signed)))
    kernel = Kernel(function, f"{name}.h", operands, call_params, input_overlaps, cost, "mve")
    return go_backward(op, kernel, window, range(pixels % BLOCK, pixels, BLOCK)) if is_line else kernel


def table_of(window: Window, channels: int) -> NDArray[np.uint32] | None:
    """Gather table of a window over the first `channels` of the input, in vectors of 8: byte offset, row and column of
    each element; None where an offset needs more than 16 bits, or a row or column more than 8."""
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


def pair_stream(packed: NDArray[np.uint32], layer: Int8Layer) -> NDArray[np.uint32]:
    """Records of pairs of channels, see conv2d_block_mve.h. packed: weights [channels, chunks, 4 words]."""
    channels, chunks, _ = packed.shape
    firsts = pair_firsts(channels)
    stream = np.zeros((len(firsts), 8 * chunks + 6), dtype=np.uint32)
    biases = as_words(layer.bias)
    scales = as_words(np.array(layer.scales, dtype=np.int64))
    for row, first, following in zip(stream, firsts, [*firsts[1:], firsts[-1]], strict=True):
        pair = [first, min(first + 1, channels - 1)]
        row[: 8 * chunks] = packed[pair].transpose(1, 0, 2).reshape(-1)
        row[8 * chunks :] = np.column_stack([biases[pair], scales[pair]]).reshape(-1)
        row[-1] = (row[-1] & 255) + ((following - first or -1) << 8) % 2**32
    return stream.reshape(-1)


def read_pairs(data: bytes, call: PackedCall, channels: int, terms: int, signed: bool) -> tuple[Integers, Outputs]:
    """Weights [channels, terms] and requantisation of a stream of channel pairs, see conv2d_block_mve.h."""
    count, chunks = -(-channels // 2), -(-terms // 16)
    scales = [("bias", "<i4", ()), ("m", "<i4", ()), ("shift", "i1", ()), ("next", "i1", (3,))]
    stream = records(data, [("weights", "i1", (chunks, 2, 16)), ("scales", scales, (2,))], count)
    firsts, distances = pairs_of(channels)
    known = stream["scales"]
    following = np.where(known["next"][:, 1, 2] < 0, -1, 0).astype("i1")
    following = np.column_stack([known["next"][:, 1], following]).copy().view("<i4")[:, 0]
    signs = np.where(known["shift"][:, 0] < 0, -1, 0)[:, None]
    if (following != np.where(distances, distances, -1)).any() or (known["next"][:, 0] != signs).any():
        raise ValueError("a pair of channels is not followed by the next one")
    rows = np.minimum(firsts[:, None] + [0, 1], channels - 1).reshape(-1)
    weights, *constants = agreeing(
        rows,
        stream["weights"].transpose(0, 2, 1, 3).reshape(2 * count, -1),
        *(known[name].reshape(-1) for name in ("bias", "m", "shift")),
    )
    outputs = Rounding(*constants, zero_point=call.number("output_zero_point"), signed=signed).outputs
    return without_padding(weights, terms), outputs


def pairs_bytes(channels: int, terms: int) -> int:
    """Bytes of a stream of channel pairs whose windows have `terms` values."""
    return -(-channels // 2) * (32 * -(-terms // 16) + 24)


def check_table(data: bytes, call: PackedCall, taps: tuple[int, int], own: int, steps: tuple[int, int]) -> None:
    """Checks a gather table of a window, in vectors of 8: offsets of 16 bits, rows and columns of 8 bits.

    taps: the window's; own: how many of a pixel's values it has; steps: from tap to tap. Raises ValueError.
    """
    terms = taps[0] * taps[1] * own
    table = records(data, [("offset", "<u2", (8,)), ("row", "u1", (8,)), ("column", "u1", (8,))], 2 * -(-terms // 16))
    tap, channel = np.divmod(np.arange(terms), own)
    row, column = tap // taps[1] * steps[0], tap % taps[1] * steps[1]
    offset = (row * call.number("input_width") + column) * call.inputs + channel
    for name, wanted in (("offset", offset), ("row", row), ("column", column)):
        offsets = table[name].reshape(-1)
        if (offsets[:terms] != wanted).any() or offsets[terms:].any():
            raise ValueError(f"the table's {name}s are not the window's")


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Channel pairs, behind a table where a window's values are gathered one by one."""
    data, channels = call.words(), call.channels
    size = pairs_bytes(channels, call.terms)
    if table := data[: max(len(data) - size, 0)]:
        taps = call.number("filter_height"), call.number("filter_width")
        steps = call.number("dilation_height"), call.number("dilation_width")
        check_table(table, call, taps, call.inputs, steps)
    pairs = read_pairs(data[len(table) :], call, channels, call.terms, bool(call.number("sign_fix")))
    return [UnpackedPart(np.arange(channels), *pairs)]


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(Convolution, conv2d_mve),),
    {
        "conv2d_mve": convolution_cost(
            "conv2d", "line line_gather gathered_step single_step split_single_value block step", 4, 2, 16
        ),
        "conv2d_pixels_mve": convolution_cost("conv2d", "line_gather scaled_block block step", 4, 2, 16),
    },
    (Cases("scaled_conv2d scaled_grouped scaled_deep_pixels"),),
    ("conv2d_pixels_mve.h",),
    read=_read,
)
