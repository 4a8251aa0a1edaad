"""Arrays of constants that no reader unpacks: tables of functions, scales, and tensors of several gates in one.

Each is what it is, element by element. What it must be follows from the operator alone, by the reference's arithmetic;
where the arrays stand among a kernel's arguments is in the kernel's header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tflmgen.ir import TensorType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.proof.array_calls import ArrayCall, Check, compare
from tflmgen.proof.layer_numbers import LAYERS, Integers, channel_scales, fixed_point, layer_numbers, zero_of
from tflmgen.proof.table_arrays import CHECKS as OF_TABLES
from tflmgen.proof.transform_arrays import CHECKS as OF_TRANSFORMS
from tflmgen.reference import (
    SIGMOID_TABLE,
    SOFTMAX_TABLES,
    Array,
    element_results,
    interpolated,
    row_exponentials,
)


def arrays_problem(header: str, call: ArrayCall) -> str | None:
    """The first difference between a call's arrays and the operator's numbers; None where no check knows the header."""
    check = CHECKS.get(header)
    return None if check is None else check(call)


def _lookup(call: ArrayCall) -> str | None:
    """int8: the outputs of all 256 inputs, the least input first."""
    results = element_results(call.operator, call.op, np.arange(-128, 128, dtype=np.int8))
    return None if results is None else compare(call, 1, results.astype(np.int8), "table")


def _interpolate(call: ArrayCall) -> str | None:
    """int16: 513 points; what lies between them is compared for each of the 65536 inputs."""
    values = np.arange(-32768, 32768, dtype=np.int16)
    results = element_results(call.operator, call.op, values)
    table = call.elements(1, "<i2").astype(np.int64)
    if results is None:
        return None
    if len(table) != 513:
        return f"table: {len(table)} elements instead of 513"
    wrong = np.flatnonzero(interpolated(values.astype(np.int64), table) != results)
    return f"table: the output of {values[wrong[0]]} differs" if len(wrong) else ""


def _bucketize(call: ArrayCall) -> str:
    """The boundaries; without any, one that is never read."""
    boundaries = call.op.attributes.boundaries or (0.0,)
    return compare(call, 1, np.array(boundaries, np.float32), "boundaries")


def _unique(call: ArrayCall) -> str | None:
    """Checks UNIQUE's number of rows of a constant input."""
    source = call.op.inputs[0]
    if source is None or "_unique_" not in call.function or call.data[1] is None:
        return None
    return compare(call, 1, np.array([source.elements], np.int32), "elements")


_SIGMOIDS = ("tflmgen_logistic_s16", "tflmgen_tanh_s16")


def _sigmoid(call: ArrayCall) -> str | None:
    return compare(call, 1, SIGMOID_TABLE.astype(np.uint16), "table") if call.function in _SIGMOIDS else None


def _softmax(call: ArrayCall) -> str | None:
    """Behind the input and, where rows are as long as the run time says, their length."""
    source, first = call.op.inputs[0], 2 if "_in_use_" in call.function else 1
    assert source is not None
    if call.function.endswith("_f32"):
        return None
    if source.dtype.label == "int16":
        problems = (compare(call, first + i, SOFTMAX_TABLES[i].astype(np.int16), "table") for i in range(2))
        return next(filter(None, problems), "")
    exponentials = row_exponentials(source, getattr(call.op.attributes, "beta", 1.0)).astype(np.int32)
    count = len(call.elements(first, "<i4"))
    if exponentials[count:].any():
        return f"table: ends after {count} elements"
    return compare(call, first, exponentials[:count], "table")


def _weight_scales(argument: int) -> Check:
    """The scales of operand 1, as floats."""

    def check(call: ArrayCall) -> str | None:
        type_ = call.op.inputs[1]
        if type_ is None or call.data[argument] is None:
            return None
        quantization = type_.blocks or type_.quantization
        return (
            None
            if quantization is None
            else compare(call, argument, np.array(quantization.scales, np.float32), "scales")
        )

    return check


def _hybrid(call: ArrayCall) -> str | None:
    """Scales of int8 weights beside floats; weights that the file has in 4 bits have a byte each."""
    type_, weights = call.op.inputs[1], call.op.constants[1]
    if type_ is None or weights is None or call.data[1] is None:
        return _weight_scales(2)(call)
    return compare(call, 1, np.asarray(weights).astype(np.int8), "weights") or _weight_scales(2)(call)


def _partly_constant(call: ArrayCall) -> str | None:
    """Weights, multipliers and shifts of layers whose filter or bias comes at run time; a reader has all others.

    In the order filter, bias, multipliers, shifts after the input; a layer of one scale has it in its struct.
    """
    operands = LAYERS[call.operator]
    filter_type, weights = call.op.inputs[operands.filter], call.op.constants[operands.filter]
    data = call.op.inputs[operands.data]
    is_float = data is None or data.dtype.is_float
    if is_float or filter_type is None or layer_numbers(call.operator, call.op) is not None:
        return None
    problem = None
    if weights is not None and "_s4" not in call.function:
        problem = compare(call, 1, np.asarray(weights).astype(np.int8), "weights")
    if problem or len(call.data) < 6 or call.data[3] is None:
        return problem
    multipliers, shifts = channel_scales(operands, call.op, filter_type.max_shape[operands.channel_axis])
    problem = compare(call, 3, multipliers.astype(np.int32), "multipliers")
    return problem or compare(call, 4, shifts.astype(np.int8), "shifts")


def _embedding(call: ArrayCall) -> str | None:
    """Scales of a table of int8, a byte each; of rows that are copied nothing."""
    if call.function != "tflmgen_embedding_dequantized":
        return None
    table = call.op.constants[1]
    problem = "" if table is None else compare(call, 0, np.asarray(table).astype(np.int8), "table")
    return problem or _weight_scales(1)(call)


def _eight_channels(call: ArrayCall) -> str | None:
    """Floats of groups of eight channels, of four at the end where no more are left: weights value by value, biases;
    zeros for channels that the last group lacks."""
    weights, bias = call.op.constants[1], call.op.constants[2] if len(call.op.constants) > 2 else None
    if weights is None:
        return "the weights are no constants"
    channels = len(weights)
    rows = np.asarray(weights, np.float32).reshape(channels, -1)
    added = np.zeros(channels, np.float32) if bias is None else np.asarray(bias, np.float32).reshape(-1)
    written, at = call.elements(1, "<u4"), 0
    for first in range(0, channels, 8):
        count = min(8, channels - first)
        wide = 8 if count > 4 else 4
        group = written[at : at + wide * (rows.shape[1] + 1)].reshape(-1, wide)
        wanted = np.zeros((rows.shape[1] + 1, wide), np.float32)
        wanted[:-1, :count], wanted[-1, :count] = rows[first : first + count].T, added[first : first + count]
        at += group.size
        if group.shape != wanted.shape or (group != wanted.view(np.uint32)).any():
            return f"stream: channels from {first} differ"
    return "" if at == len(written) else f"stream: {len(written) - at} values too many"


def _columns(call: ArrayCall) -> str | None:
    """BATCH_MATMUL with a scale for each column: multipliers and shifts."""
    if not call.function.endswith("_per_column"):
        return None
    left, right = (_scales(call.op.inputs[i]) for i in (0, 1))
    pairs = [fixed_point(left[0] * scale / _scales(call.op.outputs[0])[0]) for scale in right]
    return compare(call, 2, np.array([m for m, _ in pairs], np.int32), "multipliers") or compare(
        call, 3, np.array([s for _, s in pairs], np.int8), "shifts"
    )


def _scales(type_: TensorType | None) -> Sequence[float]:
    if type_ is None or type_.quantization is None:
        raise ValueError("an operand has no scale")
    return type_.quantization.scales


def _svdf(call: ArrayCall) -> str | None:
    weights, through_time = call.op.constants[1], call.op.constants[2]
    source, times = call.op.inputs[0], call.op.inputs[2]
    if weights is None or through_time is None or source is None or times is None:
        return None
    if call.function == "tflmgen_svdf_hybrid":
        real = np.asarray(through_time).astype(np.float32) * np.float32(_scales(times)[0])
        return compare(call, 2, real, "time weights")
    if "_s8" not in call.function:
        return None
    offsets = -zero_of(source) * np.asarray(weights, np.int64).sum(axis=1)
    return _folded(call, 2, offsets, "offsets")


def _folded(call: ArrayCall, argument: int, wanted: Integers, caption: str) -> str:
    """Sums of 32 bits that wrap; an absent array is zeros."""
    if call.data[argument] is None:
        return f"{caption} are absent" if wanted.any() else ""
    return compare(call, argument, wanted.astype(np.uint64).astype(np.uint32).view(np.int32), caption)


def _lstm(call: ArrayCall) -> str | None:
    """Weights of all gates one after another, what their sums begin with, and numbers of variants."""
    op = call.op
    gates = [_gates(op, first) for first in (1, 5, 12)]
    if any(values is None for values in gates):
        return None
    weights, recurrent, biases = (np.asarray(values) for values in gates)
    element = np.float32 if weights.dtype == np.float32 else np.int8
    problem = compare(call, 1, weights.astype(element), "weights")
    problem = problem or compare(call, 2, recurrent.astype(element), "recurrent weights")
    if problem:
        return problem
    if call.function == "tflmgen_lstm_fixed_s8":
        return _fixed_lstm(call, weights, recurrent, biases)
    if biases.dtype == np.float32:
        return compare(call, 3, biases, "biases") or _variants(call, 4, np.dtype(np.float32))
    source, state = op.inputs[0], op.inputs[18]
    assert source is not None
    problem = compare(call, 5, SIGMOID_TABLE.astype(np.uint16), "table")
    if problem or source.dtype.label == "int16":
        return problem or compare(call, 3, biases.astype(np.int64), "biases")
    assert state is not None
    folded = biases.astype(np.int64) + _offsets(source, weights)
    inner = _offsets(state, recurrent)
    return _folded(call, 3, folded, "biases") or _folded(call, 4, inner, "recurrent biases")


def _fixed_lstm(call: ArrayCall, weights: Array, recurrent: Array, biases: Array) -> str:
    """Checks folded biases and variants of the fixed-point LSTM.

    With layer normalisation biases are added after it, so that the sums begin without them.
    """
    op = call.op
    source, state, norms = op.inputs[0], op.inputs[18], _has_input(op, 21)
    assert source is not None
    assert state is not None
    problem = _folded(call, 3, _offsets(source, weights) + (0 if norms else biases.astype(np.int64)), "biases")
    problem = problem or _folded(call, 4, _offsets(state, recurrent), "recurrent biases")
    problem = problem or _variants(call, 5, np.dtype(np.int16))
    if problem or (norms and (problem := _folded(call, 7, biases.astype(np.int64), "biases after norms"))):
        return problem
    if not _has_input(op, 16):
        return ""
    # LiteRT gives hidden values their zero point with the other sign before a projection.
    starts = op.attributes.intermediates[4].zero_point * np.asarray(op.constants[16], np.int64).sum(axis=1)
    bias = np.asarray(op.constants[17], np.int64) if _has_input(op, 17) else 0
    return _folded(call, 9, starts + bias, "biases of the projection")


def _offsets(source: TensorType, weights: Array) -> Integers:
    """Corrections to add to sums of products with raw elements, for the operand's zero point."""
    offsets: Integers = -zero_of(source) * weights.astype(np.int64).sum(axis=1)
    return offsets


def _variants(call: ArrayCall, argument: int, element: np.dtype[Any]) -> str:
    """Peepholes of forget, output and input gate, and behind them the norms of all gates; absent ones are nothing."""
    op = call.op
    peepholes = [_real(op, i, element) for i in (10, 11, 9) if _has_input(op, i)]
    problem = compare(call, argument, np.concatenate(peepholes), "peepholes") if peepholes else ""
    norms = _gates(op, 20) if _has_input(op, 21) else None
    return problem or ("" if norms is None else compare(call, argument + 1, norms.astype(element), "norms"))


def _real(op: OperatorInstance, index: int, element: np.dtype[Any]) -> Array:
    """A constant's elements; beside floats, int8 ones are multiplied by their scale."""
    type_, values = op.inputs[index], np.asarray(op.constants[index]).astype(element)
    is_scaled = element == np.float32 and type_ is not None and not type_.dtype.is_float
    return values * np.float32(_scales(type_)[0]) if is_scaled else values


def _has_input(op: OperatorInstance, index: int) -> bool:
    return index < len(op.inputs) and op.inputs[index] is not None


def _gates(op: OperatorInstance, first: int) -> Array | None:
    """The constants of forget gate, cell gate, output gate and input gate, which may be absent."""
    arrays = []
    for index in (first + 1, first + 2, first + 3, first):
        is_absent = index >= len(op.inputs) or op.inputs[index] is None
        if (is_absent and index > first) or (not is_absent and op.constants[index] is None):
            return None
        if not is_absent:
            arrays.append(np.asarray(op.constants[index]))
    return np.concatenate(arrays)


_LAYERS_BY_CHANNEL = (
    "conv2d.h",
    "conv2d_s16.h",
    "depthwise_conv2d.h",
    "depthwise_conv2d_s16.h",
    "fully_connected.h",
    "fully_connected_s16.h",
    "packed_s4.h",
    "transpose_conv.h",
)

CHECKS: Mapping[str, Check] = {
    **dict.fromkeys(_LAYERS_BY_CHANNEL, _partly_constant),
    **OF_TABLES,
    **OF_TRANSFORMS,
    "lookup.h": _lookup,
    "lookup_mve.h": _lookup,
    "interpolate.h": _interpolate,
    "quantized_unary.h": _sigmoid,
    "bucketize.h": _bucketize,
    "found_rows.h": _unique,
    "softmax.h": _softmax,
    "softmax_in_use.h": _softmax,
    "conv2d_hybrid.h": _hybrid,
    "conv2d_f32_mve.h": _eight_channels,
    "fully_connected_f32_mve.h": _eight_channels,
    "depthwise_conv2d_hybrid.h": _hybrid,
    "fully_connected_hybrid.h": _hybrid,
    "fully_connected_blocks.h": _hybrid,
    "fully_connected_blocks_s4.h": _weight_scales(2),
    "batch_matmul_hybrid.h": _weight_scales(2),
    "batch_matmul.h": _columns,
    "embedding.h": _embedding,
    "svdf.h": _svdf,
    "lstm.h": _lstm,
    "lstm_fixed.h": _lstm,
    "lstm_hybrid.h": _lstm,
}
"""Checks of a call's arrays, by the header of its kernel."""
