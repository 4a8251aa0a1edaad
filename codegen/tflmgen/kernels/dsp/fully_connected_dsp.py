"""FULLY_CONNECTED in int8 for cores with the DSP extension: the stream of packed weights, and when it is exact."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import ConstantArray, DType, Input, Kernel, Output, Overlap, Params
from tflmgen.kernels.costs.model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.channels import Rescalings, rescalings
from tflmgen.kernels.dsp.dot_rows_dsp import GROUP, STACK_STEPS, PackedRows, groups_of, pack_rows
from tflmgen.kernels.header_constants import header_constant
from tflmgen.kernels.numeric.matrix_overlap import last_block, overlap_distance
from tflmgen.kernels.requests import Convolution, MatrixProduct

LONG_UNITS = header_constant("fully_connected_long_dsp.h", "TFLMGEN_FULLY_CONNECTED_LONG_DSP_UNITS")
"""Units that are computed at a time where rows are long."""

FEW_PIXELS = 4
"""Pixels of a convolution up to which weights may be read anew for each."""

FEWEST_COMMON = 16
"""Units from which on a common scale, which every call has to fetch, takes less than one in each group."""


def fully_connected_dsp(request: MatrixProduct) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op, layer, batches = request.op, request.layer, request.batches
    units, depth = layer.weights.shape
    exact, packed = rescalings(layer), pack_rows(layer.weights)
    if exact is None or not exact.fixable or packed.offset:
        return None
    widened = packed.steps <= STACK_STEPS
    scale = _common_scale(exact)
    fields = (
        *(("batches", batches), ("depth", depth), ("units", units), ("steps", packed.steps)),
        ("output_min", layer.low if exact.clamped else -128),
        ("output_max", layer.high if exact.clamped else 127),
        ("scale", scale or (0, 0, 0)),
    )
    stream = ConstantArray.of("stream", _stream(packed, exact, scale is None), DType.UINT32)
    kind = f"{'' if widened else '_long'}{'_uniform' if scale else ''}"
    distance = overlap_distance(batches, depth, units, units if widened else last_block(units, LONG_UNITS))
    return Kernel(
        f"tflmgen_fully_connected_dsp{kind}_s8",
        "fully_connected_dsp.h" if widened else "fully_connected_long_dsp.h",
        (Input(0), stream, Output(0)),
        Params("tflmgen_fully_connected_dsp_s8", fields),
        (Overlap(0, 0, distance),) if distance < op.outputs[0].bytes else (),
        request.macs,
        "dsp",
    )


def _of_few_pixels(request: Convolution) -> Kernel | None:
    product = request.product
    return fully_connected_dsp(product) if product and product.batches <= FEW_PIXELS else None


def _common_scale(exact: Rescalings) -> tuple[int, int, int] | None:
    """Multiplier, addend and shift where all units have the same, and are enough."""
    found = {(channel.multiplier, channel.addend, channel.shift) for channel in exact.channels}
    return found.pop() if len(found) == 1 and len(exact.channels) >= FEWEST_COMMON else None


def _stream(packed: PackedRows, exact: Rescalings, scales: bool) -> NDArray[np.uint32]:
    """Groups of four units, with their scales or without; units that the last one lacks are zeros."""
    groups = groups_of(packed, packed.starts(channel.bias for channel in exact.channels))
    if not scales:
        return groups.reshape(-1)
    stream = np.concatenate([groups, np.zeros((len(groups), 9), dtype=np.uint32)], axis=1)
    for number, group in enumerate(stream):
        channels = exact.channels[GROUP * number : GROUP * (number + 1)]
        count = len(channels)
        group[-9] = sum(channel.shift << 8 * i for i, channel in enumerate(channels))
        group[-8 : -8 + count] = [channel.multiplier % 2**32 for channel in channels]
        group[-4 : -4 + count or None] = [channel.addend % 2**32 for channel in channels]
    return stream.reshape(-1)


KERNEL = KernelDeclaration(
    "fully_connected_dsp.h",
    "dsp",
    (Computes(MatrixProduct, fully_connected_dsp), Computes(Convolution, _of_few_pixels)),
    {
        "fully_connected_dsp": matrix_cost("row row_step rest block step own_scale", 1, 4, 4),
        "fully_connected_dsp_long": matrix_cost("widened_value block step own_scale", 1, 4, 4),
    },
    (Cases("scaled_fully_connected"),),
    beside=("fully_connected_long_dsp.h",),
    preference=2,
)
