"""The int8 LSTM in all its variants, with fixed-point activations: what its kernel needs, and its support rules.

Source of the arithmetic: TFLite's kernels/lstm.cc (PopulateQuantizedLstmParams8x8_16) and kernels/lstm_eval.cc.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType, Quantization
from tflmgen.ir.kernel import ConstantArray, Input, Null, Operand, OperatorInstance, ParamValue
from tflmgen.kernels.numeric.quantize_math import is_representable, quantize_multiplier, round_half_away
from tflmgen.kernels.operators.lstm_tensors import (
    BIASES,
    CELL_STATE,
    GATES,
    INPUT_GATE,
    NORMS,
    OUTPUT_STATE,
    PEEPHOLES,
    PROJECTION,
    RECURRENT,
    by_gate,
    gates_of,
    has,
    peephole_order,
)
from tflmgen.kernels.specification.rules import input_type, scale, zero_point

ParamFields = tuple[tuple[str, ParamValue], ...]

HIDDEN = 4
"""The intermediate tensor of the cells' outputs before the projection."""
PEEPHOLE_OF = {0: 0, 1: 1, 3: 2}
"""Gate in the file's order -> its peephole's place among PEEPHOLES."""


def hidden_quantization(op: OperatorInstance) -> Quantization | None:
    """Quantisation of the hidden state before its projection, None without such an intermediate tensor."""
    return _intermediate(op, HIDDEN)


def _intermediate(op: OperatorInstance, index: int) -> Quantization | None:
    intermediates: tuple[Quantization | None, ...] = op.attributes.intermediates
    return intermediates[index] if index < len(intermediates) else None


def intermediates_fit(op: OperatorInstance) -> bool:
    """Whether the file tells the quantisation of the inner values that the kernel needs."""
    needed = [*gates_of(op), HIDDEN] if has(op, NORMS + 1) else [HIDDEN]
    intermediates = [_intermediate(op, index) for index in needed]
    if not all(q is not None and not q.per_channel and 0 < q.scale < math.inf for q in intermediates):
        return False
    hidden, state = hidden_quantization(op), input_type(op, OUTPUT_STATE).quantization
    if hidden is None or state is None or not -128 <= hidden.zero_point <= 127:
        return False
    return has(op, PROJECTION) or _is_same_quantization(hidden, state)


def _is_same_quantization(a: Quantization, b: Quantization) -> bool:
    return (a.scale, a.zero_point) == (b.scale, b.zero_point)


def _single(value: float) -> np.float32:
    return np.float32(value)


def gate_scale(op: OperatorInstance, gate: int) -> np.float32:
    """Scale of a gate's sums: 1/4096, or the file's where layer normalisation follows them."""
    quantization = _intermediate(op, gate) if has(op, NORMS + 1) else None
    return _single(quantization.scale if quantization else 2.0**-12)


def _sum_factors(op: OperatorInstance, first: int, source: int) -> list[float]:
    """Factors from sums of products to each gate's scale, in single precision as the reference computes them."""
    values = _single(scale(input_type(op, source)))
    with np.errstate(over="ignore"):
        return [float(_single(scale(input_type(op, first + g))) * values / gate_scale(op, g)) for g in gates_of(op)]


def _peephole_factors(op: OperatorInstance) -> list[float]:
    if not has(op, PEEPHOLES + 1):
        return [1.0] * len(gates_of(op))
    cells = _single(2.0) ** _single(cell_log2(op))
    places = [PEEPHOLE_OF.get(g) for g in gates_of(op)]
    return [
        1.0 if p is None else float(cells * _single(scale(input_type(op, PEEPHOLES + p))) / gate_scale(op, g))
        for p, g in zip(places, gates_of(op), strict=True)
    ]


def _norm_factors(op: OperatorInstance) -> list[float]:
    if not has(op, NORMS + 1):
        return [1.0] * len(gates_of(op))
    return [scale(input_type(op, NORMS + g)) for g in gates_of(op)]


def _hidden_factor(op: OperatorInstance) -> float:
    hidden = _single(hidden_scale(op))
    return float(_single(2.0**-15) / hidden * _single(2.0**-15))


def hidden_scale(op: OperatorInstance) -> float:
    """Scale of the hidden state before its projection, 0 without such an intermediate tensor."""
    quantization = hidden_quantization(op)
    return quantization.scale if quantization else 0.0


def _hidden_zero_point(op: OperatorInstance) -> int:
    """Zero point added to the hidden values; negated before a projection, as LiteRT does, which undoes it."""
    quantization = hidden_quantization(op)
    point = quantization.zero_point if quantization else 0
    return -point if has(op, PROJECTION) else point


def _projection_factor(op: OperatorInstance) -> float:
    if not has(op, PROJECTION):
        return 1.0
    weights = _single(scale(input_type(op, PROJECTION)))
    return float(weights * _single(hidden_scale(op)) / _single(scale(input_type(op, OUTPUT_STATE))))


def cell_log2(op: OperatorInstance) -> int:
    """The power of two nearest to the scale of cells, as TFLite and TFLite Micro find it: in single precision."""
    log2 = np.log(_single(scale(input_type(op, CELL_STATE)))) * (_single(1.0) / np.log(_single(2.0)))
    return round_half_away(float(log2))


def factors(op: OperatorInstance) -> list[float]:
    """Every real number that becomes a multiplier."""
    sums = [*_sum_factors(op, INPUT_GATE, 0), *_sum_factors(op, RECURRENT, OUTPUT_STATE)]
    return [*sums, *_peephole_factors(op), *_norm_factors(op), _hidden_factor(op), _projection_factor(op)]


def representable(op: OperatorInstance) -> bool:
    """Whether the kernel can multiply by all factors; that of a norm is shifted by 12 more."""
    shifts = [quantize_multiplier(f)[1] for f in _norm_factors(op)]
    return all(is_representable(f) for f in factors(op)) and all(-31 <= s + 12 <= 30 for s in shifts)


def fixed_fields(op: OperatorInstance) -> ParamFields:
    """The numbers of tflmgen_lstm_fixed_s8."""

    def four(values: list[int]) -> tuple[int, ...]:
        return (*values, *[0] * (len(GATES) - len(values)))

    def pairs(name: str, values: list[float], extra: int = 0) -> ParamFields:
        multipliers = [quantize_multiplier(value) for value in values]
        return (
            (f"{name}multipliers", four([m for m, _ in multipliers])),
            (f"{name}shifts", four([s + extra for _, s in multipliers])),
        )

    hidden, projection = quantize_multiplier(_hidden_factor(op)), quantize_multiplier(_projection_factor(op))
    cell_clip = float(_single(op.attributes.cell_clip) / _single(scale(input_type(op, CELL_STATE))))
    projection_clip = float(_single(op.attributes.projection_clip) / _single(scale(op.outputs[0])))
    return (
        *pairs("", _sum_factors(op, INPUT_GATE, 0)),
        *pairs("recurrent_", _sum_factors(op, RECURRENT, OUTPUT_STATE)),
        *pairs("peephole_", _peephole_factors(op)),
        *pairs("norm_", _norm_factors(op), 12),
        ("least_variances", four([max(1, int(_single(10000) * _single(f))) for f in _norm_factors(op)])),
        ("cell_integer_bits", 15 + cell_log2(op)),
        ("cell_clip", int(min(cell_clip, 32767.0))),
        ("hidden_multiplier", hidden[0]),
        ("hidden_shift", hidden[1]),
        ("hidden_zero_point", _hidden_zero_point(op)),
        ("projection_multiplier", projection[0]),
        ("projection_shift", projection[1]),
        ("output_zero_point", zero_point(input_type(op, OUTPUT_STATE))),
        ("projection_clip", int(min(projection_clip, 127.0))),
    )


def fixed_numbers(op: OperatorInstance) -> tuple[Operand, ...]:
    """Biases with the zero points folded in, peepholes, norms, projection."""
    normalized = has(op, NORMS + 1)
    biases = -zero_point(input_type(op, 0)) * _row_sums(by_gate(op, INPUT_GATE))
    if not normalized:
        biases = biases + by_gate(op, BIASES)
    recurrent = -zero_point(input_type(op, OUTPUT_STATE)) * _row_sums(by_gate(op, RECURRENT))
    peepholes: Operand = Null()
    if has(op, PEEPHOLES + 1):
        values = np.concatenate([np.asarray(op.constants[i]) for i in peephole_order(op)])
        peepholes = ConstantArray.of("peepholes", values, DType.INT16)
    return (
        _int32("biases", biases),
        _int32("recurrent_biases", recurrent),
        peepholes,
        ConstantArray.of("norms", by_gate(op, NORMS), DType.INT16) if normalized else Null(),
        _int32("norm_biases", by_gate(op, BIASES).astype(np.int64)) if normalized else Null(),
        *_projection(op),
    )


def _projection(op: OperatorInstance) -> tuple[Operand, Operand]:
    if not has(op, PROJECTION):
        return Null(), Null()
    bias = -_hidden_zero_point(op) * _row_sums(np.asarray(op.constants[PROJECTION]))
    if has(op, PROJECTION + 1):
        bias = bias + np.asarray(op.constants[PROJECTION + 1])
    return Input(PROJECTION), _int32("projection_bias", bias)


def _row_sums(weights: NDArray[Any]) -> NDArray[np.int64]:
    sums: NDArray[np.int64] = weights.astype(np.int64).sum(axis=1)
    return sums


def _int32(name: str, values: NDArray[np.int64]) -> ConstantArray:
    return ConstantArray.of(name, values.astype(np.uint64).astype(np.uint32).view(np.int32), DType.INT32)
