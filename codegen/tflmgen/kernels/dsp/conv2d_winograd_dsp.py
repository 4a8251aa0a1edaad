"""CONV_2D in int8 by Winograd's F(2x2, 3x3) for cores with the DSP extension: its weights, and when it is applicable.

Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308, section 4.1. With 2G in the place
of G all numbers are integers, and the results four times the accumulators (firmware/kernels/conv2d_winograd_dsp.h).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.dsp_requantisation import DspRequantisations, requantisations
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.kernel_requantisation import HighProduct
from tflmgen.kernels.numeric.packed_readers import agreeing, pairs_of, records
from tflmgen.kernels.numeric.stream_words import pair_firsts
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.specification.window import Window

HEADER = "conv2d_winograd_dsp.h"
SCALE_BITS = 2
"""Sums are 2^2 times the accumulators."""

TILES = header_constant("conv2d_winograd_sums_dsp.h", "TFLMGEN_WINOGRAD_DSP_TILES")
"""Tiles that are gathered before any of their outputs is written."""

FILTER = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]])
"""2G: three taps to four positions."""


POSITIONS = header_constant("conv2d_winograd_sums_dsp.h", "TFLMGEN_WINOGRAD_DSP_POSITIONS")
"""Positions of a transformed tile."""

WINOGRAD_CHANNELS = (16, 32)
"""Input channels that the C kernel is unrolled for."""


def conv2d_winograd_dsp(request: Convolution) -> Kernel | None:
    """The kernel; None where it is not asked for, or would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels = len(layer.weights)
    inputs, steps = window.input[3], window.steps
    strides = steps.stride_height, steps.stride_width, steps.dilation_height, steps.dilation_width
    if not request.target.winograd or window.taps != (3, 3) or strides != (1, 1, 1, 1) or inputs % 4 or channels < 2:
        return None
    requantisation = requantisations(layer, SCALE_BITS)
    if requantisation is None:
        return None
    fields = params(
        "tflmgen_conv2d_winograd_dsp_s8",
        window.image_fields,
        (("output_channels", channels),),
        window.padding_fields,
        (("padding_value", zero_point(input_type(op, 0))),),
        layer.limit_fields(requantisation.clamped),
    )
    stream = ConstantArray.of(
        "stream", _stream(layer.weights.reshape(channels, 3, 3, inputs), requantisation), DType.UINT32
    )
    operands = (Input(0), stream, Scratch((2 * TILES * POSITIONS + 1) * inputs), Output(0))
    distance = overlap_distance(window, channels)
    input_overlaps = overlaps(op.outputs[0], distance)
    unrolled = f"_{inputs}" if inputs in WINOGRAD_CHANNELS else ""
    function = f"tflmgen_conv2d_winograd_dsp{unrolled}{'' if requantisation.signed else '_relu'}_s8"
    numbers = (("signed", requantisation.signed),)
    return Kernel(function, HEADER, operands, fields, input_overlaps, Cost(request.macs, numbers=numbers), "winograd")


def _stream(weights: Integers, requantisation: DspRequantisations) -> NDArray[np.uint32]:
    """Channel pairs; an odd channel at the end is paired with the one before it. weights: [channels, 3, 3, inputs]."""
    channels, _, _, inputs = weights.shape
    positions = np.einsum("py,cyxi,qx->cpqi", FILTER, weights, FILTER).reshape(channels, POSITIONS, inputs // 4, 2, 2)
    # Halves of a word are channels that are two apart.
    quads = np.ascontiguousarray(positions.swapaxes(3, 4).astype("<i2")).view("<u4")
    quads = quads.reshape(channels, POSITIONS, -1, 2)
    rows = []
    for first in pair_firsts(channels):
        scales = [
            n % 2**32
            for channel in requantisation.channels[first : first + 2]
            for n in (channel.bias << SCALE_BITS, channel.multiplier, channel.addend, channel.shift)
        ]
        rows += [quads[first : first + 2].transpose(1, 2, 0, 3).reshape(-1), np.array(scales, dtype=np.uint32)]
    stream: NDArray[np.uint32] = np.concatenate(rows)
    return stream


def overlap_distance(window: Window, channels: int) -> int:
    """Least distance, in elements, by which the output must precede the input that it lies over.

    Two tiles, in order, are read before their outputs are written: of two lines, with `channels` to a pixel.
    """
    batches, height, width, inputs = window.input
    rows, columns = window.height.output, window.width.output
    y, x = np.arange(0, rows, 2), np.arange(0, columns, 2)
    image = np.arange(batches)[:, None, None]
    first = np.add.outer(np.maximum(y - window.height.padding, 0) * width, np.maximum(x - window.width.padding, 0))
    last = np.add.outer(np.minimum(y + 1, rows - 1) * columns, np.minimum(x + 1, columns - 1))
    reads = (image * height * width + first).reshape(-1) * inputs
    written = (image * rows * columns + last + 1).reshape(-1) * channels
    starts = np.arange(TILES, len(reads), TILES)
    still_read = np.minimum.accumulate(reads[::-1])[::-1][starts]
    so_far = np.maximum.accumulate(written)[starts - 1]
    return max(0, int((so_far - still_read).max(initial=0)))


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Filters g from 16 positions U = 2G g (2G)^T, each of which must be the one that g gives.

    Of four numbers u of a line along g0, g1, g2: u0 = 2 g0, u1 - u2 = 2 g1, u3 = 2 g2, u1 + u2 = u0 + u3.
    """
    channels, inputs = call.channels, call.inputs
    stream = records(
        call.words(),
        [("halves", "<i2", (4, 4, inputs // 4, 2, 2, 2)), ("scales", "<i4", (2, 4))],
        -(-channels // 2),
    )
    firsts, _ = pairs_of(channels)
    # [pair, y, x, quad, channel, word, half]: a word has the input channels c and c + 2 of a quad.
    positions = stream["halves"].transpose(0, 4, 1, 2, 3, 6, 5).reshape(-1, 4, 4, inputs)
    numbers, scales = agreeing((firsts[:, None] + np.arange(2)).reshape(-1), positions, stream["scales"].reshape(-1, 4))
    lines = _untransformed(numbers)
    filters = _untransformed(lines.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    sign_fix = 0 if "_relu" in call.function else 1 << SCALE_BITS - 1
    outputs = HighProduct(*scales.T, scale=1 << SCALE_BITS, sign_fixes=sign_fix).outputs
    return [UnpackedPart(np.arange(channels), filters.reshape(channels, -1), outputs)]


def _untransformed(numbers: Integers) -> Integers:
    """Along the second of [channels, 4, n, inputs]: what 2G made the numbers of. Raises ValueError where it did not."""
    first, plus, minus, last = numbers.transpose(1, 0, 2, 3)
    taps = np.stack([first, plus - minus, last], axis=1)
    if (plus + minus != first + last).any() or (taps & 1).any():
        raise ValueError("positions are those of no filter")
    result: Integers = taps >> 1
    return result


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(Convolution, conv2d_winograd_dsp),),
    {"conv2d_winograd_dsp": convolution_cost("conv2d 3x3", "pixel tile tile_block tile_step signed", 8, 2, 4)},
    (Cases("winograd", winograd=1 << 20),),
    preference=3,
    pads_freely=True,
    read=_read,
)
