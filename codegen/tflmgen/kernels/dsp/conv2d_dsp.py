"""CONV_2D in int8 for cores with the DSP extension: the stream of packed weights, and when the kernel is applicable."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

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
    OperatorInstance,
    Output,
    Outputs,
    PackedCall,
    Scratch,
    UnpackedPart,
)
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.costs.term import Blocking
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.common_shift import SHIFT, with_common_shift
from tflmgen.kernels.dsp.dsp_requantisation import (
    DspRequantisations,
    first_sums,
    pair_words,
    requantisations,
    starts_of_pairs,
    weights_of_pairs,
)
from tflmgen.kernels.dsp.padding_rows import PaddingRows
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer, Integers
from tflmgen.kernels.numeric.kernel_requantisation import HighProduct
from tflmgen.kernels.numeric.packed_readers import agreeing, pairs_of, records, without_padding
from tflmgen.kernels.numeric.stream_words import pair_firsts
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import FORWARD, go_backward, overlaps, params
from tflmgen.kernels.specification.window import Window

HEADER = "conv2d_dsp.h"
BLOCK = header_constant("conv2d_block_dsp.h", "TFLMGEN_CONV2D_DSP_PIXELS")
"""Pixels whose windows are read before any of their outputs is written."""

BLOCKING = (BLOCK, 2, 4)
"""Pixels, output channels and values of the input that are computed at a time."""

PART_STEPS = header_constant("conv2d_split_dsp.h", "TFLMGEN_CONV2D_SPLIT_DSP_PART_STEPS")
"""The most steps of a window that are computed at a time where windows are split into parts."""

STACK_WORDS = header_constant("conv2d_block_dsp.h", "TFLMGEN_CONV2D_DSP_STACK_WORDS")
"""Words of an im2col buffer on the stack; a longer one is scratch."""


def conv2d_dsp(request: Convolution) -> tuple[Kernel, ...]:
    """The kernels, each with one row pitch; none where they would not be exact, or weights are no shifted pairs."""
    lengths = _row_lengths(request.layer, request.window)[: None if request.target.optimize != "size" else 1]
    kernels = (_kernel(request, length) for length in lengths)
    return tuple(kernel for kernel in kernels if kernel is not None)


def _kernel(request: Convolution, pitch: int) -> Kernel | None:
    """The kernel with this row pitch. Unless flash is to be smallest, functions for a common shift and for an odd
    number of steps are used.
    """
    op, window, layer = request.op, request.window, request.layer
    special = request.target.optimize != "size"
    channels = len(layer.weights)
    spread = _with_pitch(layer, window, pitch)
    words, requantisation = pair_words(spread.weights), _requantisations(layer, special)
    if requantisation is None or words is None or channels < 2:
        return None
    steps, starts = words.shape[1], first_sums(spread, requantisation)
    fields = params(
        "tflmgen_conv2d_dsp_s8",
        window.flat.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("row_pitch", pitch), ("steps", steps)),
        FORWARD,
        layer.limit_fields(requantisation.clamped),
    )
    im2col_words = 2 * BLOCK * steps + (0 if window.input[3] % 4 == 0 else steps)
    skipped = PaddingRows.worth_skipping(window, channels, Blocking(*BLOCKING)) if special and pitch % 4 == 0 else None
    pairs = np.append(channel_pairs(words, starts, requantisation), _edge_starts(op, window, spread, starts, skipped))
    stream = ConstantArray.of("stream", pairs, DType.UINT32)
    parts = f"{'_odd' if steps % 2 else ''}{'_edges' if skipped else ''}"
    kind = f"{_kind(requantisation)}{parts}" if special else f"_compact{_kind(requantisation)}"
    scratch = Null() if im2col_words <= STACK_WORDS else Scratch(4 * im2col_words)
    operands: tuple[Operand, ...] = (Input(0), stream, scratch, Output(0))
    input_overlaps = overlaps(op.outputs[0], window.block_distance(channels, BLOCK))
    flags = (
        ("own_scales", not requantisation.common_shift),
        ("signed", requantisation.signed),
        ("skips_padding", skipped is not None),
    )
    cost = Cost(request.macs, "conv2d_dsp", flags)
    kernel = Kernel(f"tflmgen_conv2d_dsp{kind}_s8", HEADER, operands, fields, input_overlaps, cost, "dsp")
    kernel = replace(kernel, smaller=_split(op, window, layer, special, kernel))
    pixels = window.flat.input[2]
    return go_backward(op, kernel, window, range(pixels % BLOCK, pixels, BLOCK))


def _split(op: OperatorInstance, window: Window, layer: Int8Layer, special: bool, whole: Kernel) -> tuple[Kernel, ...]:
    """The kernel that computes windows in parts (conv2d_split_dsp.h), where it takes less scratch than `whole`."""
    channels = len(layer.weights)
    requantisation, words = _requantisations(layer, special), pair_words(layer.weights)
    if requantisation is None or not (requantisation.common_shift or requantisation.fixable):
        return ()
    if words is None or window.input[3] % 4 or window.steps.dilation_width > 1:
        return ()
    steps, pairs = words.shape[1], -(-channels // 2)
    row = steps // window.taps[0]
    part = PART_STEPS // row * row or -(-row // -(-row // PART_STEPS))
    firsts = [n for first in range(0, steps, max(row, part)) for n in range(first, first + max(row, part), part)]
    firsts = [n for n in firsts if n < steps]
    pixels = math.prod(op.outputs[0].max_shape[:3])
    scratch = Scratch(8 * BLOCK * pairs + (-(-BLOCK * channels // 4) * 4 if pixels % BLOCK else 0))
    if len(firsts) < 2 or scratch.bytes >= sum(o.bytes for o in whole.operands if isinstance(o, Scratch)):
        return ()
    skipped = PaddingRows.worth_skipping(window, channels, Blocking(*BLOCKING), part) if special else None
    fields = params(
        "tflmgen_conv2d_split_dsp_s8",
        window.fields(channels),
        (("dilation_height", window.steps.dilation_height), ("padding_value", zero_point(input_type(op, 0)))),
        (("steps", steps), ("part_steps", part), ("skips_padding", skipped is not None)),
        layer.limit_fields(requantisation.clamped),
    )
    starts = first_sums(layer, requantisation)
    rows = channel_pairs(words, starts, requantisation).reshape(pairs, -1)
    cuts = [0, *(2 + 2 * n for n in firsts[1:]), rows.shape[1]]
    values = np.concatenate([rows[:, a:b].reshape(-1) for a, b in pairwise(cuts)])
    values = np.append(values, _edge_starts(op, window, layer, starts, skipped))
    operands = (Input(0), ConstantArray.of("stream", values, DType.UINT32), scratch, Output(0))
    function = f"tflmgen_conv2d_split_dsp{'_relu_uniform' if requantisation.common_shift else ''}_s8"
    cost = Cost(whole.macs, "conv2d_split_dsp", (("signed", not requantisation.common_shift),))
    return (Kernel(function, "conv2d_split_dsp.h", operands, fields, whole.overlaps, cost, "dsp"),)


def _requantisations(layer: Int8Layer, special: bool) -> DspRequantisations | None:
    """Requantisations with a shift common to all channels where one exists.

    Not for an odd number of channels: the last one needs a control word with its shift.
    """
    requantisation = requantisations(layer)
    if requantisation is None or not special or len(layer.weights) % 2:
        return requantisation
    return with_common_shift(layer, requantisation) or requantisation


def _kind(requantisation: DspRequantisations) -> str:
    if requantisation.common_shift:
        return "_relu_uniform"
    return "" if requantisation.signed else "_relu"


def is_computed_in_blocks(request: Convolution) -> bool:
    """Whether conv2d_dsp computes it."""
    layer, window = request.layer, request.window
    spread = (_with_pitch(layer, window, pitch) for pitch in _row_lengths(layer, window))
    has_words = len(layer.weights) > 1 and any(pair_words(other.weights) is not None for other in spread)
    return has_words and bool(requantisations(layer))


def _row_lengths(layer: Int8Layer, window: Window) -> tuple[int, ...]:
    """Row pitches that kernels may have, in values of a window's row: filled up to whole words where that costs no
    steps, else the row's own length and, which takes more steps but less gathering, filled up to whole words.
    """
    row = window.taps[1] * window.input[3]
    whole = -(-row // 4) * 4
    if whole * window.taps[0] <= -(-layer.weights.shape[1] // 4) * 4:
        return (whole,)
    return (row, whole) if window.steps.dilation_width == 1 else (row,)


def _with_pitch(layer: Int8Layer, window: Window, pitch: int) -> Int8Layer:
    """The layer with its weights in the order of conv2d_gather_dsp.h: each row of a window is filled up with zeros to
    `pitch` values; the whole words of all rows come first, the row tails behind them.
    """
    channels, terms = layer.weights.shape
    row = window.taps[1] * window.input[3]
    rows = layer.weights.reshape(channels, terms // row, row)
    padded = np.pad(rows, ((0, 0), (0, 0), (0, pitch - row)))
    whole = pitch // 4 * 4
    parts = [part.reshape(channels, -1) for part in (padded[:, :, :whole], padded[:, :, whole:])]
    return replace(layer, weights=np.concatenate(parts, axis=1))


def _edge_starts(
    op: OperatorInstance, window: Window, layer: Int8Layer, starts: NDArray[np.uint32], skipped: PaddingRows | None
) -> NDArray[np.uint32]:
    """Biases behind the records of the stream, for edge blocks (conv2d_dsp.h), or nothing if no rows are left out."""
    if skipped is None:
        return np.zeros(0, dtype=np.uint32)
    weights = layer.weights.reshape(len(layer.weights), window.taps[0], -1)
    cases = skipped.starts(weights, starts, zero_point(input_type(op, 0)))
    return cases[:, [n for first in pair_firsts(len(weights)) for n in (first, first + 1)]].reshape(-1)


def channel_pairs(
    words: NDArray[np.uint32], starts: NDArray[np.uint32], requantisation: DspRequantisations
) -> NDArray[np.uint32]:
    """Records of pairs of channels, see conv2d_steps_dsp.h, as one array. words: [channels, steps]; starts:
    [channels].
    """
    channels, steps = words.shape
    firsts = pair_firsts(channels)
    stream = np.zeros((len(firsts), 2 + 2 * steps + (4 if requantisation.common_shift else 5)), dtype=np.uint32)
    for row, first, following in zip(stream, firsts, [*firsts[1:], firsts[-1]], strict=True):
        pair = requantisation.channels[first : first + 2]
        scales = [n % 2**32 for channel in pair for n in (channel.multiplier, channel.addend)]
        control = (
            [] if requantisation.common_shift else [pair[0].shift + (pair[1].shift << 8) + (following - first << 16)]
        )
        row[:2] = starts[first : first + 2]
        row[2 : 2 + 2 * steps] = words[first : first + 2].T.reshape(-1)
        row[2 + 2 * steps :] = scales + control
    return stream.reshape(-1)


def read_pairs(data: bytes, channels: int, signed: bool, uniform: bool = False) -> tuple[Integers, Outputs]:
    """Weights [channels, 4 steps] and requantisation of a stream of channel pairs, see conv2d_steps_dsp.h."""
    count, behind = -(-channels // 2), 4 if uniform else 5
    steps = (len(data) // 4 // count - 2 - behind) // 2
    control = [] if uniform else [("shifts", "u1", (2,)), ("next", "<u2", (1,))]
    stream = records(
        data,
        [("starts", "<i4", (2,)), ("words", "<i2", (steps, 2, 2)), ("scales", "<i4", (2, 2)), *control],
        count,
    )
    firsts, distances = pairs_of(channels)
    shifts = np.full((count, 2), SHIFT) if uniform else stream["shifts"].astype(np.int64)
    if not uniform and (stream["next"][:, 0] != distances).any():
        raise ValueError("a pair of channels is not followed by the next one")
    rows = np.minimum(firsts[:, None] + [0, 1], channels - 1).reshape(-1)
    halves, start, scale, shift = agreeing(
        rows,
        stream["words"].transpose(0, 2, 1, 3).reshape(2 * count, -1),
        stream["starts"].reshape(-1),
        stream["scales"].reshape(-1, 2),
        shifts.reshape(-1),
    )
    weights = weights_of_pairs(halves)
    multiplier, addend = scale.T
    requantisation = HighProduct(
        starts_of_pairs(start, weights), multiplier, addend, shift, sign_fixes=128 if signed else 0
    )
    return weights, requantisation.outputs


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Records of pairs of channels, whose windows are in the order of conv2d_gather_dsp.h, or split into parts."""
    channels, uniform, signed = call.channels, "_uniform" in call.function, "_relu" not in call.function
    is_split = "_split" in call.function
    size = -(-channels // 2) * (2 + 2 * call.number("steps") + (4 if uniform else 5)) * 4
    pairs = _joined_parts(call, call.words()[:size], uniform) if is_split else call.words()[:size]
    weights, outputs = read_pairs(pairs, channels, signed, uniform)
    _check_edges(call, weights, pairs, call.words()[size:])
    if is_split:
        return [UnpackedPart(np.arange(channels), without_padding(weights, call.terms), outputs)]
    lines, pitch = call.number("filter_height"), call.number("row_pitch")
    row, whole = call.terms // lines, pitch - pitch % 4
    used = without_padding(weights, lines * pitch)
    front = used[:, : lines * whole].reshape(channels * lines, whole)
    rest = used[:, lines * whole :].reshape(channels * lines, pitch - whole)
    rows = without_padding(np.concatenate([front, rest], axis=1), row).reshape(channels, -1)
    return [UnpackedPart(np.arange(channels), rows, outputs)]


def _check_edges(call: PackedCall, weights: Integers, pairs: bytes, behind: bytes) -> None:
    """Raises ValueError where what sums begin with at edges is not what rows of padding add to them; where no rows are
    left out, nothing may be behind the pairs.
    """
    if not ("_edges" in call.function or call.fields.get("skips_padding")):
        if behind:
            raise ValueError("there is something behind the last pair of channels")
        return
    rows = weights.reshape(call.channels, call.number("filter_height"), -1)
    added = 256 * call.number("padding_value") * rows.sum(axis=2) + 127 * rows[:, :, 0::2].sum(axis=2)
    top, step = call.number("padding_top"), call.number("dilation_height")
    last = (call.number("output_height") - 1) * call.number("stride_height") - top
    inside = sum(last + n * step < call.number("input_height") for n in range(rows.shape[1]))
    edges = [added[:, :n].sum(axis=1) for n in range(1, -(-top // step) + 1)]
    edges += [added[:, n:].sum(axis=1) for n in reversed(range(inside, rows.shape[1]))]
    pair = pairs_of(call.channels)[0][:, None] + [0, 1]
    plain = np.frombuffer(pairs, dtype="<u4").reshape(len(pair), -1)[:, :2].astype(np.int64)
    if behind != b"".join(((plain + edge[pair]) % 2**32).astype("<u4").tobytes() for edge in edges):
        raise ValueError("sums at edges do not begin with what padding adds to them")


def _joined_parts(call: PackedCall, data: bytes, uniform: bool) -> bytes:
    """A stream in parts of some steps each (conv2d_split_dsp.h) as one of whole channel pairs."""
    pairs, steps, part = -(-call.channels // 2), call.number("steps"), call.number("part_steps")
    row = steps // call.number("filter_height")
    lengths, done = [], 0
    while done < steps:
        count = min(part, row - done % row if part < row else steps - done)
        lengths.append(2 * count + (2 if not done else 0))
        done += count
    lengths[-1] += 4 if uniform else 5
    words = np.frombuffer(data, dtype="<u4")
    if len(words) != pairs * sum(lengths):
        raise ValueError("the stream is not as long as its parts")
    cuts = np.cumsum([0, *(pairs * length for length in lengths)])
    parts = [words[a:b].reshape(pairs, -1) for a, b in pairwise(cuts.tolist())]
    return np.concatenate(parts, axis=1).tobytes()


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(Convolution, conv2d_dsp),),
    {
        "conv2d_dsp": convolution_cost(
            "conv2d few channels",
            "alone alone_part_row pixel window piece block scaled_block step",
            *BLOCKING,
            has_call=False,
        ),
        "conv2d_split_dsp": convolution_cost(
            "conv2d long windows", "pixel alone_row gathered_step step window_part signed", 3, 2, 4
        ),
    },
    (
        Cases("scaled_conv2d scaled_pointwise"),
        Cases("scaled_conv2d", optimize="size"),
    ),
    beside=("conv2d_split_dsp.h",),
    read=_read,
)
