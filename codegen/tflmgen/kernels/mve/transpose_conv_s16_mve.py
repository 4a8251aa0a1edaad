"""TRANSPOSE_CONV of int16 by int8 for cores with MVE: convolutions of int16, one for each phase of the outputs."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, UnpackedSums
from tflmgen.kernels.costs.cost_model import transposed_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.conv2d_s16_mve import read_stream, row_for, stream_bytes, stream_words
from tflmgen.kernels.numeric.packed_readers import reading_phases
from tflmgen.kernels.numeric.phases import phases_of, transposed_fields
from tflmgen.kernels.requests import Int16TransposedConvolution
from tflmgen.kernels.specification.rules import input_type
from tflmgen.kernels.specification.weights import params, range_fields


def transpose_conv_s16_mve(request: Int16TransposedConvolution) -> Kernel | None:
    """The kernel; None where an output has no tap."""
    op, layer = request.op, request.layer
    phases = phases_of(request.window, layer, 0)
    if phases is None:
        return None
    name = "tflmgen_transpose_conv_s16_mve"
    fields = params(name, transposed_fields(op, request.window), range_fields(op, request.activation))
    stream = ConstantArray.of("stream", np.concatenate([stream_words(part) for _, part in phases]), DType.UINT32)
    operands = (Input(2), stream, row_for(max(part.weights.shape[1] for _, part in phases)), Output(0))
    source = input_type(op, 2)
    macs = source.elements * layer.weights.size // source.max_shape[3]
    return Kernel(name, "transpose_conv_s16_mve.h", operands, fields, cost=Cost(macs), variant="mve")


def _read(call: PackedCall) -> list[UnpackedSums]:
    """The weights, put together from each phase's taps, with the biases and multipliers that all phases repeat."""
    data, constants = call.words(), []
    weights = np.zeros((call.channels, *call.taps, call.inputs), dtype=np.int64)
    for down, across in reading_phases(call):
        terms = len(down) * len(across) * call.inputs
        size = stream_bytes(call.channels, terms)
        part = read_stream(data[:size], call.channels, terms)
        assert part.weights is not None
        weights[:, np.array(down)[:, None], across] = part.weights.reshape(call.channels, len(down), len(across), -1)
        constants.append(np.stack([part.starts, np.asarray(part.high)]))
        data = data[size:]
    if data or any((other != constants[0]).any() for other in constants):
        raise ValueError("the phases differ in biases or multipliers, or there are more of them")
    return [UnpackedSums(weights.reshape(call.channels, -1), *constants[0])]


KERNEL = KernelDeclaration(
    "transpose_conv_s16_mve.h",
    "mve",
    (Computes(Int16TransposedConvolution, transpose_conv_s16_mve),),
    {"transpose_conv_s16_mve": transposed_cost("transpose_conv int16", "pixel step", 1, 8, 8, has_call=False)},
    (Cases("transpose_conv_s16"),),
    read=_read,
)
