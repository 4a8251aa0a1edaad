"""FULLY_CONNECTED in int8 for cores with the DSP extension: the stream of packed weights, and when it is applicable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, Params, UnpackedPart
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.dot_rows_dsp import GROUP, STACK_STEPS, PackedRows, groups_of, pack_rows
from tflmgen.kernels.dsp.dsp_requantisation import (
    DspRequantisations,
    requantisations,
    starts_of_pairs,
    weights_of_pairs,
)
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.kernel_requantisation import HighProduct
from tflmgen.kernels.numeric.matrix_overlap import last_block, overlap_distance
from tflmgen.kernels.numeric.packed_readers import records, without_padding
from tflmgen.kernels.requests import Convolution, MatrixProduct
from tflmgen.kernels.specification.weights import overlaps

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
    requantisation, packed = requantisations(layer), pack_rows(layer.weights)
    if requantisation is None or packed.offset:
        return None
    widened = packed.steps <= STACK_STEPS
    scale = _common_scale(requantisation)
    fields = (
        *(("batches", batches), ("depth", depth), ("units", units), ("steps", packed.steps)),
        *layer.limit_fields(requantisation.clamped),
        ("signed_sums", int(requantisation.signed)),
        ("scale", scale or (0, 0, 0)),
    )
    stream = ConstantArray.of("stream", _stream(packed, requantisation, scale is None), DType.UINT32)
    kind = f"{'' if widened else '_long'}{'_uniform' if scale else ''}"
    distance = overlap_distance(batches, depth, units, units if widened else last_block(units, LONG_UNITS))
    return Kernel(
        f"tflmgen_fully_connected_dsp{kind}_s8",
        "fully_connected_dsp.h" if widened else "fully_connected_long_dsp.h",
        (Input(0), stream, Output(0)),
        Params("tflmgen_fully_connected_dsp_s8", fields),
        overlaps(op.outputs[0], distance),
        Cost(request.macs, f"fully_connected_dsp{'' if widened else '_long'}", (("own_scales", scale is None),)),
        "dsp",
    )


def _of_few_pixels(request: Convolution) -> Kernel | None:
    product = request.product
    return fully_connected_dsp(product) if product and product.batches <= FEW_PIXELS else None


def _common_scale(requantisation: DspRequantisations) -> tuple[int, int, int] | None:
    """Multiplier, addend and shift where all units have the same, and are enough."""
    scales = {(channel.multiplier, channel.addend, channel.shift) for channel in requantisation.channels}
    return scales.pop() if len(scales) == 1 and len(requantisation.channels) >= FEWEST_COMMON else None


def _stream(packed: PackedRows, requantisation: DspRequantisations, scales: bool) -> NDArray[np.uint32]:
    """Groups of four units, with their scales or without; units that the last one lacks are zeros."""
    groups = groups_of(packed, packed.starts(channel.bias for channel in requantisation.channels))
    if not scales:
        return groups.reshape(-1)
    stream = np.concatenate([groups, np.zeros((len(groups), 9), dtype=np.uint32)], axis=1)
    for number, group in enumerate(stream):
        channels = requantisation.channels[GROUP * number : GROUP * (number + 1)]
        count = len(channels)
        group[-9] = sum(channel.shift << 8 * i for i, channel in enumerate(channels))
        group[-8 : -8 + count] = [channel.multiplier % 2**32 for channel in channels]
        group[-4 : -4 + count or None] = [channel.addend % 2**32 for channel in channels]
    return stream.reshape(-1)


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Groups of four units, the last one filled up with zeros; one scale for all units may be in the struct."""
    units, steps, scale = call.channels, -(-call.terms // 4), call.fields.get("scale")
    uniform = "_uniform" in call.function
    scales = [] if uniform else [("shift", "u1", (4,)), ("m", "<i4", (4,)), ("addend", "<i4", (4,))]
    count = -(-units // 4)
    stream = records(call.words(), [("start", "<i4", (4,)), ("words", "<i2", (steps, 4, 2)), *scales], count)
    weights = weights_of_pairs(stream["words"].transpose(0, 2, 1, 3).reshape(4 * count, -1))
    if uniform:
        if not isinstance(scale, tuple):
            raise ValueError("there is no scale")
        multiplier, addend, shift = (np.full(4 * count, number, dtype=np.int64) for number in scale)
    else:
        multiplier, addend, shift = (stream[name].reshape(-1).astype(np.int64) for name in ("m", "addend", "shift"))
    starts = stream["start"].reshape(-1).astype(np.int64)
    if weights[units:].any() or starts[units:].any():
        raise ValueError("units that the last group lacks are not zero")
    constants = (part[:units] for part in (starts_of_pairs(starts, weights), multiplier, addend, shift))
    outputs = HighProduct(*constants, sign_fixes=128 if call.number("signed_sums") else 0).outputs
    return [UnpackedPart(np.arange(units), without_padding(weights[:units], call.terms), outputs)]


KERNEL = KernelDeclaration(
    "fully_connected_dsp.h",
    "dsp",
    (Computes(MatrixProduct, fully_connected_dsp), Computes(Convolution, _of_few_pixels)),
    {
        "fully_connected_dsp": matrix_cost(
            "fully_connected common scale", "row row_step rest block step own_scale", 1, 4, 4
        ),
        "fully_connected_dsp_long": matrix_cost(
            "fully_connected long, common scale", "widened_value block step own_scale", 1, 4, 4
        ),
    },
    (Cases("scaled_fully_connected"),),
    beside=("fully_connected_long_dsp.h",),
    preference=2,
    read=_read,
)
