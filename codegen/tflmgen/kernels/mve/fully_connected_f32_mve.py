"""FULLY_CONNECTED of float32 for cores with MVE and its floating point, by the groups of conv2d_f32_mve."""

from __future__ import annotations

from tflmgen.ir.kernel import Cost, Input, Kernel, Output
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.conv2d_f32_mve import GROUP, has_vectors, stream_of
from tflmgen.kernels.numeric.matrix_overlap import last_block, overlap_distance
from tflmgen.kernels.requests import FloatMatrixProduct
from tflmgen.kernels.specification.weights import output_fields, overlaps, params

HEADER = "fully_connected_f32_mve.h"


def fully_connected_f32_mve(request: FloatMatrixProduct) -> Kernel | None:
    """The kernel; None on cores whose MVE has no floating point."""
    if not has_vectors(request):
        return None
    op, batches = request.op, request.batches
    units, depth = request.weights.shape
    sizes = (("batches", batches), ("depth", depth), ("units", units))
    fields = params("tflmgen_fully_connected_f32_mve", sizes, output_fields(op, request.activation))
    input_overlaps = overlaps(op.outputs[0], overlap_distance(batches, depth, units, last_block(units, GROUP)))
    operands = (Input(0), stream_of(request), Output(0))
    macs = op.outputs[0].elements * depth
    return Kernel("tflmgen_fully_connected_f32_mve", HEADER, operands, fields, input_overlaps, Cost(macs), "mve")


KERNEL = KernelDeclaration(
    HEADER,
    "mve",
    (Computes(FloatMatrixProduct, fully_connected_f32_mve),),
    {"fully_connected_f32_mve": matrix_cost("fully_connected float32", "row block step", 1, 4, 4)},
    (Cases("fully_connected_f32"),),
)
