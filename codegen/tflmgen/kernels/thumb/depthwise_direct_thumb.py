"""DEPTHWISE_CONV_2D in int8 for every Cortex-M in little memory: when the kernel is exact."""

from __future__ import annotations

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Output, Overlap, Scratch
from tflmgen.kernels.costs.model import depthwise_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.weights import params
from tflmgen.kernels.requests import DepthwiseConvolution
from tflmgen.kernels.rules import input_type, zero_point
from tflmgen.kernels.thumb.bounded import bounded
from tflmgen.kernels.thumb.channels import own_rescalings

HEADER = "depthwise_direct_thumb.h"
TAP_BYTES = 8
"""Of a window's tap in the table."""


def depthwise_direct_thumb(request: DepthwiseConvolution) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels, taps = layer.weights.shape
    within = bounded(layer)
    beyond = None if within else own_rescalings(layer)
    if within:
        words, clamped = within.words, within.clamped
    elif beyond:
        words, clamped = beyond.all_words, beyond.clamped
    else:
        return None
    fields = params(
        "tflmgen_depthwise_direct_thumb_s8",
        window.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("pads", window.reaches_out)),
        (("output_min", layer.low if clamped else -128), ("output_max", layer.high if clamped else 127)),
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
        (Overlap(0, 0, distance),) if distance < op.outputs[0].bytes else (),
        request.macs,
        "thumb",
    )


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (Computes(DepthwiseConvolution, depthwise_direct_thumb),),
    {"depthwise_direct_thumb": depthwise_cost("pixel border border_tap output step signed clamp")},
    (Cases("planes scaled_depthwise_window scaled_depthwise3x3"),),
    preference=2,
)
