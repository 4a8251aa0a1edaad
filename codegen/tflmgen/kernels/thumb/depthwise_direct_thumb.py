"""DEPTHWISE_CONV_2D in int8 for every Cortex-M in little memory: when the kernel is applicable."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Scratch, UnpackedPart
from tflmgen.kernels.costs.cost_model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.kernel_requantisation import BoundedSums, Halves
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.requests import DepthwiseConvolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.thumb.bounded import bounded
from tflmgen.kernels.thumb.thumb_requantisation import own_requantisations

HEADER = "depthwise_direct_thumb.h"
TAP_BYTES = 8
"""Bytes of the table for each tap of a window."""


def depthwise_direct_thumb(request: DepthwiseConvolution) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels, taps = layer.weights.shape
    within = bounded(layer)
    beyond = None if within else own_requantisations(layer)
    if within:
        words, clamped = within.words, within.clamped
    elif beyond:
        words, clamped = beyond.all_words, beyond.clamped
    else:
        return None
    fields = params(
        "tflmgen_depthwise_direct_thumb_s8",
        window.channel_fields,
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("pads", window.reaches_out)),
        layer.limit_fields(clamped),
    )
    distance = window.group_distance(1)
    return Kernel(
        f"tflmgen_depthwise_direct_thumb{'_bounded' if within else ''}_s8",
        HEADER,
        (
            Input(0),
            ConstantArray.of("weights", layer.weights.T, DType.INT8),
            ConstantArray.of("constants", words, DType.UINT32),
            Scratch(TAP_BYTES * taps + channels * window.reaches_out),
            Output(0),
        ),
        fields,
        overlaps(op.outputs[0], distance),
        Cost(request.macs, numbers=(("signed", within is None),)),
        "thumb",
    )


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Weights [taps, channels]; words to requantise sums by."""
    weights = np.frombuffer(call.words(1), dtype="i1").reshape(-1, call.channels).T.astype(np.int64)
    bounded = "_bounded" in call.function
    words = records(call.words(2), [("words", "<u4" if bounded else "<i4", (3 if bounded else 5,))], call.channels)
    constants, none = words["words"].astype(np.int64), np.zeros(call.channels, dtype=np.int64)
    outputs = BoundedSums(constants).outputs if bounded else Halves(constants, none).outputs
    return [UnpackedPart(np.arange(call.channels), weights, outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (Computes(DepthwiseConvolution, depthwise_direct_thumb),),
    {
        "depthwise_direct_thumb": depthwise_cost(
            "depthwise many channels", "pixel border border_tap output step signed clamp"
        )
    },
    (Cases("planes scaled_depthwise_window scaled_depthwise3x3"),),
    preference=2,
    read=_read,
)
