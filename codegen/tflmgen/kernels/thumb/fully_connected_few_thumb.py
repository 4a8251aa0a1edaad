"""FULLY_CONNECTED in int8 of few units for every Cortex-M: the stream of weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, UnpackedPart
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.kernel_requantisation import Halves
from tflmgen.kernels.numeric.matrix_overlap import overlap_distance
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.requests import Convolution, MatrixProduct
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.thumb.thumb_requantisation import own_requantisations

HEADER = "fully_connected_few_thumb.h"
MAX_UNITS = 3
"""Largest number of units for this kernel: for four, the kernel of groups takes fewer instructions."""


def fully_connected_few_thumb(request: MatrixProduct) -> Kernel | None:
    """The kernel; None where it would not be exact, or where there are many units."""
    op, layer, batches = request.op, request.layer, request.batches
    units, depth = layer.weights.shape
    requantisation = own_requantisations(layer) if units <= MAX_UNITS else None
    if requantisation is None:
        return None
    weights = np.zeros((units, depth + -depth % 4), dtype=np.int8)
    weights[:, weights.shape[1] - depth :] = layer.weights
    stream = np.concatenate([weights.view("<u4"), requantisation.all_words], axis=1)
    distance = overlap_distance(batches, depth, units)
    return Kernel(
        "tflmgen_fully_connected_few_thumb_s8",
        HEADER,
        (Input(0), ConstantArray.of("stream", stream.reshape(-1), DType.UINT32), Output(0)),
        params(
            "tflmgen_fully_connected_few_thumb_s8",
            (("batches", batches), ("depth", depth), ("units", units), ("unit_words", stream.shape[1])),
            layer.limit_fields(requantisation.clamped),
        ),
        overlaps(op.outputs[0], distance),
        Cost(request.macs),
        "thumb",
    )


def _of_convolution(request: Convolution) -> Kernel | None:
    return fully_connected_few_thumb(request.product) if request.product else None


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Units: bytes that fill up whole words, weights, and five words to requantise their sums."""
    stream = records(
        call.words(),
        [("front", "i1", (-call.terms % 4,)), ("weights", "i1", (call.terms,)), ("words", "<i4", (5,))],
        call.channels,
    )
    if stream["front"].any():
        raise ValueError("what fills up a row is not zero")
    words, none = stream["words"].astype(np.int64), np.zeros(call.channels, dtype=np.int64)
    return [UnpackedPart(np.arange(call.channels), stream["weights"].astype(np.int64), Halves(words, none).outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (Computes(MatrixProduct, fully_connected_few_thumb), Computes(Convolution, _of_convolution)),
    {"fully_connected_few_thumb": matrix_cost("fully_connected few units", "row unit mac clamp", 1, 1, 2)},
    (Cases("fully_connected_few scaled_fully_connected"),),
    preference=3,
    read=_read,
)
