"""CONV_2D of int16 by int8 for cores with the DSP extension: packed weights, and when the kernel is applicable."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Operand, Output, PackedCall, Scratch, UnpackedSums
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.int16_weights import in_order, words_of_four
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int16_layer import Int16Layer
from tflmgen.kernels.numeric.packed_readers import agreeing, pairs_of, records, without_padding
from tflmgen.kernels.numeric.stream_words import as_words, pair_firsts
from tflmgen.kernels.requests import Int16Convolution
from tflmgen.kernels.specification.weights import FORWARD, go_backward, overlaps, params, range_fields

BLOCK = header_constant("conv2d_s16_dsp.h", "TFLMGEN_CONV2D_S16_DSP_PIXELS")
"""Pixels whose windows are read before any of their outputs is written."""

STEP_WORDS = 2 * BLOCK
"""Words of a block's im2col buffer for four values of each of its windows."""

STACK_WORDS = header_constant("conv2d_s16_dsp.h", "TFLMGEN_CONV2D_S16_DSP_STACK_WORDS")
"""Words of an im2col buffer on the stack; a longer one is scratch."""


def conv2d_s16_dsp(request: Int16Convolution) -> Kernel | None:
    """The kernel of a convolution without groups; None for a single channel, for fewer than three pixels, and
    on cores with MVE, whose kernels compute each such layer faster."""
    op, window, layer = request.op, request.window, request.layer
    channels, terms = layer.weights.shape
    pixels = math.prod(op.outputs[0].max_shape[:3])
    if channels < 2 or pixels < BLOCK or "mve" in request.target.instructions:
        return None
    words = words_of_four(layer.weights)
    steps = words.shape[1]
    im2col_words = STEP_WORDS * steps
    on_stack = im2col_words <= STACK_WORDS
    fields = params(
        "tflmgen_conv2d_s16_dsp",
        window.flat.fields(channels),
        window.dilation_fields,
        (("steps", steps), *FORWARD),
        range_fields(op, request.activation),
    )
    scratch: tuple[Operand, ...] = () if on_stack else (Scratch(4 * im2col_words),)
    stream = ConstantArray.of("stream", _pairs(words, layer), DType.UINT32)
    starts = [*range(BLOCK, pixels, BLOCK), *range(pixels - pixels % BLOCK + 1, pixels)]
    input_overlaps = overlaps(op.outputs[0], window.starts_distance(channels, starts))
    name = f"tflmgen_conv2d_s16_dsp{'_stack' if on_stack else ''}"
    operands = (Input(0), stream, *scratch, Output(0))
    macs = op.outputs[0].elements * terms
    kernel = Kernel(name, "conv2d_s16_dsp.h", operands, fields, input_overlaps, Cost(macs), "dsp")
    return go_backward(op, kernel, window, [*range(pixels % BLOCK), *range(pixels % BLOCK, pixels, BLOCK)])


def _pairs(words: NDArray[np.uint32], layer: Int16Layer) -> NDArray[np.uint32]:
    """Records of pairs of channels, see conv2d_s16_dsp.h. words: [channels, steps]."""
    channels, steps = words.shape
    firsts = pair_firsts(channels)
    stream = np.zeros((len(firsts), 2 * steps + 5), dtype=np.uint32)
    for row, first, following in zip(stream, firsts, [*firsts[1:], firsts[-1]], strict=True):
        row[:2] = as_words(layer.bias[first : first + 2])
        row[2:-3] = words[first : first + 2].T.reshape(-1)
        row[-3:-1] = layer.multipliers[first : first + 2]
        row[-1] = 2 * (following - first)
    return stream.reshape(-1)


def _read(call: PackedCall) -> list[UnpackedSums]:
    """Pairs of channels, words of four values of each, multipliers, and the bytes to the next pair's outputs."""
    channels, steps = call.channels, -(-call.terms // 4)
    fields = [("bias", "<i4", (2,)), ("words", "i1", (steps, 2, 4)), ("high", "<i4", (2,)), ("next", "<i4", ())]
    stream = records(call.words(), fields, -(-channels // 2))
    firsts, distances = pairs_of(channels)
    if (stream["next"] != 2 * distances).any():
        raise ValueError("a pair of channels is not followed by the next one")
    rows = (firsts[:, None] + np.arange(2)).reshape(-1)
    words = in_order(stream["words"].transpose(0, 2, 1, 3)).reshape(len(rows), -1)
    weights, starts, high = agreeing(rows, words, stream["bias"].reshape(-1), stream["high"].reshape(-1))
    return [UnpackedSums(without_padding(weights, call.terms), starts, high)]


KERNEL = KernelDeclaration(
    "conv2d_s16_dsp.h",
    "dsp",
    (Computes(Int16Convolution, conv2d_s16_dsp),),
    {
        "conv2d_s16_dsp": convolution_cost(
            "conv2d int16", "pixel row dilated_tap ragged_value gathered_step full_step output", 3, 2, 4
        )
    },
    (Cases("conv2d_s16"),),
    read=_read,
)
