"""FULLY_CONNECTED in int8 for every Cortex-M: the stream of weights, and when the kernel is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Output, Overlap, PackedCall, UnpackedPart
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.kernel_requantisation import Halves, wrapped
from tflmgen.kernels.numeric.matrix_overlap import last_block, overlap_distance
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.numeric.weights import params
from tflmgen.kernels.requests import Convolution, MatrixProduct
from tflmgen.kernels.thumb.thumb_requantisation import raised_rescalings

HEADER = "fully_connected_thumb.h"
STACK = header_constant(HEADER, "TFLMGEN_FULLY_CONNECTED_THUMB_STACK")
"""Values of a row that is copied to the stack."""

GROUP = header_constant(HEADER, "TFLMGEN_FULLY_CONNECTED_THUMB_UNITS")
"""Units that are computed at a time."""

UNROLLED = header_constant(HEADER, "TFLMGEN_FULLY_CONNECTED_THUMB_UNROLLED")
"""Values in a pass over the row of a single unit."""


def fully_connected_thumb(request: MatrixProduct) -> Kernel | None:
    """The kernel; None where it would not be exact, or where a row is long and its length odd."""
    op, layer, batches = request.op, request.layer, request.batches
    units, depth = layer.weights.shape
    exact = raised_rescalings(layer)
    copied = depth <= STACK
    if exact is None or not (copied or depth % 2 == 0):
        return None
    stream = stream_of(layer.weights, exact.words)
    fields = params(
        "tflmgen_fully_connected_thumb_s8",
        (("batches", batches), ("depth", depth), ("units", units), ("group_words", group_words(depth, exact.words))),
        (("output_min", layer.low if exact.clamped else -128), ("output_max", layer.high if exact.clamped else 127)),
    )
    packed = ConstantArray.of("stream", stream.reshape(-1), DType.UINT32)
    last = 1 if single_units(units) else last_block(units, GROUP)
    distance = overlap_distance(batches, depth, units, units if copied else last)
    family = f"fully_connected_thumb{'' if copied else '_long'}"
    return Kernel(
        f"tflmgen_{family}{'' if exact.signed else '_relu'}_s8",
        HEADER,
        (Input(0), packed, Output(0)),
        fields,
        (Overlap(0, 0, distance),) if distance < op.outputs[0].bytes else (),
        request.macs,
        "thumb",
        family=family,
    )


def weight_words(weights: Integers) -> NDArray[np.uint32]:
    """[groups, words]: bytes 0, 2 of a word are the lower and upper half of one product, 1, 3 of another."""
    units, depth = weights.shape
    groups = -(-units // GROUP)
    values = np.zeros((groups * GROUP, depth + depth % 2), dtype=np.uint8)
    values[:units, :depth] = weights + 128
    lanes = np.ascontiguousarray(values.reshape(groups, GROUP, values.shape[1]).transpose(0, 2, 1))
    words: NDArray[np.uint32] = lanes.view("<u4").reshape(groups, values.shape[1])
    return words


def stream_of(weights: Integers, constants: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The words of all groups, then those of units that are left; constants: [units, words]."""
    single_count = single_units(len(weights))
    whole = len(weights) - single_count
    packed = weight_words(weights[:whole])
    words = np.zeros((len(packed) * GROUP, constants.shape[1]), dtype=np.uint32)
    words[:whole] = constants[:whole]
    groups = np.concatenate([packed, words.reshape(len(packed), GROUP * words.shape[1])], axis=1)
    left = weights.shape[1] + weights.shape[1] % 2
    rows = np.zeros((single_count, left + -left % UNROLLED), dtype=np.uint8)
    first = rows.shape[1] - left
    rows[:, first : first + weights.shape[1]] = weights[whole:] + 128
    singles = np.concatenate([rows.view("<u4"), constants[whole:]], axis=1)
    return np.concatenate([groups.reshape(-1), singles.reshape(-1)])


def single_units(units: int) -> int:
    """How many units are computed one by one."""
    return units % GROUP if units % GROUP < GROUP - 1 else 0


def group_words(depth: int, constants: NDArray[np.uint32]) -> int:
    """Words of a group of the stream; constants: [units, words]."""
    return int(depth + depth % 2 + GROUP * constants.shape[1])


def _of_convolution(request: Convolution) -> Kernel | None:
    return fully_connected_thumb(request.product) if request.product else None


def read_units(data: bytes, units: int, depth: int, constants: int) -> tuple[UnpackedPart, bytes]:
    """The units of a stream, and what is behind them. constants: words of each unit."""
    even, left = depth + depth % 2, units % 4 if units % 4 < 3 else 0
    groups, front = -(-(units - left) // 4), -even % 8
    cut, end = 4 * groups * (even + 4 * constants), 4 * left * constants + left * (front + even)
    whole = records(data[:cut], [("bytes", "u1", (even, 4)), ("words", "<u4", (4, constants))], groups)
    single = records(
        data[cut : cut + end],
        [("front", "u1", (front,)), ("bytes", "u1", (even,)), ("words", "<u4", (constants,))],
        left,
    )
    values = np.concatenate([whole["bytes"].transpose(0, 2, 1).reshape(-1, even), single["bytes"]]).astype(np.int64)
    words = np.concatenate([whole["words"].reshape(-1, constants), single["words"]]).astype(np.int64)
    if values[units:].any() or words[units:].any() or values[:, depth:].any() or single["front"].any():
        raise ValueError("what fills up a group or a row is not zero")
    weights = values[:units, :depth] - 128
    outputs = Halves(wrapped(words[:units]), 128 * weights.sum(axis=1)).outputs
    return UnpackedPart(np.arange(units), weights, outputs), data[cut + end :]


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Groups of four units with 128 added to their weights, then those that are left."""
    part, rest = read_units(call.words(), call.channels, call.terms, 3 if "_relu" in call.function else 5)
    if rest:
        raise ValueError("the stream has more than its units")
    return [part]


KERNEL = KernelDeclaration(
    HEADER,
    "thumb",
    (Computes(MatrixProduct, fully_connected_thumb), Computes(Convolution, _of_convolution)),
    {
        "fully_connected_thumb": matrix_cost("fully_connected", "row value unit mac rest_mac signed clamp", 1, 4, 2),
        "fully_connected_thumb_long": matrix_cost("fully_connected long", "value mac block rest_mac", 1, 4, 2),
    },
    (Cases("scaled_fully_connected"),),
    preference=2,
    read=_read,
)
