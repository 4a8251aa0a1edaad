"""Arrays of constants that no reader unpacks: tables of functions, scales, and tensors of several gates in one.

Each is what it is, element by element. What it must be follows from the operator alone, by the reference's arithmetic;
where the arrays stand among a kernel's arguments is in the kernel's header.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.ir import OperatorInstance, TensorType
from tflmgen.proof.layer_numbers import Integers, fixed_point, zero_of
from tflmgen.reference import (
    SIGMOID_TABLE,
    SOFTMAX_TABLES,
    Array,
    element_results,
    interpolated,
    row_exponentials,
)


@dataclass(frozen=True, slots=True)
class ArrayCall:
    """A call with constants. data: per argument the bytes in flash; None where these are in RAM or absent."""

    operator: str
    op: OperatorInstance
    function: str
    data: Sequence[bytes | None]

    def elements(self, argument: int, dtype: str) -> Array:
        """Raises ValueError where the argument has no bytes in flash, or no whole elements."""
        data = self.data[argument]
        if data is None:
            raise ValueError(f"argument {argument} is no constant")
        return np.frombuffer(data, dtype)


Check = Callable[[ArrayCall], str | None]
"""What in the arrays is wrong; empty where nothing is, None where there is nothing to compare with."""


def arrays_problem(header: str, call: ArrayCall) -> str | None:
    """What in a call's arrays is not the operator's; None where no check knows the header."""
    check = CHECKS.get(header)
    return None if check is None else check(call)


def _compare(call: ArrayCall, argument: int, wanted: Array, caption: str) -> str:
    written = call.elements(argument, wanted.dtype.newbyteorder("<").str)
    if written.shape != (wanted.size,):
        return f"{caption}: {written.size} elements instead of {wanted.size}"
    wrong = np.flatnonzero(written != wanted.reshape(-1))
    return f"{caption}: element {wrong[0]} differs" if len(wrong) else ""


def _lookup(call: ArrayCall) -> str | None:
    """int8: the outputs of all 256 inputs, the least input first."""
    results = element_results(call.operator, call.op, np.arange(-128, 128, dtype=np.int8))
    return None if results is None else _compare(call, 1, results.astype(np.int8), "table")


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


_SIGMOIDS = ("tflmgen_logistic_s16", "tflmgen_tanh_s16")


def _sigmoid(call: ArrayCall) -> str | None:
    return _compare(call, 1, SIGMOID_TABLE.astype(np.uint16), "table") if call.function in _SIGMOIDS else None


def _softmax(call: ArrayCall) -> str | None:
    source = call.op.inputs[0]
    assert source is not None
    if call.function.endswith("_f32"):
        return None
    if source.dtype.label == "int16":
        problems = (_compare(call, i + 1, SOFTMAX_TABLES[i].astype(np.int16), "table") for i in range(2))
        return next(filter(None, problems), "")
    exponentials = row_exponentials(source, getattr(call.op.attributes, "beta", 1.0)).astype(np.int32)
    count = len(call.elements(1, "<i4"))
    if exponentials[count:].any():
        return f"table: ends after {count} elements"
    return _compare(call, 1, exponentials[:count], "table")


def _scales_of(operand: int, argument: int) -> Check:
    """The scales of an operand, as floats."""

    def check(call: ArrayCall) -> str | None:
        type_ = call.op.inputs[operand]
        if type_ is None or call.data[argument] is None:
            return None
        quantization = type_.blocks or type_.quantization
        return (
            None
            if quantization is None
            else _compare(call, argument, np.array(quantization.scales, np.float32), "scales")
        )

    return check


def _columns(call: ArrayCall) -> str | None:
    """BATCH_MATMUL with a scale for each column: multipliers and shifts."""
    if not call.function.endswith("_per_column"):
        return None
    left, right = (_scales(call.op.inputs[i]) for i in (0, 1))
    pairs = [fixed_point(left[0] * scale / _scales(call.op.outputs[0])[0]) for scale in right]
    return _compare(call, 2, np.array([m for m, _ in pairs], np.int32), "multipliers") or _compare(
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
        return _compare(call, 2, real, "time weights")
    if "_s8" not in call.function:
        return None
    offsets = -zero_of(source) * np.asarray(weights, np.int64).sum(axis=1)
    return _folded(call, 2, offsets, "offsets")


def _folded(call: ArrayCall, argument: int, wanted: Integers, caption: str) -> str:
    """Sums of 32 bits that wrap; an absent array is zeros."""
    if call.data[argument] is None:
        return f"{caption} are absent" if wanted.any() else ""
    return _compare(call, argument, wanted.astype(np.uint64).astype(np.uint32).view(np.int32), caption)


def _lstm(call: ArrayCall) -> str | None:
    """Weights of all gates one after another, and what their sums begin with."""
    op = call.op
    gates = [_gates(op, first) for first in (1, 5, 12)]
    if any(values is None for values in gates):
        return None
    weights, recurrent, biases = (np.asarray(values) for values in gates)
    element = np.float32 if weights.dtype == np.float32 else np.int8
    problem = _compare(call, 1, weights.astype(element), "weights")
    problem = problem or _compare(call, 2, recurrent.astype(element), "recurrent weights")
    if problem or call.function == "tflmgen_lstm_fixed_s8":
        return problem
    if biases.dtype == np.float32:
        return _compare(call, 3, biases, "biases")
    source, state = op.inputs[0], op.inputs[18]
    assert source is not None
    problem = _compare(call, 5, SIGMOID_TABLE.astype(np.uint16), "table")
    if problem or source.dtype.label == "int16":
        return problem or _compare(call, 3, biases.astype(np.int64), "biases")
    assert state is not None
    folded = biases.astype(np.int64) - zero_of(source) * weights.astype(np.int64).sum(axis=1)
    inner = -zero_of(state) * recurrent.astype(np.int64).sum(axis=1)
    return _folded(call, 3, folded, "biases") or _folded(call, 4, inner, "recurrent biases")


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


CHECKS: Mapping[str, Check] = {
    "lookup.h": _lookup,
    "lookup_mve.h": _lookup,
    "interpolate.h": _interpolate,
    "quantized_unary.h": _sigmoid,
    "softmax.h": _softmax,
    "conv2d_hybrid.h": _scales_of(1, 2),
    "depthwise_conv2d_hybrid.h": _scales_of(1, 2),
    "fully_connected_hybrid.h": _scales_of(1, 2),
    "fully_connected_blocks.h": _scales_of(1, 2),
    "batch_matmul_hybrid.h": _scales_of(1, 2),
    "batch_matmul.h": _columns,
    "svdf.h": _svdf,
    "lstm.h": _lstm,
    "lstm_fixed.h": _lstm,
    "lstm_hybrid.h": _lstm,
}
"""By the kernels' header."""
