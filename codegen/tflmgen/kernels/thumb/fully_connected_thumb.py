"""FULLY_CONNECTED in int8 for every Cortex-M: the stream of weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Input, Kernel, Output, PackedCall, UnpackedPart
from tflmgen.kernels.costs.cost_model import matrix_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.kernel_requantisation import Halves, wrapped
from tflmgen.kernels.numeric.matrix_overlap import last_block, overlap_distance
from tflmgen.kernels.numeric.packed_readers import records
from tflmgen.kernels.requests import Convolution, MatrixProduct
from tflmgen.kernels.specification.weights import overlaps, params
from tflmgen.kernels.thumb.thumb_requantisation import raised_requantisations

HEADER, _GROUPS = "fully_connected_thumb.h", "fully_connected_groups_thumb.h"
STACK = header_constant(HEADER, "TFLMGEN_FULLY_CONNECTED_THUMB_STACK")
"""Values of a row that is copied to the stack."""

GROUP = header_constant(_GROUPS, "TFLMGEN_FULLY_CONNECTED_THUMB_UNITS")
"""Units that are computed at a time."""

UNROLLED = header_constant(_GROUPS, "TFLMGEN_FULLY_CONNECTED_THUMB_UNROLLED")
"""Values in a pass over the row of a single unit."""

MASKED = header_constant(_GROUPS, "TFLMGEN_FULLY_CONNECTED_THUMB_MASKED")
"""Octets of values that a mask tells of."""

_OCTET = 8
"""Values of a unit that a bit of a mask stands for."""

_SMALL = 128
"""Sums of weights of one sign up to which eight products are summed before they are taken apart."""

_FEWEST_SMALL = 0.25
"""Part of the octets that must be small: they take 88 instructions, others 113; without masks all take 103."""


def fully_connected_thumb(request: MatrixProduct) -> Kernel | None:
    """The kernel; None where it would not be exact, or where a row is long and its length odd."""
    op, layer, batches = request.op, request.layer, request.batches
    units, depth = layer.weights.shape
    requantisation = raised_requantisations(layer)
    copied = depth <= STACK
    if requantisation is None or not (copied or depth % 2 == 0):
        return None
    small = _small_octets(layer.weights)
    masks = _masks(small) if small.size and small.mean() >= _FEWEST_SMALL else None
    stream = stream_of(layer.weights, requantisation.words, masks)
    mask_words = 0 if masks is None else masks.shape[1]
    words = group_words(depth, requantisation.words) + mask_words
    fields = params(
        "tflmgen_fully_connected_thumb_s8",
        (("batches", batches), ("depth", depth), ("units", units)),
        (("group_words", words), ("mask_words", mask_words)),
        layer.limit_fields(requantisation.clamped),
    )
    packed = ConstantArray.of("stream", stream.reshape(-1), DType.UINT32)
    last = 1 if single_units(units) else last_block(units, GROUP)
    distance = overlap_distance(batches, depth, units, units if copied else last)
    family = f"fully_connected_thumb{'' if copied else '_long'}"
    return Kernel(
        f"tflmgen_{family}{'' if masks is None else '_small'}{'' if requantisation.signed else '_relu'}_s8",
        HEADER,
        (Input(0), packed, Output(0)),
        fields,
        overlaps(op.outputs[0], distance),
        Cost(request.macs, family, (("signed", requantisation.signed),)),
        "thumb",
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


def stream_of(
    weights: Integers, constants: NDArray[np.uint32], masks: NDArray[np.uint32] | None = None
) -> NDArray[np.uint32]:
    """The words of all groups, then those of units that are left; constants: [units, words]; masks: [groups, words]."""
    single_count = single_units(len(weights))
    whole = len(weights) - single_count
    packed = weight_words(weights[:whole])
    if masks is not None:
        packed = np.insert(packed, _mask_places(packed.shape[1]), masks, axis=1)
    words = np.zeros((len(packed) * GROUP, constants.shape[1]), dtype=np.uint32)
    words[:whole] = constants[:whole]
    groups = np.concatenate([packed, words.reshape(len(packed), GROUP * words.shape[1])], axis=1)
    left = weights.shape[1] + weights.shape[1] % 2
    rows = np.zeros((single_count, left + -left % UNROLLED), dtype=np.uint8)
    first = rows.shape[1] - left
    rows[:, first : first + weights.shape[1]] = weights[whole:] + 128
    singles = np.concatenate([rows.view("<u4"), constants[whole:]], axis=1)
    return np.concatenate([groups.reshape(-1), singles.reshape(-1)])


def _small_octets(weights: Integers) -> NDArray[np.bool_]:
    """Whether the products of eight values may be summed, [groups, octets]; none of rows too long for their sums."""
    units, depth = weights.shape
    octets, count = (depth + depth % 2) // _OCTET, units - single_units(units)
    if not 0 < octets <= header_constant(_GROUPS, "TFLMGEN_FULLY_CONNECTED_THUMB_OCTETS"):
        return np.zeros((0, 0), dtype=np.bool_)
    padded = np.zeros((-(-count // GROUP) * GROUP, depth + depth % 2), dtype=np.int64)
    padded[:count, :depth] = weights[:count]
    values = padded[:, padded.shape[1] - octets * _OCTET :].reshape(-1, GROUP, octets, _OCTET)
    sums = np.maximum(np.maximum(values, 0).sum(axis=3), np.maximum(-values, 0).sum(axis=3))
    result: NDArray[np.bool_] = (sums <= _SMALL).all(axis=1)
    return result


def _masks(small: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """A 1 from the topmost bit on for each eight that is not small, and a 1 behind them: [groups, words]."""
    groups, octets = small.shape
    bits = np.ones((groups, -(-octets // MASKED), MASKED + 1), dtype=np.uint64)
    behind = -octets % MASKED
    padded = np.pad(~small, ((0, 0), (0, behind))).reshape(groups, -1, MASKED)
    bits[:, :, :MASKED] = padded
    bits[:, -1, MASKED - behind :] = np.arange(behind + 1) == 0
    result: NDArray[np.uint32] = (bits << np.arange(MASKED, -1, -1, dtype=np.uint64)).sum(axis=2).astype(np.uint32)
    return result


def _mask_places(values: int) -> list[int]:
    """Places of a group's masks among its words, before they are inserted."""
    first, step = values % _OCTET, _OCTET * MASKED
    return [0, *range(first + step, values, step)]


def single_units(units: int) -> int:
    """Number of units that are computed one by one."""
    return units % GROUP if units % GROUP < GROUP - 1 else 0


def group_words(depth: int, constants: NDArray[np.uint32]) -> int:
    """Words of a group of the stream; constants: [units, words]."""
    return int(depth + depth % 2 + GROUP * constants.shape[1])


def _of_convolution(request: Convolution) -> Kernel | None:
    return fully_connected_thumb(request.product) if request.product else None


def read_units(data: bytes, units: int, depth: int, constants: int, masked: bool = False) -> tuple[UnpackedPart, bytes]:
    """The units of a stream, and what is behind them. constants: words of each unit; masked: there are masks."""
    even, left = depth + depth % 2, units % 4 if units % 4 < 3 else 0
    groups, front = -(-(units - left) // 4), -even % 8
    # A mask before each 31 whole octets; the values that are left stand behind the first one.
    places = [0, *range(even % 8 + 248, even, 248)] if masked else []
    length = even + len(places) + 4 * constants
    cut, end = 4 * groups * length, 4 * left * constants + left * (front + even)
    stream = np.frombuffer(data[:cut], dtype="<u4").reshape(groups, length)
    at = [place + number for number, place in enumerate(places)]
    packed = np.delete(stream, at, axis=1)
    whole = records(packed.tobytes(), [("bytes", "u1", (even, 4)), ("words", "<u4", (4, constants))], groups)
    single = records(
        data[cut : cut + end],
        [("front", "u1", (front,)), ("bytes", "u1", (even,)), ("words", "<u4", (constants,))],
        left,
    )
    values = np.concatenate([whole["bytes"].transpose(0, 2, 1).reshape(-1, even), single["bytes"]]).astype(np.int64)
    words = np.concatenate([whole["words"].reshape(-1, constants), single["words"]]).astype(np.int64)
    if values[units:].any() or words[units:].any() or values[:, depth:].any() or single["front"].any():
        raise ValueError("what fills up a group or a row is not zero")
    if masked:
        # What fills up a row meets no product, and a unit that fills up a group is an upper half, which is not stored.
        own = whole["bytes"].astype(np.int64) - 128
        own[:, depth:] = 0
        own[-1, :, 4 - (4 * groups - units + left) :] = 0
        _check_masks(own, stream[:, at])
    weights = values[:units, :depth] - 128
    outputs = Halves(wrapped(words[:units]), 128 * weights.sum(axis=1)).outputs
    return UnpackedPart(np.arange(units), weights, outputs), data[cut + end :]


def _check_masks(weights: Integers, masks: NDArray[np.uint32]) -> None:
    """Checks that eight values are summed only where no sum of products overflows 16 bits; weights: [groups, values,
    units].

    A value is 0 to 255 there. Raises ValueError.
    """
    groups, values, _ = weights.shape
    bits = (masks[:, :, None] >> np.arange(31, -1, -1, dtype=np.uint32) & 1).astype(bool)
    octets = values // 8
    flat = bits[:, :, :31].reshape(groups, -1)
    last = octets - 31 * (masks.shape[1] - 1)
    if not bits[:, :-1, 31].all() or not bits[:, -1, last].all() or bits[:, -1, last + 1 :].any():
        raise ValueError("a mask does not end with its last eight")
    parts = weights[:, values % 8 :].reshape(groups, octets, 8, 4)
    greatest = 255 * np.maximum(np.maximum(parts, 0).sum(axis=2), np.maximum(-parts, 0).sum(axis=2)).max(axis=2)
    if (greatest[~flat[:, :octets]] > 2**15 - 2**7).any():
        raise ValueError("a mask sums more products than a half holds")


def _read(call: PackedCall) -> list[UnpackedPart]:
    """Groups of four units with 128 added to their weights, then those that are left."""
    constants = 3 if "_relu" in call.function else 5
    part, rest = read_units(call.words(), call.channels, call.terms, constants, "_small" in call.function)
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
    (Cases("scaled_fully_connected scaled_fully_connected_small"),),
    preference=2,
    read=_read,
)
