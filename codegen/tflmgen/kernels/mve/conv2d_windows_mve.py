"""CONV_2D in int8 for cores with MVE, a window at a time: the stream of packed weights, and when it is applicable."""

from __future__ import annotations

from tflmgen.ir import DType
from tflmgen.ir.kernel import (
    ConstantArray,
    Cost,
    Input,
    Kernel,
    Null,
    Operand,
    Output,
    PackedCall,
    Scratch,
    UnpackedPart,
)
from tflmgen.kernels.costs.cost_model import convolution_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.conv2d_mve import CHUNK
from tflmgen.kernels.mve.fully_connected_mve import STACK_BYTES as ROW_BYTES
from tflmgen.kernels.mve.fully_connected_mve import read_units, unit_stream
from tflmgen.kernels.mve.mve_requantisation import fit, padded_bytes
from tflmgen.kernels.requests import Convolution
from tflmgen.kernels.specification.rules import input_type, zero_point
from tflmgen.kernels.specification.weights import overlaps, params

HEADER = "conv2d_windows_mve.h"


def conv2d_windows_mve(request: Convolution) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, window, layer = request.op, request.window, request.layer
    channels = len(layer.weights)
    variant = fit(layer)
    if variant is None or not variant.fixable:
        return None
    packed = padded_bytes(layer.weights)
    row = CHUNK * packed.shape[1]
    fields = params(
        "tflmgen_conv2d_windows_mve_s8",
        window.fields(channels),
        window.dilation_fields,
        (("padding_value", zero_point(input_type(op, 0))), ("chunks", packed.shape[1])),
        (("output_zero_point", layer.zero_point),),
        layer.limit_fields(variant.clamped),
    )
    scratch = Null() if row <= ROW_BYTES else Scratch(row)
    stream = ConstantArray.of("stream", unit_stream(packed, layer), DType.UINT32)
    operands: tuple[Operand, ...] = (Input(0), stream, scratch, Output(0))
    input_overlaps = overlaps(op.outputs[0], window.block_distance(channels, 1))
    macs = request.macs
    return Kernel("tflmgen_conv2d_windows_mve_s8", HEADER, operands, fields, input_overlaps, Cost(macs), "mve")


def _read(call: PackedCall) -> list[UnpackedPart]:
    return read_units(call, 0)


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(Convolution, conv2d_windows_mve),),
    {"conv2d_windows_mve": convolution_cost("conv2d", "pixel row dilated_tap block step clamp", 1, 8, 16)},
    (Cases("scaled_conv2d scaled_grouped"),),
    preference=1,
    read=_read,
)
