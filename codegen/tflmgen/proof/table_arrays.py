"""Arrays that say where elements go, what surrounds them, and numbers that the graph's builder knows.

As in layer_arrays.py, what each must be follows from the operator alone. Where elements go is asked of the reference:
it evaluates the operator on the elements' own indices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tflmgen.ir import DType, TensorType
from tflmgen.ir.kernel import OperatorInstance
from tflmgen.proof.array_calls import ArrayCall, Check, compare
from tflmgen.proof.layer_numbers import fixed_point, zero_of
from tflmgen.reference import Array, element_results, results_on_constants


def _numpy(type_: TensorType) -> str:
    return np.dtype(type_.dtype.numpy).newbyteorder("<").str


def _zero(type_: TensorType) -> int:
    """Integer that stands for 0: the zero point of quantised elements; 0 for int32 and int64, whatever their scale."""
    is_quantized = type_.quantization is not None and type_.dtype.label in ("int8", "uint8", "int16")
    return zero_of(type_) if is_quantized else 0


def _all_are(call: ArrayCall, argument: int, number: float, count: int, caption: str) -> str:
    return compare(call, argument, np.full(count, number).astype(_numpy(call.op.outputs[0])), caption)


def _pad(call: ArrayCall) -> str | None:
    """PAD's one element; that of PADV2 is an operand of the file."""
    return None if len(call.op.inputs) > 2 else _all_are(call, 1, _zero(call.op.outputs[0]), 1, "padding")


def _space_to_batch(call: ArrayCall) -> str | None:
    """One pixel of padding: all that lies behind batches and space."""
    block = call.op.constants[1]
    if call.function != "tflmgen_space_to_batch" or block is None:
        return None
    output = call.op.outputs[0]
    return _all_are(call, 1, _zero(output), math.prod(output.max_shape[1 + block.size :]), "padding")


def _zeros(call: ArrayCall) -> str | None:
    return _all_are(call, 0, 0, 1, "zero")


def _values(call: ArrayCall) -> str | None:
    """SHAPE and RANK: their output stands in flash."""
    source = call.op.inputs[0]
    assert source is not None
    wanted = source.max_shape if call.operator == "SHAPE" else len(source.max_shape)
    return compare(call, 0, np.array(wanted, dtype=_numpy(call.op.outputs[0])).reshape(-1), "values")


def _copied(call: ArrayCall) -> str | None:
    """Operators that copy what surrounds or makes up their output from flash."""
    checks = {"PAD": _pad, "PADV2": _pad, "ZEROS_LIKE": _zeros, "SHAPE": _values, "RANK": _values}
    check = checks.get(call.operator)
    return None if check is None else check(call)


def _filler(argument: int) -> Check:
    """The element that rows out of use get."""

    def check(call: ArrayCall) -> str | None:
        if call.operator not in ("FILL_ROWS", "PLACE_ROWS"):
            return None
        return _all_are(call, argument, call.op.attributes.number, 1, "element")

    return check


def _thresholds(call: ArrayCall) -> str | None:
    """The least float of each output but the least one: the reference gives the output there, and a lesser one before.

    Floats are ordered as integers. The reference only ascends, so that this holds for every float.
    """
    if not call.function.startswith("tflmgen_quantize_search"):
        return None
    table = call.elements(1, "<i4").astype(np.int64)
    if len(table) != 255:
        return f"thresholds: {len(table)} elements instead of 255"
    outputs = np.arange(1, 256) + call.op.outputs[0].dtype.limits[0]
    reached, before = (element_results(call.operator, call.op, _float_at(places)) for places in (table, table - 1))
    if reached is None or before is None:
        return None
    infinity = int(np.array(np.inf, np.float32).view(np.int32))
    # No float reaches an output whose threshold lies beyond infinity.
    wrong = ((reached < outputs) & (table < infinity)) | ((before >= outputs) & (table > ~infinity))
    wrong |= np.diff(table, prepend=table[0]) < 0
    return f"thresholds: that of output {outputs[np.argmax(wrong)]} differs" if wrong.any() else ""


def _float_at(places: Array) -> Array:
    """The floats at places in the order of all floats, 0 at +0.0 and -1 at -0.0."""
    bits = np.where(places < 0, ~places | -(2**31), places)
    return bits.astype(np.uint64).astype(np.uint32).view(np.float32)


def _map(call: ArrayCall) -> str | None:
    """Per dimension the byte offsets of the elements that are taken; trailing dimensions that are whole have none."""
    source, output = call.op.inputs[0], call.op.outputs[0]
    assert source is not None
    shape = source.max_shape
    places = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    as_index = [
        None if type_ is None else replace(type_, dtype=DType.INT32, quantization=None) if i == 0 else type_
        for i, type_ in enumerate(call.op.inputs)
    ]
    target = replace(output, dtype=DType.INT32, quantization=None)
    constants = (places, *call.op.constants[1:])
    results = results_on_constants(
        call.operator, OperatorInstance(tuple(as_index), (target,), constants, call.op.attributes)
    )
    if results is None:
        return None
    taken, size = np.asarray(results[0]).reshape(output.max_shape), source.dtype.bits // 8
    first = np.unravel_index(int(taken.reshape(-1)[0]), shape)
    offsets: list[int] = []
    table = call.elements(1, "<i4")
    if call.function == "tflmgen_run_copy":
        table = _run_offsets(table)
    for axis in range(len(shape)):
        if len(offsets) == len(table):
            break
        line = taken[tuple(slice(None) if a == axis else 0 for a in range(len(shape)))]
        stride = math.prod(shape[axis + 1 :])
        base = sum(int(at) * math.prod(shape[a + 1 :]) for a, at in enumerate(first) if a != axis)
        offsets += [(int(place) - base) // stride * stride * size for place in line]
    if call.function == "tflmgen_run_copy":
        return "" if np.array_equal(table, offsets) else "runs: their offsets differ"
    return compare(call, 1, np.array(offsets, np.int32), "map")


def _run_offsets(runs: Array) -> Array:
    """Offsets of all loops: each run's count, first offset and step."""
    lines = [first + step * np.arange(count) for count, first, step in runs.reshape(-1, 3).astype(np.int64)]
    return np.concatenate(lines)


def _layout(call: ArrayCall) -> str | None:
    """Checks the layout of joined or split blocks: repetitions, number of tensors, and bytes of each block."""
    joins = call.function == "tflmgen_concatenation"
    parts = [type_ for type_ in (call.op.inputs if joins else call.op.outputs) if type_ is not None]
    layout = call.elements(0, "<i4").astype(np.int64)
    if len(layout) != 2 + len(parts) or layout[1] != len(parts):
        return f"layout: {len(layout)} elements for {len(parts)} tensors"
    wanted = _blocks(call, parts)
    return None if wanted is None else compare(call, 0, np.array(wanted, np.int32), "layout")


def _blocks(call: ArrayCall, parts: list[TensorType]) -> list[int] | None:
    axis = _axis(call, parts)
    if axis is None:
        return None
    repeats = math.prod(parts[0].max_shape[:axis])
    return [repeats, len(parts), *(part.bytes // max(repeats, 1) for part in parts)]


def _axis(call: ArrayCall, parts: list[TensorType]) -> int | None:
    """The axis along which tensors lie one after another, counted among the dimensions of one of them."""
    whole = call.op.outputs[0]
    if call.operator == "CONCATENATION":
        return int(call.op.attributes.axis) % len(whole.max_shape)
    if call.operator in ("PACK", "UNPACK"):
        return int(call.op.attributes.axis) % (len(parts[0].max_shape) + 1)
    at = {"SPLIT": 0, "SPLIT_V": 2}.get(call.operator)
    constant = None if at is None else call.op.constants[at]
    return None if constant is None else int(constant.reshape(-1)[0]) % len(parts[0].max_shape)


def _add_n(call: ArrayCall) -> str | None:
    """Elements, tensors; of int8 the zero points, and the scale from halves with 20 more bits."""
    source, output = call.op.inputs[0], call.op.outputs[0]
    assert source is not None
    numbers = [output.elements, len(call.op.inputs)]
    if output.dtype is DType.INT8:
        assert source.quantization is not None
        assert output.quantization is not None
        factor = 2.0 * source.quantization.scales[0] / (2.0**20 * output.quantization.scales[0])
        numbers += [-zero_of(source), zero_of(output), *fixed_point(factor)]
    return compare(call, 0, np.array(numbers, np.int32), "layout")


def _logarithms(call: ArrayCall) -> str | None:
    """TFLite Micro's table of log2(1 + x) - x at 128 steps from 0 to 1, in 16 bits after the point."""
    if call.function != "tflmgen_signal_log":
        return None
    steps = [round(65536 * (math.log2(1 + i / 128) - i / 128)) for i in range(129)]
    return compare(call, 1, np.array(steps, np.uint16), "logarithms")


CHECKS: Mapping[str, Check] = {
    "copy.h": _copied,
    "space_batch.h": _space_to_batch,
    "rows.h": _filler(3),
    "row_windows.h": _filler(4),
    "quantize.h": _thresholds,
    "mapped_copy.h": _map,
    "run_copy.h": _map,
    "concatenation.h": _layout,
    "add_n.h": _add_n,
    "signal_filter_bank.h": _logarithms,
}
"""Checks of tables, by the header of the kernel that reads them."""
