"""DEPTHWISE_CONV_2D with windows of up to 3x3 in int8 for cores with MVE, by patches: packed weights, and distances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, Overlap, PackedCall, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.mve_requantisation import fit
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.numeric.kernel_requantisation import Rounding
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.numeric.stream_words import as_words
from tflmgen.kernels.requests import DepthwiseConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.specification.window import Window

HEADER = "depthwise_patch_mve.h"
COLUMNS = header_constant(HEADER, "TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMNS")
"""Input columns of a tile."""

CHANNELS = header_constant(HEADER, "TFLMGEN_DEPTHWISE_PATCH_MVE_COLUMN") // 4
"""Channels of a tile: a column has a word of each."""

PIXELS = 8
"""Outputs of a line that are made of one tile, at most."""

_SIDE = 3
"""Rows and columns of a window, at most."""

_LOWER = 2**16
"""Bytes from an output to the one below it are 16 bits, as are those to its neighbours."""

_FAR = 2**31
"""A row beyond every tensor."""


def depthwise_patch_mve(request: DepthwiseConvolution) -> list[Kernel]:
    """The kernels by squares of outputs, where windows are 3x3 and move by one pixel, and by lines of outputs; none
    where they would not be exact.
    """
    op, layer, window = request.op, request.layer, request.window
    variant = fit(layer)
    steps = window.steps
    reach = (window.taps[1] - 1) * steps.dilation_width + 1
    pixels = min(PIXELS, (COLUMNS - reach) // steps.stride_width + 1)
    if variant is None or max(window.taps) > _SIDE or steps.stride_width > 2 or pixels < 4:
        return []
    channels = len(layer.weights)
    padding = zero_point(input_type(op, 0))
    stream = ConstantArray.of("stream", _stream(layer, window.taps, padding), DType.UINT32)
    relu = "" if variant.signed else "_relu"

    def kernel(name: str, lines: int) -> Kernel:
        fields = params(
            "tflmgen_depthwise_patch_mve_s8",
            window.channel_fields,
            window.dilation_fields,
            (("padding_value", padding), ("squares", lines == 2), ("pixels", pixels)),
            (("output_zero_point", layer.zero_point),),
            layer.limit_fields(variant.clamped),
        )
        claims = overlaps(op.outputs[0], distance(window, lines, pixels))
        if width <= pixels and claims:
            claims += (Overlap(0, 0, distance_of_pixels(window, lines), multiple=channels),)
        function, operands = f"tflmgen_{name}{relu}_s8", (Input(0), stream, Output(0))
        numbers = (("signed", variant.signed),)
        return Kernel(function, HEADER, operands, fields, claims, Cost(request.macs, name, numbers), "mve")

    width = window.width.output
    line = kernel("depthwise_line_mve" if steps.stride_width == 1 else "depthwise_half_line_mve", 1)
    has_unit_steps = {steps.stride_height, steps.stride_width, steps.dilation_height, steps.dilation_width} == {1}
    if window.taps == (_SIDE, _SIDE) and has_unit_steps and width >= 4 and (width + 4) * channels < _LOWER:
        return [kernel("depthwise_squares_mve", 2), line]
    return [line]


def distance(window: Window, lines: int, pixels: int, filters: int = 1) -> int:
    """Least distance, in elements, by which the output must begin before the input that it overlaps.

    All values of a tile are read before its outputs are written: `lines` lines of up to `pixels` pixels, and of
    these 16 channels after the other, each of which has `filters` outputs.
    """
    channels, height, width = window.input[3], window.height.output, window.width.output
    steps, (_, in_height, in_width, _) = window.steps, window.input
    written, read = [], []
    for batch in range(window.input[0]):
        for y in range(0, height, lines):
            last = batch * height + min(y + lines, height) - 1
            row = _first_row(window, y, lines)
            for x, count in _tiles(width, pixels):
                column = max(0, x * steps.stride_width - window.width.padding)
                first = ((batch * in_height + row) * in_width + column) * channels
                for channel in range(0, channels, CHANNELS):
                    read.append(first + channel)
                    end = min(channel + CHANNELS, channels)
                    written.append(((last * width + x + count - 1) * channels + end) * filters)
    still_read = np.minimum.accumulate(np.array(read)[::-1])[::-1][1:]
    return max(0, int((np.maximum.accumulate(np.array(written))[:-1] - still_read).max(initial=0)))


def distance_of_pixels(window: Window, lines: int) -> int:
    """Distance in whole pixels, where a tile is a whole line.

    An output then lies over a value of the same channel, which is read with the others of that channel, and not again
    but for the next lines.
    """
    channels, height, width = window.input[3], window.height.output, window.width.output
    in_height, in_width = window.input[1:3]
    written, read = [], []
    for batch in range(window.input[0]):
        for y in range(0, height, lines):
            row = _first_row(window, y, lines)
            read.append((batch * in_height + row) * in_width)
            written.append((batch * height + min(y + lines, height)) * width)
    still_read = np.minimum.accumulate(np.array(read)[::-1])[::-1][1:]
    return max(0, int((np.array(written)[:-1] - still_read).max(initial=0))) * channels


def _first_row(window: Window, y: int, lines: int) -> int:
    """The first row of the input that `lines` rows of the output from row y on depend on; _FAR if there is none."""
    rows = range(y * window.steps.stride_height - window.height.padding, window.input[1], window.steps.dilation_height)
    return next((r for r in rows[: window.taps[0] + lines - 1] if r >= 0), _FAR)


def _tiles(width: int, widest: int) -> Iterator[tuple[int, int]]:
    """(first output pixel, number of pixels) of each tile of a line, as tflmgen_depthwise_patch_mve_next divides it."""
    x = 0
    while x < width:
        left = width - x
        count = left if left <= widest else left - 4 if left < widest + 4 and left >= 8 else widest
        yield x, count
        x += count


def _stream(layer: Int8Layer, taps: tuple[int, int], padding: int) -> NDArray[np.uint32]:
    channels = len(layer.weights)
    stream = np.zeros((channels, 5), dtype=np.uint32)
    columns = np.zeros((channels, _SIDE, 4), dtype=np.int8)
    columns[:, : taps[1], : taps[0]] = layer.weights.reshape(channels, *taps).transpose(0, 2, 1)
    multipliers, shifts = np.array(layer.scales, dtype=np.int64).T
    columns[:, -1, -1] = shifts
    stream[:, :3] = columns.reshape(channels, -1).view("<u4")
    stream[:, 3], stream[:, 4] = as_words(layer.bias), as_words(multipliers)
    return np.concatenate([np.full(4, padding % 256 * 0x01010101, dtype=np.uint32), stream.reshape(-1)])


def without_border(data: bytes, call: PackedCall) -> bytes:
    """The stream behind its first 16 bytes, which hold the padding value. Raises ValueError for other ones."""
    if data[:16] != bytes([call.number("padding_value") % 256]) * 16:
        raise ValueError("the stream does not begin with the padding")
    return data[16:]


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Per channel three columns of four bytes, of which three are rows, and the very last is the shift."""
    stream = records(
        without_border(call.words(), call), [("columns", "i1", (3, 4)), ("scales", "<i4", (2,))], call.channels
    )
    columns = stream["columns"].astype(np.int64)
    shifts, columns[:, 2, 3] = columns[:, 2, 3].copy(), 0
    height, width = call.number("filter_height"), call.number("filter_width")
    weights = columns.transpose(0, 2, 1)[:, :height, :width].reshape(call.channels, -1)
    if np.count_nonzero(columns) != np.count_nonzero(weights):
        raise ValueError("weights beside the window are not zero")
    bias, multiplier = stream["scales"].astype(np.int64).T
    signed = "_relu" not in call.function
    outputs = Rounding(bias, multiplier, shifts, zero_point=call.number("output_zero_point"), signed=signed).outputs
    return [UnpackedPart(np.arange(call.channels), weights, outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(DepthwiseConvolution, depthwise_patch_mve),),
    {
        "depthwise_squares_mve": depthwise_cost("depthwise 3x3 vectors", "line line_vector tile signed", 8),
        "depthwise_line_mve": depthwise_cost(
            "depthwise 3x3 vectors", "line alone vector_tap line_four left_over signed clamp", 8
        ),
        "depthwise_half_line_mve": depthwise_cost(
            "depthwise 3x3 half vectors", "line tap line_pair line_four line_vector signed clamp", 8
        ),
    },
    (Cases("planes scaled_depthwise_window scaled_depthwise3x3"),),
    read=_read,
)
