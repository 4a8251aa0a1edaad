"""FULLY_CONNECTED in int8 for RV32IM: the stream of weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, UnpackedPart
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.requests import Convolution, MatrixProduct
from tflmgen.kernels.rv32m.rv32m_requantisation import CHANNEL_WORDS, read_requantisation, rv32m_requantisations
from tflmgen.kernels.specification.weights import overlaps, params

HEADER = "fully_connected_rv32m.h"
UNITS = header_constant(HEADER, "TFLMGEN_FULLY_CONNECTED_RV32M_UNITS")
"""Units that are computed at a time."""


def fully_connected_rv32m(request: MatrixProduct) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, layer, batches = request.op, request.layer, request.batches
    units, depth = layer.weights.shape
    requantisation = rv32m_requantisations(layer)
    if requantisation is None:
        return None
    fields = params(
        "tflmgen_fully_connected_rv32m_s8",
        (("batches", batches), ("depth", depth), ("units", units), ("scale_bits", requantisation.scale_bits)),
        layer.limit_fields(requantisation.clamped),
    )
    return Kernel(
        f"tflmgen_fully_connected_rv32m{'' if requantisation.signed else '_clamped'}_s8",
        HEADER,
        (Input(0), ConstantArray.of("stream", _stream(layer.weights, requantisation.words), DType.UINT32), Output(0)),
        fields,
        overlaps(op.outputs[0], _distance(batches, depth, units)),
        Cost(request.macs, numbers=(("signed", requantisation.signed),)),
        "rv32m",
    )


def _distance(batches: int, depth: int, units: int) -> int:
    """Least distance, in elements, of the output before the input: the last group of units alone is stored when its
    row is read no more."""
    rows = np.arange(batches)
    stored = (units - 1) // UNITS * UNITS
    return max(0, int((rows * (units - depth) + stored).max()), int(((rows + 1) * (units - depth)).max()))


def _stream(weights: Integers, words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Per group of units their constants, and weights [depth, UNITS]."""
    units, depth = weights.shape
    groups = -(-units // UNITS)
    padded = np.zeros((groups * UNITS, depth), dtype=np.int8)
    padded[:units] = weights
    constants = np.zeros((groups * UNITS, CHANNEL_WORDS), dtype=np.uint32)
    constants[:units] = words
    grouped = np.ascontiguousarray(padded.reshape(groups, UNITS, depth).transpose(0, 2, 1)).reshape(groups, -1)
    return np.concatenate([constants.reshape(groups, -1), grouped.view("<u4")], axis=1).reshape(-1)


def _of_convolution(request: Convolution) -> Kernel | None:
    return fully_connected_rv32m(request.product) if request.product else None


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Groups of eight units: four words each, and weights of all eight in turn."""
    units, groups = call.channels, -(-call.channels // 8)
    words = np.frombuffer(call.words(), dtype="<u4")
    if len(words) != groups * (32 + 2 * call.terms):
        raise ValueError("the stream is not as long as its units")
    lines = words.reshape(groups, -1)
    weights = np.ascontiguousarray(lines[:, 32:]).view("i1").reshape(groups, call.terms, 8).transpose(0, 2, 1)
    rows = weights.reshape(8 * groups, call.terms).astype(np.int64)
    if rows[units:].any():
        raise ValueError("what fills up a group is not zero")
    constants = np.ascontiguousarray(lines[:, :32]).view("<i4").reshape(8 * groups, 4)[:units].astype(np.int64)
    requantisation = read_requantisation(constants, call.number("scale_bits"), "_clamped" not in call.function)
    return [UnpackedPart(np.arange(units), rows[:units], requantisation.outputs)]


KERNEL = KernelDeclaration(
    HEADER,
    "rv32m",
    (Computes(MatrixProduct, fully_connected_rv32m), Computes(Convolution, _of_convolution)),
    {"fully_connected_rv32m": matrix_cost("fully_connected", "block step signed clamp", 1, UNITS, 4)},
    (Cases("scaled_fully_connected"),),
    preference=1,
    read=_read,
)
