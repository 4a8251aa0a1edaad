"""CONV_2D in int8 for cores with the DSP extension, straight from the input: few output channels, and any weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.conv2d_dsp import is_computed_in_blocks
from tflmgen.kernels.numeric.fixed_point import requantize
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer, accumulators
from tflmgen.kernels.numeric.kernel_requantisation import TwoRoundings
from tflmgen.kernels.numeric.packed_readers import records, without_padding
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.specification.window import Window

HEADER = "conv2d_dot_dsp.h"
BLOCK = header_constant("conv2d_dot_dsp.h", "TFLMGEN_CONV2D_DOT_DSP_PIXELS")
"""Pixels of one line that are computed at a time."""

FEW_CHANNELS = 4
"""Output channels up to which a window may not be worth widening for them."""

_MIN_SHIFT, _MAX_SHIFT = 1, 22
"""Shifts to the right that the kernel rounds as TFLite does."""

_SUM_LIMIT = 2**30
"""Greatest magnitude of an accumulator."""


def conv2d_dot_dsp(request: Convolution) -> Kernel | None:
    """The kernel; None where sums are too large, or are scaled up, or where many channels are computed in blocks."""
    op, window, layer = request.op, request.window, request.layer
    if not _is_exact(layer) or (len(layer.weights) > FEW_CHANNELS and is_computed_in_blocks(request)):
        return None
    flat = window.flat
    channels, terms = layer.weights.shape
    own, dilated = window.input[3], window.steps.dilation_width > 1
    by_taps = dilated and own % 4 == 0
    columns = window.taps[1] if by_taps else 1
    row = terms // window.taps[0] // columns
    words = -(-row // 4)
    clamped = _is_clamped(layer)
    fields = params(
        "tflmgen_conv2d_dot_dsp_s8",
        flat.fields(channels),
        window.dilation_fields,
        (("groups", 1), ("filter_channels", own), ("columns", columns), ("words", words)),
        (("direct", by_taps or not dilated), ("padding_value", zero_point(input_type(op, 0)))),
        layer.limit_fields(clamped),
    )
    segments = layer.weights.reshape(channels, window.taps[0] * columns, row)
    weights = np.pad(segments, ((0, 0), (0, 0), (0, 4 * words - row))).reshape(channels, -1)
    taps = (window.taps[0] - 1) * window.steps.dilation_height * window.input[2]
    taps += (columns - 1) * window.steps.dilation_width
    direct = _direct(flat, taps * window.input[3] + 4 * words) & (by_taps or not dilated)
    distance = _distance(flat, channels, direct)
    operands = (
        Input(0),
        ConstantArray.of("stream", _stream(layer, weights), DType.UINT32),
        Scratch(BLOCK * weights.shape[1]),
        Output(0),
    )
    input_overlaps = overlaps(op.outputs[0], distance)
    return Kernel("tflmgen_conv2d_dot_dsp_s8", HEADER, operands, fields, input_overlaps, Cost(request.macs), "dsp")


def _stream(layer: Int8Layer, weights: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Output channels, with what the assembly needs to requantise each."""
    words = np.ascontiguousarray(weights.astype(np.int8)).view("<u4")
    stream = np.zeros((len(words), words.shape[1] + 4), dtype=np.uint32)
    for number, (line, bias, (multiplier, shift)) in enumerate(zip(stream, layer.bias, layer.scales, strict=True)):
        line[0], line[1:-3] = int(bias) % 2**32, words[number]
        addend = (1 << -shift - 1) + (layer.zero_point << -shift)
        line[-3:] = multiplier, addend % 2**32, -shift + (256 if number + 1 < len(words) else 0)
    return stream.reshape(-1)


def _is_exact(layer: Int8Layer) -> bool:
    """Whether sums are below 2^30, and scaled down, though not to nothing."""
    least, greatest = accumulators(layer)
    shifts = all(_MIN_SHIFT <= -shift <= _MAX_SHIFT for _, shift in layer.scales)
    return max(-int(least.min()), int(greatest.max())) < _SUM_LIMIT and shifts


def _is_clamped(layer: Int8Layer) -> bool:
    """Whether outputs can leave the layer's range and not int8's."""
    ends = zip(layer.scales, *accumulators(layer), strict=True)
    outputs = [layer.zero_point + requantize(int(a), *scale) for scale, *both in ends for a in both]
    return min(outputs) < layer.low > -128 or max(outputs) > layer.high < 127


def _distance(window: Window, channels: int, direct: NDArray[np.bool_]) -> int:
    """Least distance, in elements, by which the output must precede the input that it lies over.

    A block's windows are read for one output channel after the other, or copied first. direct: of every block, whether
    its windows aren't copied.
    """
    pixels = window.input[0] * window.height.output * window.width.output
    firsts = _firsts(window)
    ends = np.append(firsts[1:], pixels)
    still_read = window.still_read()[firsts]
    written = np.where(direct, channels - 1, 0)
    distances = firsts * channels - still_read, np.where(written > 0, (ends - 1) * channels + written - still_read, 0)
    return max(0, *(int(distance.max()) for distance in distances))


def _firsts(window: Window) -> NDArray[np.int64]:
    """The first pixel of every block."""
    pixels = np.arange(window.input[0] * window.height.output * window.width.output)
    return pixels.reshape(-1, window.width.output)[:, ::BLOCK].reshape(-1)


def _direct(window: Window, reach: int) -> NDArray[np.bool_]:
    """Whether the windows of each block, three side by side, lie inside the input.

    reach: elements from the first to the end of the last that is read for a pixel.
    """
    steps, (batches, height, width, channels) = window.steps, window.input
    line, column = np.divmod(_firsts(window), window.width.output)
    batch, line = np.divmod(line, window.height.output)
    y = line * steps.stride_height - window.height.padding
    x = column * steps.stride_width - window.width.padding
    inside = (y >= 0) & (y + window.reach[0] <= height)
    inside &= (x >= 0) & (x + window.reach[1] + 2 * steps.stride_width <= width)
    last = batches * height * width - 2 * steps.stride_width
    within: NDArray[np.bool_] = ((batch * height + y) * width + x) * channels + reach <= last * channels
    return within & inside


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Output channels, whose windows are segments of whole words."""
    channels, segments = call.channels, call.number("filter_height") * call.number("columns")
    words = len(call.words()) // channels - 16
    stream = records(
        call.words(),
        [
            ("start", "<i4", ()),
            ("weights", "i1", (max(words, 0),)),
            *(("multiplier", "<i4", ()), ("addend", "<i4", ()), ("shift", "u1", ()), ("more", "u1", (3,))),
        ],
        channels,
    )
    if (stream["more"] != [[1, 0, 0]] * (channels - 1) + [[0, 0, 0]]).any() or words % segments:
        raise ValueError("channels do not follow one another")
    rows = without_padding(stream["weights"].reshape(channels * segments, -1), call.terms // segments)
    columns = (stream[name].astype(np.int64) for name in ("start", "multiplier", "addend", "shift"))
    return [UnpackedPart(np.arange(channels), rows.reshape(channels, -1), TwoRoundings(*columns).outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(Convolution, conv2d_dot_dsp),),
    {
        "conv2d_dot_dsp": convolution_cost(
            "conv2d few outputs",
            "line alone_row alone_odd_value padding_value ragged_row line_block line_step",
            3,
            1,
            4,
        )
    },
    (Cases("conv2d_dot conv2d_beyond"),),
    preference=1,
    read=_read,
)
