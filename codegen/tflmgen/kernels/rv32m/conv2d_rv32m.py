"""CONV_2D in int8 for RV32IM: the stream of weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.rv32m.rv32m_requantisation import CHANNEL_WORDS, read_requantisation, rv32m_requantisations
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import FORWARD, go_backward, overlaps, params

HEADER = "conv2d_rv32m.h"
BLOCK = header_constant(HEADER, "TFLMGEN_CONV2D_RV32M_LANES")
"""Pixels whose windows are read before any of their outputs is written."""

PASS = header_constant(HEADER, "TFLMGEN_CONV2D_RV32M_PASS")
"""Values of a window in a pass."""

MASK = header_constant(HEADER, "TFLMGEN_CONV2D_RV32M_MASK")
"""Passes that a mask has bits for."""

MAX_TERMS = 1 << 15
"""Values of a window up to which sums of upper halves, of 15 bits each, are far from 32 bits."""


def conv2d_rv32m(request: Convolution) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels, terms = layer.weights.shape
    requantisation = rv32m_requantisations(layer) if terms <= MAX_TERMS else None
    if requantisation is None:
        return None
    fields = params(
        "tflmgen_conv2d_rv32m_s8",
        window.flat.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))),),
        FORWARD,
        (("terms", terms), ("scale_bits", requantisation.scale_bits)),
        layer.limit_fields(requantisation.clamped),
    )
    rows = -(-terms // PASS) * PASS
    kernel = Kernel(
        f"tflmgen_conv2d_rv32m{'' if requantisation.signed else '_clamped'}_s8",
        HEADER,
        (
            Input(0),
            ConstantArray.of("stream", _stream(layer.weights, rows, requantisation.words), DType.UINT32),
            Scratch(2 * BLOCK * rows),
            Output(0),
        ),
        fields,
        overlaps(op.outputs[0], window.block_distance(channels, BLOCK)),
        Cost(request.macs, numbers=(("signed", requantisation.signed),)),
        "rv32m",
    )
    pixels = window.flat.input[2]
    return go_backward(op, kernel, window, range(pixels % BLOCK, pixels, BLOCK))


def _stream(weights: Integers, rows: int, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Per pair of channels their constants, masks, and weights [rows, 2]."""
    channels, terms = weights.shape
    pairs = -(-channels // 2)
    padded = np.zeros((2 * pairs, rows), dtype=np.int8)
    padded[:channels, rows - terms :] = weights
    constants = np.zeros((2 * pairs, CHANNEL_WORDS), dtype=np.uint32)
    constants[:channels] = words
    paired = padded.reshape(pairs, 2, rows)
    packed = np.ascontiguousarray(paired.transpose(0, 2, 1)).reshape(pairs, -1).view("<u4")
    return np.concatenate([constants.reshape(pairs, -1), _masks(paired), packed], axis=1).reshape(-1)


def _overflows(weights: Integers) -> NDArray[np.bool_]:
    """Whether sums of products of negated int8 values by weights [..., values] may leave 16 bits: [...]."""
    positive = np.maximum(weights, 0).sum(axis=-1)
    negative = -np.minimum(weights, 0).sum(axis=-1)
    leaves: NDArray[np.bool_] = (128 * positive + 127 * negative >= 2**15) | (127 * positive + 128 * negative > 2**15)
    return leaves


def _masks(paired: NDArray[np.int8]) -> NDArray[np.uint32]:
    """Masks [pairs, words] of weights [pairs, 2, rows]: a bit for each pass over four rows, then a 1.

    A bit is 1 where the products of four values by the weights of either channel may leave a half.
    """
    pairs, _, rows = paired.shape
    by_twos: NDArray[np.bool_] = _overflows(paired.astype(np.int64).reshape(pairs, 2, rows // PASS, PASS)).max(axis=1)
    masks = []
    for first in range(0, by_twos.shape[1], MASK):
        bits = np.ones((pairs, min(MASK, by_twos.shape[1] - first) + 1), dtype=np.uint64)
        bits[:, :-1] = by_twos[:, first : first + MASK]
        masks.append((bits << np.arange(31, 31 - bits.shape[1], -1, dtype=np.uint64)).sum(axis=1))
    return np.stack(masks, axis=1).astype(np.uint32)


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Per two channels: four words each, masks, and weights of both in turn, zeros in front of a window's."""
    channels, passes = call.channels, -(-call.terms // 4)
    pairs, masks = -(-channels // 2), -(-passes // 31)
    words = np.frombuffer(call.words(), dtype="<u4")
    if len(words) != pairs * (8 + masks + 2 * passes):
        raise ValueError("the stream is not as long as its channels")
    lines = words.reshape(pairs, -1)
    weights = np.ascontiguousarray(lines[:, 8 + masks :]).view("i1").reshape(pairs, 4 * passes, 2).astype(np.int64)
    for pair, line in zip(weights, lines[:, 8 : 8 + masks], strict=True):
        _check_masks(pair, line)
    rows = weights.transpose(0, 2, 1).reshape(2 * pairs, -1)
    if rows[channels:].any() or rows[:, : 4 * passes - call.terms].any():
        raise ValueError("what fills up a pair or a window is not zero")
    constants = np.ascontiguousarray(lines[:, :8]).view("<i4").reshape(2 * pairs, 4)[:channels].astype(np.int64)
    signed = "_clamped" not in call.function
    requantisation = read_requantisation(constants, call.number("scale_bits"), signed)
    return [UnpackedPart(np.arange(channels), rows[:channels, 4 * passes - call.terms :], requantisation.outputs)]


def _check_masks(weights: Integers, masks: NDArray[np.uint32]) -> None:
    """Checks that a pass over four rows whose products may overflow 16 bits has a 1, and that a 1 ends each mask.

    weights: [rows, 2]. Raises ValueError.
    """
    fours = weights.T.reshape(2, -1, 4)
    greatest = np.where(fours < 0, -fours * 127, fours * 128).sum(axis=2)
    least = np.where(fours < 0, -fours * 128, fours * 127).sum(axis=2)
    needed = ((greatest > 2**15 - 1) | (least > 2**15)).any(axis=0)
    for number, mask in enumerate(masks):
        own = needed[31 * number : 31 * number + 31]
        bits = mask >> np.arange(31, -1, -1, dtype=np.uint32) & 1
        if (own & (bits[: len(own)] == 0)).any():
            raise ValueError("a mask sums more products than a half holds")
        if bits[len(own)] != 1 or bits[len(own) + 1 :].any():
            raise ValueError("a mask does not end with its last rows")


KERNEL = KernelDeclaration(
    HEADER,
    "rv32m",
    (Computes(Convolution, conv2d_rv32m),),
    {
        "conv2d_rv32m": convolution_cost(
            "conv2d",
            "pixel alone_row gathered_step padding_value dilated_value block step signed",
            BLOCK,
            2,
            PASS,
            has_call=False,
        )
    },
    (Cases("scaled_conv2d scaled_grouped"),),
    read=_read,
)
