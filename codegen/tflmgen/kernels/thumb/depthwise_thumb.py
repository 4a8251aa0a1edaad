"""DEPTHWISE_CONV_2D in int8 for every Cortex-M: the stream of weights, planes, and when the kernel is applicable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, Overlap, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers
from tflmgen.kernels.numeric.kernel_requantisation import BoundedSums, Halves, wrapped
from tflmgen.kernels.numeric.packed_readers import without_padding
from tflmgen.kernels.requests import Convolution, DepthwiseConvolution, GroupedConvolution, SlidingRequest
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import params
from tflmgen.kernels.specification.window import Window
from tflmgen.kernels.thumb.bounded import bounded_channels
from tflmgen.kernels.thumb.thumb_requantisation import own_requantisations

HEADER = "depthwise_thumb.h"
PLANE_BYTES = (2048, 1024, 0)
"""Bytes of a plane that are tried: with more, fewer strips; a plane has room for two lines of output, for 0 of one."""

TAPS_BYTES = 4 * header_constant(HEADER, "TFLMGEN_DEPTHWISE_THUMB_TAPS_WORDS")
"""Bytes in front of a plane that hold two taps."""

_OTHER_BYTES = 4 * (
    header_constant(HEADER, "TFLMGEN_DEPTHWISE_THUMB_STARTS")
    + header_constant("depthwise_lines_thumb.h", "TFLMGEN_DEPTHWISE_THUMB_CONSTANTS")
)
"""Bytes in front of a plane that hold the start values of a window's sums, and the kernel's constants."""


def depthwise_thumb(request: SlidingRequest) -> tuple[Kernel, ...]:
    """The kernels of one or more filters per channel, with strips of several heights; none is exact for some."""
    op, window, layer = request.op, request.window, request.layer
    channels, taps = layer.weights.shape
    filters = channels // window.input[3]
    by_three = window.taps == (3, 3) and (window.steps.dilation_height, window.steps.dilation_width) == (1, 1)
    weights, columns = layer.weights, False
    if _pairs(window.transposed) < _pairs(window):
        columns, window = True, window.transposed
        weights = weights.reshape(channels, *reversed(window.taps)).transpose(0, 2, 1).reshape(channels, taps)
    constants = _constants(layer, by_three)
    if constants is None:
        return ()
    words, beyond, clamped = constants
    stream = _stream(weights, by_three, words, beyond)
    steps, output = window.steps, (window.height.output, window.width.output)
    line = steps.stride_width * (output[1] + output[1] % 2 - 1) + (window.taps[1] - 1) * steps.dilation_width + 1
    reach = (window.taps[0] - 1) * steps.dilation_height + 1
    line_counts = [max(size // (4 * line), reach + (steps.stride_height if size else 0)) for size in PLANE_BYTES]
    strips = dict.fromkeys(min(output[0], (lines - reach) // steps.stride_height + 1) for lines in line_counts)
    if columns and filters == 1 and output[0] != window.input[1]:
        # Of a column's outputs some would lie where later columns of the input do.
        strips = dict.fromkeys([output[0]])
    fields = params(
        "tflmgen_depthwise_thumb_s8",
        window.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))),),
        _places(window, channels, columns),
        (("filters", filters),),
    )
    in_place = filters == 1 and output[0] <= window.input[1] and output[1] <= window.input[2]
    family = f"depthwise_thumb_{'3x3' if by_three else 'window'}"
    records = 0 if by_three else TAPS_BYTES * -(-taps // 2) + _OTHER_BYTES
    return tuple(
        Kernel(
            f"tflmgen_{family}{'' if beyond.any() else '_bounded'}_s8",
            HEADER,
            (
                Input(0),
                ConstantArray.of("channels", stream, DType.UINT32),
                Scratch(records + 4 * (line * ((strip - 1) * steps.stride_height + reach) + steps.stride_width)),
                Output(0),
            ),
            replace(fields, fields=(*fields.fields, ("line", line), ("strip", strip), *layer.limit_fields(clamped))),
            (Overlap(0, 0, 0, exact=True),) if in_place else (),
            Cost(request.macs, family, (("signed", bool(beyond.any())),)),
            "thumb",
        )
        for strip in strips
    )


def _of_single_channels(request: GroupedConvolution) -> Sequence[Kernel]:
    return depthwise_thumb(request) if request.group_inputs == 1 else ()


def _of_one_channel(request: Convolution) -> Sequence[Kernel]:
    return depthwise_thumb(request) if request.window.input[3] == 1 else ()


def _pairs(window: Window) -> int:
    """Pairs of outputs that a channel has, when lines are the window's."""
    return window.height.output * -(-window.width.output // 2)


def _places(window: Window, channels: int, columns: bool) -> tuple[tuple[str, int], ...]:
    """Bytes from value to value and from line to line, of the input and the output; `columns`: lines are columns."""
    _, tall, wide, inputs = window.input
    narrow = window.width.output
    if columns:
        return (
            ("input_step", tall * inputs),
            ("input_row", inputs),
            ("output_step", window.height.output * channels),
            ("output_row", channels),
        )
    return (
        ("input_step", inputs),
        ("input_row", wide * inputs),
        ("output_step", channels),
        ("output_row", narrow * channels),
    )


def _constants(layer: Int8Layer, mixed: bool) -> tuple[NDArray[np.uint32], NDArray[np.bool_], bool] | None:
    """(per channel five words, whether it is beyond a window, whether outputs are to be clamped); None where none are.

    mixed: a few channels may be, others not; else all are or none is. Those that are not have three words.
    """
    known = bounded_channels(layer)
    if known and known[1].all():
        words = np.pad(known[0].words, ((0, 0), (0, 2)))
        return words, ~known[1], known[0].clamped
    general = own_requantisations(layer)
    if general is None:
        return None
    words = general.all_words
    if not mixed or known is None or 2 * known[1].sum() < len(words):
        return words, np.ones(len(words), dtype=np.bool_), general.clamped
    bounds, within = known
    words[within] = np.pad(bounds.words[within], ((0, 0), (0, 2)))
    return words, ~within, general.clamped or bounds.clamped


def _stream(
    weights: Integers, by_three: bool, words: NDArray[np.uint32], beyond: NDArray[np.bool_]
) -> NDArray[np.uint32]:
    channels, taps = weights.shape
    padded = np.zeros((channels, -(-taps // 4) * 4), dtype=np.int8)
    padded[:, :taps] = weights
    if by_three:
        padded[:, 9] = _small(weights.reshape(channels, 3, 3)) & ~beyond
        padded[:, 10] = beyond
    rows = np.concatenate([padded.view("<u4"), words], axis=1)
    lengths = np.where(beyond, rows.shape[1], rows.shape[1] - 2)
    result: NDArray[np.uint32] = rows[np.arange(rows.shape[1]) < lengths[:, None]]
    return result


def _small(rows: Integers) -> NDArray[np.bool_]:
    """Whether the products of each row, summed, stay in a half, for every input: [channels, row, weight]."""
    positive, negative = np.maximum(rows, 0).sum(axis=2), -np.minimum(rows, 0).sum(axis=2)
    fits = (128 * positive + 127 * negative < 2**15) & (127 * positive + 128 * negative <= 2**15)
    result: NDArray[np.bool_] = fits.all(axis=1)
    return result


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Per channel weights, filled up to whole words, and three words for sums in a window, or five.

    Behind a 3x3 filter's weights stand whether rows are small, and whether there are five words.
    """
    channels, taps = call.channels, call.taps[0] * call.taps[1]
    length, three = -(-taps // 4), "_3x3" in call.function
    words = np.frombuffer(call.words(), dtype="<u4")
    rows, constants, beyond, at = [], [], [], 0
    for _ in range(channels):
        row = words[at : at + length].view("i1")
        if len(row) < 4 * length:
            raise ValueError("the stream ends before its channels")
        far = bool(row[10]) if three else "_bounded" not in call.function
        at += length + (5 if far else 3)
        rows.append(row)
        beyond.append(far)
        constants.append(np.resize(words[at - (5 if far else 3) : at], 5))
    if at != len(words):
        raise ValueError("the stream has more than its channels")
    packed, is_beyond = np.array(rows).astype(np.int64), np.array(beyond)
    if three:
        _check_small(packed, is_beyond)
        packed[:, 9:11] = 0
    if "_bounded" in call.function and is_beyond.any():
        raise ValueError("a channel has sums beyond a window")
    weights = without_padding(packed, taps)
    if _lines_are_columns(call):
        weights = weights.reshape(channels, call.taps[1], call.taps[0]).transpose(0, 2, 1).reshape(channels, taps)
    return [
        _part(np.flatnonzero(channels), weights, np.array(constants), far)
        for far, channels in ((False, ~is_beyond), (True, is_beyond))
    ]


def _lines_are_columns(call: PackedCall) -> bool:
    """Whether the kernel's lines are columns of the image: a step between values is then longer than one between lines.

    The steps are equal for an input one value wide; then lines are columns if they have several values.
    """
    step, row = call.number("input_step"), call.number("input_row")
    return row < step or (row == step and call.number("input_width") > 1)


def _part(rows: NDArray[np.int64], weights: Integers, words: NDArray[np.uint32], far: bool) -> UnpackedPart:
    constants = words[rows].astype(np.int64)
    none = np.zeros(len(rows), dtype=np.int64)
    outputs = Halves(wrapped(constants), none).outputs if far else BoundedSums(constants[:, :3]).outputs
    return UnpackedPart(rows, weights[rows], outputs)


def _check_small(packed: Integers, beyond: NDArray[np.bool_]) -> None:
    """Checks that only rows whose sum of products fits 16 bits are marked as small. Raises ValueError."""
    lines = packed[:, :9].reshape(-1, 3, 3)
    products = (
        (lines * np.where(lines < 0, -128, 127)).sum(axis=2),
        (lines * np.where(lines < 0, 127, -128)).sum(axis=2),
    )
    large = ((products[0] > 2**15) | (products[1] <= -(2**15))).any(axis=1)
    flags = packed[:, 9]
    if (
        (flags & ~1).any()
        or (packed[:, 10] & ~1).any()
        or packed[:, 11].any()
        or ((flags == 1) & (large | beyond)).any()
    ):
        raise ValueError("a channel's rows are not small")


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (
        Computes(DepthwiseConvolution, depthwise_thumb),
        Computes(GroupedConvolution, _of_single_channels),
        Computes(Convolution, _of_one_channel),
    ),
    {
        "depthwise_thumb_3x3": depthwise_cost(
            "depthwise 3x3", "strip plane_pair wide_strided_pair pair odd_column clamp", 1, 1, 2
        ),
        "depthwise_thumb_window": depthwise_cost(
            "depthwise but 3x3", "strip plane_line plane_pair wide_strided_pair pair pair_taps signed", 1, 1, 2
        ),
    },
    (Cases("depthwise_filters planes scaled_depthwise_window scaled_depthwise3x3"),),
    preference=1,
    read=_read,
)
