"""FULLY_CONNECTED in int8 for cores with MVE: the stream of packed weights, and when it is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import ConstantArray, Input, Kernel, OperatorInstance, Output, Overlap
from tflmgen.ops.dsp_channels import Layer
from tflmgen.ops.matrix_overlap import last_block, overlap_distance
from tflmgen.ops.mve_channels import fit, padded_bytes, words
from tflmgen.ops.weights import params
from tflmgen.types import DType

HEADER = "fully_connected_mve.h"
GROUP = 8
"""Units that are computed at a time."""

STACK_BYTES = 512
"""TFLMGEN_FULLY_CONNECTED_MVE_STACK_BYTES."""


def fully_connected_mve(op: OperatorInstance, layer: Layer, batches: int) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    units, depth = layer.weights.shape
    exact = fit(layer)
    packed = padded_bytes(layer.weights)
    chunks = packed.shape[1]
    if exact is None:
        return None
    copied = depth % 16 != 0 and 16 * chunks <= STACK_BYTES
    kind = "_stack" if copied else "_uneven" if depth % 16 else ""
    if kind == "_uneven":
        packed = np.concatenate([padded_bytes(part) for part in np.split(layer.weights, [depth % 16], axis=1)], axis=1)
    fields = params(
        "tflmgen_fully_connected_mve_s8",
        (("batches", batches), ("depth", depth), ("units", units), ("chunks", chunks)),
        (("output_zero_point", layer.zero_point),),
        (("output_min", layer.low if exact.clamped else -128), ("output_max", layer.high if exact.clamped else 127)),
    )
    stream = ConstantArray.of("stream", unit_stream(packed, layer), DType.UINT32)
    function = f"tflmgen_fully_connected_mve_{'signed' if exact.signed else 'clamped'}{kind}_s8"
    distance = overlap_distance(batches, depth, units, units if copied else last_block(units, GROUP))
    overlaps = (Overlap(0, 0, distance),) if distance < op.outputs[0].bytes else ()
    operands = (Input(0), stream, Output(0))
    return Kernel(function, HEADER, operands, fields, overlaps, op.outputs[0].elements * depth, "mve")


def unit_stream(packed: NDArray[np.uint32], layer: Layer) -> NDArray[np.uint32]:
    """Groups of eight units of weights [units, chunks, 4 words]."""
    units, chunks, _ = packed.shape
    groups = -(-units // GROUP)
    weights = np.zeros((groups * GROUP, chunks, 4), dtype=np.uint32)
    weights[:units] = packed
    factors = np.zeros((groups * GROUP, 3), dtype=np.uint32)
    factors[:units] = np.column_stack([words(layer.bias), words(np.array(layer.scales, dtype=np.int64))])
    stream = np.zeros((groups, 4 * GROUP * chunks + 3 * GROUP), dtype=np.uint32)
    stream[:, : -3 * GROUP] = weights.reshape(groups, GROUP, chunks, 4).transpose(0, 2, 1, 3).reshape(groups, -1)
    stream[:, -3 * GROUP :] = factors.reshape(groups, 4, 2, 3).transpose(0, 2, 3, 1).reshape(groups, -1)
    return stream.reshape(-1)
