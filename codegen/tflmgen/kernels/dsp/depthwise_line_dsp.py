"""DEPTHWISE_CONV_2D in int8 with taps in one row or column for the DSP extension: packed weights, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, Overlap, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.dsp_requantisation import SCALE_BITS, DspRequantisations, requantisations
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.kernel_requantisation import HighProduct
from tflmgen.kernels.numeric.packed_readers import records, without_padding
from tflmgen.kernels.requests import DepthwiseConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import params
from tflmgen.kernels.specification.window import Extent, Window

HEADER = "depthwise_line_dsp.h"

TAPS = (3, 5, 9)
"""Numbers of taps that C functions are for; a shorter filter has zeros behind it."""

GROUP = 4
"""Channels whose planes are in memory at a time."""


def depthwise_line_dsp(request: DepthwiseConvolution) -> Kernel | None:
    """The kernel; None for other windows than lines of 2 to 9 taps that move by one, or where it would not be exact."""
    op, layer, lines = request.op, request.layer, _lines(request.window)
    channels = request.window.input[3]
    if lines is None or channels < GROUP or request.filters > 1:
        return None
    taps = next((count for count in TAPS if count >= layer.weights.shape[1]), None)
    requantisation = requantisations(layer)
    if taps is None or requantisation is None or not requantisation.fixable:
        return None
    # Of sums below zero, outputs that the zero point is to clamp need not be exact.
    is_clamped = requantisation.clamped or layer.low >= layer.zero_point > -128
    fields = params(
        "tflmgen_depthwise_line_dsp_s8",
        lines.fields,
        (("padding_value", zero_point(input_type(op, 0))),),
        lines.step_fields,
        layer.limit_fields(is_clamped),
    )
    stream = ConstantArray.of("stream", _stream(layer.weights, requantisation, taps), DType.UINT32)
    outputs = -(-lines.along.output // lines.dilation)
    as_line = {"filter_height": 1, "filter_width": taps, "stride_height": 1, "padding_top": 0, "dilation_height": 1}
    return Kernel(
        f"tflmgen_depthwise_line_dsp_to{taps}_s8",
        HEADER,
        (Input(0), stream, Scratch(2 * GROUP * (outputs + outputs % 2 + taps - 1)), Output(0)),
        fields,
        (Overlap(0, 0, 0, exact=True),) if lines.runs_in_place else (),
        Cost(request.macs, numbers=(*as_line.items(), ("input_height", lines.count))),
        "dsp",
    )


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines that a filter of one row or column moves along. Steps are in elements of the input and of the output.

    count: of the lines in each batch. size: elements of a line of the input. along: those of the output, and padding.
    """

    window: Window
    count: int
    size: int
    along: Extent
    dilation: int
    steps: tuple[int, int]
    lines: tuple[int, int]

    @property
    def fields(self) -> tuple[tuple[str, int], ...]:
        """Numbers and sizes of the lines."""
        return (
            ("batches", self.window.input[0]),
            ("output_height", self.count),
            ("input_width", self.size),
            ("output_width", self.along.output),
            ("input_channels", self.window.input[3]),
            ("padding_left", self.along.padding),
            ("dilation_width", self.dilation),
        )

    @property
    def step_fields(self) -> tuple[tuple[str, int], ...]:
        """Bytes between elements, lines and batches."""
        _, height, width, channels = self.window.input
        return (
            *zip(("input_step", "output_step"), self.steps, strict=True),
            *zip(("input_line", "output_line"), self.lines, strict=True),
            ("input_batch", height * width * channels),
            ("output_batch", self.window.height.output * self.window.width.output * channels),
        )

    @property
    def runs_in_place(self) -> bool:
        """Whether no output overwrites what is read after it: a phase's outputs lie where its inputs were."""
        in_place = self.size == self.along.output and self.steps == self.steps[::-1] and self.lines == self.lines[::-1]
        return in_place and self.along.padding % self.dilation == 0 and self.window.input[3] % GROUP == 0


def _lines(window: Window) -> _Lines | None:
    """The lines of a filter of one row or one column; None where it moves by more than one, or is a single tap."""
    steps, (_, height, width, channels) = window.steps, window.input
    row, out_row = width * channels, window.width.output * channels
    down, across = window.height, window.width
    if (
        window.taps[0] == 1 < window.taps[1]
        and steps.stride_width == 1
        and _lies_inside(down, steps.stride_height, height)
    ):
        lines = steps.stride_height * row, out_row
        return _Lines(window, down.output, width, across, steps.dilation_width, (channels, channels), lines)
    if (
        window.taps[1] == 1 < window.taps[0]
        and steps.stride_height == 1
        and _lies_inside(across, steps.stride_width, width)
    ):
        lines = steps.stride_width * channels, channels
        return _Lines(window, across.output, height, down, steps.dilation_height, (row, out_row), lines)
    return None


def _lies_inside(extent: Extent, stride: int, size: int) -> bool:
    """Whether no window of a single row or column lies in padding."""
    return extent.padding == 0 and (extent.output - 1) * stride < size


def _stream(weights: Integers, requantisation: DspRequantisations, taps: int) -> NDArray[np.uint32]:
    """Words of all channels, see the header: [channels * (taps + 3)]."""
    padded = np.zeros((len(weights), taps), dtype="<i2")
    padded[:, : weights.shape[1]] = weights << SCALE_BITS
    firsts = np.arange(taps - 1)
    words = np.ascontiguousarray(padded[:, np.stack([firsts, firsts + 1], axis=1).reshape(-1)]).view("<u4")
    constants = [
        (c.multiplier, c.addend % 2**32, c.shift, ((c.bias << SCALE_BITS) + c.offset) % 2**32)
        for c in requantisation.channels
    ]
    return np.concatenate([words, np.array(constants, dtype=np.uint32)], axis=1).reshape(-1)


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Per channel each pair of taps side by side, multiplier, addend, shift, and start."""
    taps = next(count for count in (3, 5, 9) if f"_to{count}_" in call.function)
    stream = records(
        call.words(),
        [
            ("pairs", "<i2", (taps - 1, 2)),
            *((name, "<i4", ()) for name in ("multiplier", "addend", "shift", "start")),
        ],
        call.channels,
    )
    pairs = stream["pairs"]
    if (pairs[:, :-1, 1] != pairs[:, 1:, 0]).any():
        raise ValueError("a tap is packed twice with different weights")
    weights = without_padding(np.concatenate([pairs[:, :1, 0], pairs[:, :, 1]], axis=1), call.taps[0] * call.taps[1])
    names = ("start", "multiplier", "addend", "shift")
    rest = HighProduct(*(stream[name].astype(np.int64) for name in names), scale=1, sign_fixes=128)
    return [UnpackedPart(np.arange(call.channels), weights, rest.outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "dsp",
    (Computes(DepthwiseConvolution, depthwise_line_dsp),),
    {"depthwise_line_dsp": depthwise_cost("depthwise lines", "plane_line plane_pair pair_taps clamp", 1, 4)},
    (Cases("scaled_depthwise_line"),),
    read=_read,
)
