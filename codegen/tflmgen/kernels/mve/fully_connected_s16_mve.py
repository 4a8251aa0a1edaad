"""FULLY_CONNECTED of int16 by int8 for cores with MVE, by the groups of conv2d_s16_mve."""

from __future__ import annotations

from tflmgen.ir.kernel import Cost, Input, Kernel, Null, Output
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.conv2d_s16_mve import GROUP, read_groups, row_for, stream_of
from tflmgen.kernels.numeric.matrix_overlap import last_block, overlap_distance
from tflmgen.kernels.requests import Int16MatrixProduct
from tflmgen.kernels.specification.weights import overlaps, params, range_fields

HEADER = "fully_connected_s16_mve.h"


def fully_connected_s16_mve(request: Int16MatrixProduct) -> Kernel:
    """The kernel; a row that is not of whole eights is copied."""
    op, layer, batches = request.op, request.layer, request.batches
    units, depth = layer.weights.shape
    copied = depth % GROUP != 0
    fields = params(
        "tflmgen_fully_connected_s16_mve",
        (("batches", batches), ("depth", depth), ("units", units), ("chunks", -(-depth // GROUP))),
        range_fields(op, request.activation),
    )
    # A row of whole eights is read again for each group, any other is copied first.
    distance = overlap_distance(batches, depth, units, units if copied else last_block(units, GROUP))
    operands = (Input(0), stream_of(layer), row_for(depth) if copied else Null(), Output(0))
    macs = op.outputs[0].elements * depth
    input_overlaps = overlaps(op.outputs[0], distance)
    return Kernel("tflmgen_fully_connected_s16_mve", HEADER, operands, fields, input_overlaps, Cost(macs), "mve")


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(Int16MatrixProduct, fully_connected_s16_mve),),
    {"fully_connected_s16_mve": matrix_cost("fully_connected int16", "row block step", 1, 8, 8)},
    (Cases("fully_connected_s16"),),
    read=read_groups,
)
