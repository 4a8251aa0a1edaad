"""FULLY_CONNECTED in int8 for cores with MVE: the stream of packed weights, and when the kernel is applicable."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, UnpackedPart
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.mve_requantisation import fit, padded_bytes
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Int8Layer
from tflmgen.kernels.numeric.kernel_requantisation import Rounding
from tflmgen.kernels.numeric.matrix_overlap import last_block, overlap_distance
from tflmgen.kernels.numeric.packed_readers import records, without_padding
from tflmgen.kernels.numeric.stream_words import as_words
from tflmgen.kernels.requests import MatrixProduct
from tflmgen.kernels.specification.weights import overlaps, params

HEADER = "fully_connected_mve.h"
GROUP = header_constant(HEADER, "TFLMGEN_FULLY_CONNECTED_MVE_UNITS")
"""Units that are computed at a time."""

STACK_BYTES = header_constant(HEADER, "TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES")
"""Greatest number of bytes of a row that is copied to the stack, because it is no whole number of vectors."""

MAX_SINGLES = 4
"""Units that are computed one by one rather than with zeros beside them."""


def fully_connected_mve(request: MatrixProduct) -> list[Kernel]:
    """The kernel with units in groups only, and with a few behind them; none where it would not be exact."""
    more = len(request.layer.weights) % GROUP
    singles = (0, more) if 0 < more <= MAX_SINGLES else (0,)
    return [kernel for count in singles if (kernel := _kernel(request, count))]


def _kernel(request: MatrixProduct, singles: int) -> Kernel | None:
    op, layer, batches = request.op, request.layer, request.batches
    units, depth = layer.weights.shape
    variant = fit(layer)
    packed = padded_bytes(layer.weights)
    chunks = packed.shape[1]
    copied = depth % 16 != 0
    if variant is None or not variant.fixable or (copied and 16 * chunks > STACK_BYTES):
        return None
    fields = params(
        "tflmgen_fully_connected_mve_s8",
        (("batches", batches), ("depth", depth), ("units", units), ("chunks", chunks), ("singles", singles)),
        (("output_zero_point", layer.zero_point),),
        layer.limit_fields(variant.clamped),
    )
    grouped = units - singles
    parts = [unit_stream(packed[:grouped], replace(layer, bias=layer.bias[:grouped], scales=layer.scales[:grouped]))]
    parts += [np.append(packed[unit].reshape(-1), _factors(layer)[unit]) for unit in range(grouped, units)]
    stream = ConstantArray.of("stream", np.concatenate(parts), DType.UINT32)
    distance = overlap_distance(batches, depth, units, units if copied else 1 if singles else last_block(units, GROUP))
    input_overlaps = overlaps(op.outputs[0], distance)
    operands = (Input(0), stream, Output(0))
    return Kernel("tflmgen_fully_connected_mve_s8", HEADER, operands, fields, input_overlaps, Cost(request.macs), "mve")


def unit_stream(packed: NDArray[np.uint32], layer: Int8Layer) -> NDArray[np.uint32]:
    """Groups of eight units of weights [units, chunks, 4 words]."""
    units, chunks, _ = packed.shape
    groups = -(-units // GROUP)
    if groups == 0:
        return np.zeros(0, dtype=np.uint32)
    weights = np.zeros((groups * GROUP, chunks, 4), dtype=np.uint32)
    weights[:units] = packed
    factors = np.zeros((groups * GROUP, 3), dtype=np.uint32)
    factors[:units] = _factors(layer)
    factors = factors.reshape(groups, GROUP, 3)
    parts = [
        factors[:, :, 0],
        weights.reshape(groups, GROUP, chunks, 4).transpose(0, 2, 1, 3).reshape(groups, -1),
        factors[:, :, 1:].reshape(groups, 4, 2, 2).transpose(0, 2, 3, 1).reshape(groups, -1),
    ]
    return np.concatenate(parts, axis=1).reshape(-1)


def _factors(layer: Int8Layer) -> NDArray[np.uint32]:
    """Bias, multiplier and shift of each unit, [units, 3]."""
    scales = np.array(layer.scales, dtype=np.int64).reshape(-1, 2)
    return np.column_stack([as_words(layer.bias), as_words(scales)])


def read_units(call: PackedCall, singles: int) -> list[UnpackedPart]:
    """Groups of eight units, zeros for those that the last one lacks, and single ones behind them."""
    units, chunks = call.channels, -(-call.terms // 16)
    grouped, data = units - singles, call.words()
    count = -(-grouped // 8)
    size = count * (128 * chunks + 96)
    # Behind biases and weights, multipliers and shifts of even units, then those of odd ones.
    fields = [("bias", "<i4", (8,)), ("weights", "i1", (chunks, 8, 16)), ("scales", "<i4", (2, 2, 4))]
    groups = records(data[:size], fields, count)
    alone = records(data[size:], [("weights", "i1", (16 * chunks,)), ("scales", "<i4", (3,))], singles)
    weights = groups["weights"].transpose(0, 2, 1, 3).reshape(8 * count, 16 * chunks)
    scales = np.column_stack([groups["bias"].reshape(-1), groups["scales"].transpose(0, 3, 1, 2).reshape(-1, 2)])
    if weights[grouped:].any() or scales[grouped:].any():
        raise ValueError("units that the last group lacks are not zero")
    rows = np.concatenate([weights[:grouped], alone["weights"]])
    constants = np.concatenate([scales[:grouped], alone["scales"]]).astype(np.int64)
    outputs = Rounding(*constants.T, zero_point=call.number("output_zero_point"), signed=True).outputs
    return [UnpackedPart(np.arange(units), without_padding(rows, call.terms), outputs)]


def _read(call: PackedCall) -> list[UnpackedPart]:
    return read_units(call, call.number("singles"))


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(MatrixProduct, fully_connected_mve),),
    {
        "fully_connected_mve": matrix_cost(
            "fully_connected vectors", "copied_step grouped_row block grouped_step single single_step clamp", 1, 8, 16
        )
    },
    (Cases("scaled_fully_connected"),),
    read=_read,
)
