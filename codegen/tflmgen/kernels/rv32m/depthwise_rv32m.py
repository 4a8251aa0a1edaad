"""DEPTHWISE_CONV_2D 3x3 in int8 for RV32IM: the stream of channels, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, Overlap, PackedCall, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.requests import DepthwiseConvolution
from tflmgen.kernels.rv32m.rv32m_requantisation import read_requantisation, rv32m_requantisations
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import params
from tflmgen.kernels.specification.window import Window

HEADER = "depthwise_rv32m.h"


def depthwise_rv32m(request: DepthwiseConvolution) -> Kernel | None:
    """The kernel; None where it would not be exact, or where windows are of another form."""
    op, window, layer = request.op, request.window, request.layer
    if request.filters != 1 or not _slides(window):
        return None
    requantisation = rv32m_requantisations(layer)
    if requantisation is None:
        return None
    steps = window.steps
    fields = params(
        "tflmgen_depthwise_rv32m_s8",
        window.image_fields,
        (("stride_height", steps.stride_height), ("stride_width", steps.stride_width), *window.padding_fields),
        (("padding_value", zero_point(input_type(op, 0))), ("scale_bits", requantisation.scale_bits)),
        layer.limit_fields(requantisation.clamped),
    )
    return Kernel(
        f"tflmgen_depthwise_rv32m{'' if requantisation.signed else '_clamped'}_s8",
        HEADER,
        (Input(0), ConstantArray.of("channels", _stream(layer.weights, requantisation.words), DType.UINT32), Output(0)),
        fields,
        _overlaps(window, op.outputs[0].bytes),
        Cost(request.macs, numbers=(("signed", requantisation.signed), ("filter_height", 3), ("filter_width", 3))),
        "rv32m",
    )


def _slides(window: Window) -> bool:
    """Whether windows are 3x3 with strides of 1 or 2 and, but for one column on either side, inside the input's width.

    The second column of each is inside.
    """
    steps, (_, _, width, _) = window.steps, window.input
    if window.taps != (3, 3) or (steps.dilation_height, steps.dilation_width) != (1, 1):
        return False
    left, stride, outputs = window.width.padding, steps.stride_width, window.width.output
    ends = (outputs - 1) * stride - left + 3
    return stride in (1, 2) and left in (0, 1) and width >= 2 - left and ends <= width + 1


def _overlaps(window: Window, output_bytes: int) -> tuple[Overlap, ...]:
    """The claim that a channel's outputs may lie over its own values, a number of whole pixels before them.

    When an output is written, its window's columns are in registers, and all columns before those.
    """
    _, height, width, channels = window.input
    rows, columns = window.height.output, window.width.output
    if window.input[0] > 1:
        return ()
    tops = np.arange(rows) * window.steps.stride_height - window.height.padding
    firsts = np.where(tops + 2 < 0, height, np.minimum(np.maximum(tops, 0), height)) * width
    later = np.append(np.minimum.accumulate(firsts[::-1])[::-1][1:], height * width)
    ends = np.arange(columns) * window.steps.stride_width - window.width.padding + 3
    ends[-1] = width
    in_line = np.where(ends < width, firsts[:, None] + ends, height * width)
    needed = np.minimum(in_line, later[:, None])
    written = np.arange(1, rows * columns + 1).reshape(rows, columns)
    distance = channels * max(0, int((written - needed).max()))
    return (Overlap(0, 0, distance, multiple=channels),) if distance < output_bytes else ()


def _stream(weights: Integers, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Per channel its constants and weights, 7 words."""
    padded = np.zeros((len(weights), 12), dtype=np.int8)
    padded[:, :9] = weights
    return np.concatenate([words, padded.view("<u4")], axis=1).reshape(-1)


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Per channel four words, and nine weights behind them in twelve bytes."""
    fields = [("words", "<i4", (4,)), ("weights", "i1", (9,)), ("none", "i1", (3,))]
    lines = records(call.words(), fields, call.channels)
    if lines["none"].any():
        raise ValueError("what fills up a channel is not zero")
    signed = "_clamped" not in call.function
    requantisation = read_requantisation(lines["words"].astype(np.int64), call.number("scale_bits"), signed)
    return [UnpackedPart(np.arange(call.channels), lines["weights"].astype(np.int64), requantisation.outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "rv32m",
    (Computes(DepthwiseConvolution, depthwise_rv32m),),
    {"depthwise_rv32m": depthwise_cost("depthwise 3x3", "output border")},
    (Cases("planes scaled_depthwise3x3"),),
    read=_read,
)
