"""CONV_2D in int8 for every Cortex-M: the stream of weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.kernel_requantisation import BoundedSums, Halves, wrapped
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import FORWARD, go_backward, overlaps, params
from tflmgen.kernels.thumb.bounded import BoundedConstants, bounded
from tflmgen.kernels.thumb.thumb_requantisation import MAX_TERMS, ThumbRequantisations, own_requantisations

HEADER = "conv2d_thumb.h"
BLOCK = header_constant("conv2d_block_thumb.h", "TFLMGEN_CONV2D_THUMB_LANES")
"""Pixels whose windows are read before any of their outputs is written."""

GROUP = header_constant("conv2d_block_thumb.h", "TFLMGEN_CONV2D_THUMB_GROUP")
"""Channels whose weights make a row of the stream."""

_PASS = 8
"""Weights of a pass over the windows."""

_FIRST_PASSES, _MORE_PASSES = 9, 31
"""Passes over eight weights that the first mask of a channel has bits for, and each further one."""


def conv2d_thumb(request: Convolution) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels, terms = layer.weights.shape
    if terms > MAX_TERMS:
        return None
    requantisation: BoundedConstants | ThumbRequantisations | None = bounded(layer) or own_requantisations(layer)
    if requantisation is None:
        return None
    fields = params(
        "tflmgen_conv2d_thumb_s8",
        window.flat.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("terms", terms)),
        FORWARD,
        layer.limit_fields(requantisation.clamped),
    )
    rows = -(-terms // 4) * 4
    stream = ConstantArray.of("stream", _stream(layer.weights, rows, requantisation), DType.UINT32)
    distance = window.block_distance(channels, BLOCK)
    input_overlaps = overlaps(op.outputs[0], distance)
    kernel = Kernel(
        f"tflmgen_conv2d_thumb{'_bounded' if isinstance(requantisation, BoundedConstants) else ''}_s8",
        HEADER,
        (Input(0), stream, Scratch(2 * BLOCK * rows), Output(0)),
        fields,
        input_overlaps,
        Cost(request.macs, numbers=(("signed", isinstance(requantisation, ThumbRequantisations)),)),
        "thumb",
    )
    pixels = window.flat.input[2]
    return go_backward(op, kernel, window, range(pixels % BLOCK, pixels, BLOCK))


def _stream(
    weights: Integers, rows: int, requantisation: BoundedConstants | ThumbRequantisations
) -> NDArray[np.uint32]:
    """Weights as [groups, rows, GROUP]; per channel its constants; the masks that are left."""
    channels, terms = weights.shape
    padded = np.zeros((-(-channels // GROUP) * GROUP, rows), dtype=np.int8)
    padded[:channels, rows - terms :] = weights
    grouped = np.ascontiguousarray(padded.reshape(-1, GROUP, rows).transpose(0, 2, 1))
    first, *others = _masks(padded[:channels])
    if isinstance(requantisation, BoundedConstants):
        constants = requantisation.words
        constants[:, 1] |= first
    else:
        constants = np.concatenate([first[:, None], requantisation.all_words], axis=1)
    more = np.stack(others, axis=1) if others else np.zeros((channels, 0), dtype=np.uint32)
    return np.concatenate([grouped.view("<u4").reshape(-1), constants.reshape(-1), more.reshape(-1)])


def _masks(weights: Integers) -> list[NDArray[np.uint32]]:
    """Per channel a bit for each pass over eight rows, 1 where the products of four leave a half; then a 1.

    The first mask has them in its ten low bits, the topmost one first, the others in all 32.
    """
    channels, rows = weights.shape
    passes = weights[:, rows % _PASS :].astype(np.int64).reshape(channels, -1, 2, _PASS // 2)
    positive, negative = np.maximum(passes, 0).sum(axis=3), -np.minimum(passes, 0).sum(axis=3)
    leaves = (128 * positive + 127 * negative >= 2**15) | (127 * positive + 128 * negative > 2**15)
    by_twos = leaves.any(axis=2)
    masks = []
    for begin, end, width in _segments(by_twos.shape[1]):
        bits = np.ones((channels, end - begin + 1), dtype=np.uint64)
        bits[:, :-1] = by_twos[:, begin:end]
        masks.append((bits << np.arange(width - 1, width - 2 - (end - begin), -1, dtype=np.uint64)).sum(axis=1))
    return [mask.astype(np.uint32) for mask in masks]


def _segments(passes: int) -> list[tuple[int, int, int]]:
    """(first pass, end, bits) of each mask."""
    first = min(passes, _FIRST_PASSES)
    others = [(p, min(passes, p + _MORE_PASSES), 32) for p in range(first, passes, _MORE_PASSES)]
    return [(0, first, _FIRST_PASSES + 1), *others]


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Rows of eight channels, zeros in front of a window's; per channel its constants; the masks that are left."""
    channels, rows, bounded = call.channels, -(-call.terms // 4) * 4, "_bounded" in call.function
    groups, each = -(-channels // 8), 3 if bounded else 6
    passes = rows // 8
    more = -(-max(passes - 9, 0) // 31)
    words = np.frombuffer(call.words(), dtype="<u4")
    if len(words) != groups * rows * 2 + channels * (each + more):
        raise ValueError("the stream is not as long as its channels")
    bytes_ = words[: groups * rows * 2].view("i1").reshape(groups, rows, 8).transpose(0, 2, 1).reshape(-1, rows)
    weights, rest = bytes_.astype(np.int64), words[groups * rows * 2 :]
    constants, masks = rest[: channels * each].reshape(channels, each), rest[channels * each :].reshape(channels, more)
    if weights[channels:].any() or weights[:, : rows - call.terms].any():
        raise ValueError("what fills up a group or a window is not zero")
    weights = weights[:channels]
    first = constants[:, 1] & 1023 if bounded else constants[:, 0]
    _check_masks(weights[:, rows % 8 :], np.concatenate([first[:, None], masks], axis=1))
    none = np.zeros(channels, dtype=np.int64)
    wide = constants.astype(np.int64)
    outputs = BoundedSums(wide).outputs if bounded else Halves(wrapped(wide[:, 1:]), none).outputs
    return [UnpackedPart(np.arange(channels), weights[:, rows - call.terms :], outputs)]


def _check_masks(weights: Integers, masks: NDArray[np.uint32]) -> None:
    """Checks the masks: every eight rows whose products of four may overflow 16 bits have a 1, and a 1 ends each mask.

    The first mask has 10 bits, for nine eights, every other one 32, for 31. Raises ValueError.
    """
    channels, rows = weights.shape
    quads = weights.reshape(channels, rows // 8, 2, 4)
    greatest = (
        (quads * np.where(quads < 0, -128, 127)).sum(axis=3),
        (quads * np.where(quads < 0, 127, -128)).sum(axis=3),
    )
    # The kernels have products by negated weights.
    needed = ((greatest[0] > 2**15) | (greatest[1] <= -(2**15))).any(axis=2)
    done = 0
    for number, width in enumerate([10, *[32] * (masks.shape[1] - 1)]):
        count = min(width - 1, rows // 8 - done)
        bits = masks[:, number, None] >> np.arange(width - 1, -1, -1, dtype=np.uint32) & 1
        if (needed[:, done : done + count] & (bits[:, :count] == 0)).any():
            raise ValueError("a mask sums more products than a half holds")
        if (bits[:, count] != 1).any() or bits[:, count + 1 :].any():
            raise ValueError("a mask does not end with its last rows")
        done += count


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (Computes(Convolution, conv2d_thumb),),
    {
        "conv2d_thumb": convolution_cost(
            "conv2d",
            "pixel alone_row gathered_step padding_value dilated_value block step signed",
            4,
            1,
            4,
            has_call=False,
        )
    },
    (Cases("scaled_conv2d scaled_grouped"),),
    read=_read,
)
