"""FULLY_CONNECTED of int16 by int8 for cores with the DSP extension: packed weights, and when it is applicable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Null, Output, PackedCall, Scratch, UnpackedSums
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.int16_weights import in_order, words_of_four
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int16_layer import Int16Layer
from tflmgen.kernels.numeric.packed_readers import records, without_padding
from tflmgen.kernels.numeric.stream_words import as_words
from tflmgen.kernels.requests import Int16MatrixProduct
from tflmgen.kernels.specification.weights import overlaps, params, range_fields

GROUP = header_constant("fully_connected_s16_dsp.h", "TFLMGEN_FULLY_CONNECTED_S16_DSP_UNITS")
"""Units that are computed at a time."""

STACK_DEPTH = header_constant("fully_connected_s16_dsp.h", "TFLMGEN_FULLY_CONNECTED_S16_DSP_STACK")
"""Values of a row that is copied to the stack."""


def fully_connected_s16_dsp(request: Int16MatrixProduct) -> Kernel | None:
    """The kernel; a long row that is no whole number of steps is copied to the arena. None on cores with MVE, whose
    kernel is faster.
    """
    if "mve" in request.target.instructions:
        return None
    op, layer, batches = request.op, request.layer, request.batches
    units, depth = layer.weights.shape
    scratch = Scratch(8 * -(-depth // 4)) if depth % 4 and depth > STACK_DEPTH else Null()
    sizes = ("batches", batches), ("depth", depth), ("units", units)
    fields = params("tflmgen_fully_connected_s16_dsp", sizes, range_fields(op, request.activation))
    stream = ConstantArray.of("stream", _groups(words_of_four(layer.weights), layer), DType.UINT32)
    # A row of whole steps is read again for each group, any other is copied first.
    last = units if depth % 4 else 1 if units % GROUP else GROUP
    distance = max(0, units - last + max(0, (batches - 1) * (units - depth)))
    return Kernel(
        "tflmgen_fully_connected_s16_dsp",
        "fully_connected_s16_dsp.h",
        (Input(0), stream, scratch, Output(0)),
        fields,
        overlaps(op.outputs[0], distance),
        Cost(op.outputs[0].elements * depth),
        "dsp",
    )


def _groups(words: NDArray[np.uint32], layer: Int16Layer) -> NDArray[np.uint32]:
    """Groups of four units, then single ones."""
    units = len(words)
    whole = units - units % GROUP
    parts = []
    for unit in [*range(0, whole, GROUP), *range(whole, units)]:
        block = slice(unit, unit + (GROUP if unit < whole else 1))
        parts += [as_words(layer.bias[block]), words[block].T.reshape(-1), as_words(layer.multipliers[block])]
    return np.concatenate(parts)


def _read(call: PackedCall) -> list[UnpackedSums]:
    """Groups of four units, then single ones: biases, words of four values of each unit, multipliers."""
    steps, single, data = -(-call.terms // 4), call.channels % 4, call.words()
    end = len(data) - single * (4 * steps + 8)
    parts = []
    for block, units in ((data[:end], 4), (data[end:], 1)):
        fields = [("bias", "<i4", (units,)), ("words", "i1", (steps, units, 4)), ("high", "<i4", (units,))]
        stream = records(block, fields, call.channels // 4 if units == 4 else single)
        words = in_order(stream["words"].transpose(0, 2, 1, 3)).reshape(len(stream) * units, 4 * steps)
        parts.append((words, stream["bias"].reshape(-1), stream["high"].reshape(-1)))
    words, starts, high = (np.concatenate(columns).astype(np.int64) for columns in zip(*parts, strict=True))
    return [UnpackedSums(without_padding(words, call.terms), starts, high)]


KERNEL = KernelDeclaration(
    "fully_connected_s16_dsp.h",
    "dsp",
    (Computes(Int16MatrixProduct, fully_connected_s16_dsp),),
    {
        "fully_connected_s16_dsp": matrix_cost(
            "fully_connected int16", "odd_value unit mac lone rest_mac partial_block", 1, 4, 4
        )
    },
    (Cases("fully_connected_s16"),),
    read=_read,
)
