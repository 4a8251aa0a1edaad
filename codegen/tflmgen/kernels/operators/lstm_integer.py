"""The quantised LSTM of TFLite Micro: what its kernel needs beside the weights, and its support rules.

Source of the arithmetic: TFLite Micro's kernels/lstm_eval_common.cc.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Input, Null, Operand, OperatorInstance, Output
from tflmgen.kernels.numeric.quantize_math import MAX_SHIFT, is_representable, quantize_multiplier
from tflmgen.kernels.operators import lstm_fixed
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
    has,
    is_fixed,
    is_integer,
    sizes_of,
)
from tflmgen.kernels.operators.quantized_unary import exact_log2, sigmoid_table
from tflmgen.kernels.specification.operator import Rule
from tflmgen.kernels.specification.rules import input_type, per_tensor, scale, zero_point
from tflmgen.kernels.specification.weights import MAX_SHIFT_S64

GATE_SCALE = 2.0**-12
"""Scale of a gate before its activation."""
ACTIVATED = 2.0**-15
"""Scale of a gate after its activation, and of the hyperbolic tangent of a cell."""
CELL_SCALES = (2.0**-31, 2.0**2)
"""The scale of cells is greater than the first and at most the second, or the reference's products overflow 32 bits."""
FIXED_CELL_LOG2 = range(-15, -10)
"""Exponents of two that the scale of cells may be where activations have a fixed point."""
STATES: tuple[Operand, ...] = (Input(OUTPUT_STATE), Input(CELL_STATE), Output(0), Output(1), Output(2))
"""Operands of all kernels after their weights and tables: both states as they were, the output, and both states."""

ParamFields = tuple[tuple[str, int | tuple[int, ...]], ...]


def sum_factors(op: OperatorInstance, first: int, source: int) -> list[float]:
    """Factors from the sums of products of an operand to the gates' scale, gate by gate."""
    return [scale(input_type(op, source)) * scale(input_type(op, first + gate)) / GATE_SCALE for gate in GATES]


def cell_clip(op: OperatorInstance) -> int:
    """The greatest magnitude of a cell; 0: any."""
    return int(min(op.attributes.cell_clip / scale(input_type(op, CELL_STATE)), 32767.0))


def state_factors(op: OperatorInstance) -> dict[str, float]:
    """Factors from products of two gates, or of the forget gate and the cell, to the scale of what they become.

    Where cells are clipped to less than their scale, they are all 0.
    """
    cells = scale(input_type(op, CELL_STATE))
    kept = 0.0 if op.attributes.cell_clip and not cell_clip(op) else 1.0
    return {
        "forget": kept * ACTIVATED * cells / cells,
        "input": kept * ACTIVATED * ACTIVATED / cells,
        "output": ACTIVATED * ACTIVATED / scale(input_type(op, OUTPUT_STATE)),
    }


def cell_steps(op: OperatorInstance) -> tuple[int, int]:
    """(multiplier, shift) from a cell to the argument of tflmgen_tanh_of_steps, 1 / 12288 each."""
    power = lstm_fixed.cell_log2(op) + 12
    return (3 << power, 0) if power >= 0 else (3, -power)


def multiplier_fields(op: OperatorInstance) -> ParamFields:
    """The numbers of tflmgen_lstm_integer."""
    fields: ParamFields = ()
    for prefix, first, source in (("", INPUT_GATE, 0), ("recurrent_", RECURRENT, OUTPUT_STATE)):
        pairs = [quantize_multiplier(factor) for factor in sum_factors(op, first, source)]
        fields += (
            (f"{prefix}multipliers", tuple(m for m, _ in pairs)),
            (f"{prefix}shifts", tuple(s for _, s in pairs)),
        )
    for name, factor in state_factors(op).items():
        multiplier, shift = quantize_multiplier(factor)
        fields += ((f"{name}_multiplier", multiplier), (f"{name}_shift", shift))
    multiplier, shift = cell_steps(op)
    return (
        *fields,
        ("output_zero_point", zero_point(input_type(op, OUTPUT_STATE))),
        ("cell_clip", cell_clip(op)),
        ("steps_multiplier", multiplier),
        ("steps_shift", shift),
    )


def numbers_of_gates(op: OperatorInstance) -> tuple[Operand, Operand, Operand]:
    """Biases of the input's products and of the state's, zero points folded in, and the table of activations."""
    table = ConstantArray.of("sigmoid", sigmoid_table(), DType.UINT16)
    biases = by_gate(op, BIASES).astype(np.int64)
    if input_type(op, 0).dtype is DType.INT16:
        return ConstantArray.of("biases", biases, DType.INT64), Null(), table
    biases = biases - zero_point(input_type(op, 0)) * by_gate(op, INPUT_GATE).astype(np.int64).sum(axis=1)
    recurrent = -zero_point(input_type(op, OUTPUT_STATE)) * by_gate(op, RECURRENT).astype(np.int64).sum(axis=1)
    wrapped = [values.astype(np.uint64).astype(np.uint32).view(np.int32) for values in (biases, recurrent)]
    return (
        ConstantArray.of("biases", wrapped[0], DType.INT32),
        ConstantArray.of("recurrent_biases", wrapped[1], DType.INT32) if recurrent.any() else Null(),
        table,
    )


def packed_operands(weights: Operand, recurrent: Operand, table: NDArray[np.float64]) -> tuple[Operand, ...]:
    """Operands of the DSP and MVE int8 kernels. table: what activations are interpolated from."""
    return Input(0), weights, recurrent, ConstantArray.of("sigmoid", table, DType.UINT16), *STATES


def folded_by_cells(
    op: OperatorInstance, first: int, source: int, biases: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The weights [cells * 4, terms] that begin at input `first`, of each cell a row per gate in the kernel's order.

    And as many biases, into which the zero point of input `source` is folded.
    """
    rows = [np.asarray(op.constants[first + gate], dtype=np.int64) for gate in GATES]
    folded = [-zero_point(input_type(op, source)) * weights.sum(axis=1) for weights in rows]
    if biases is not None:
        folded = [sums + np.asarray(op.constants[biases + g], np.int64) for sums, g in zip(folded, GATES, strict=True)]
    weights = np.stack(rows, axis=1)
    return weights.reshape(-1, weights.shape[-1]), np.stack(folded, axis=1).reshape(-1)


def _where_integer(requirement: str, holds: Callable[[OperatorInstance], bool]) -> Rule:
    return Rule(requirement, lambda op: not is_integer(op) or holds(op))


_SYMMETRIC = (*range(INPUT_GATE, BIASES), PROJECTION, CELL_STATE, *range(NORMS, NORMS + 4))
"""Inputs whose zero point is 0."""


def _where_fixed(requirement: str, holds: Callable[[OperatorInstance], bool]) -> Rule:
    return Rule(requirement, lambda op: not is_fixed(op) or holds(op))


def _square(op: OperatorInstance) -> bool:
    return sizes_of(op).cells == sizes_of(op).outputs


def _quantized(op: OperatorInstance) -> bool:
    return all(not has(op, i) or per_tensor(input_type(op, i)) for i in (0, *_SYMMETRIC, OUTPUT_STATE))


def _zero_points_fit(op: OperatorInstance) -> bool:
    zeros = _SYMMETRIC if input_type(op, 0).dtype is DType.INT8 else (*_SYMMETRIC, 0, OUTPUT_STATE)
    return all(not has(op, i) or zero_point(input_type(op, i)) == 0 for i in zeros)


def _representable(op: OperatorInstance) -> bool:
    if is_fixed(op):
        return lstm_fixed.representable(op)
    sums = [*sum_factors(op, INPUT_GATE, 0), *sum_factors(op, RECURRENT, OUTPUT_STATE)]
    limit = MAX_SHIFT_S64 if input_type(op, 0).dtype is DType.INT16 else MAX_SHIFT
    states = state_factors(op).values()
    return all(is_representable(f) and quantize_multiplier(f)[1] <= limit for f in sums) and all(
        is_representable(f) for f in states
    )


def _hybrid_weights_fit(op: OperatorInstance) -> bool:
    weighted = [i for i in (*range(INPUT_GATE, BIASES), PROJECTION) if has(op, i)]
    if is_integer(op) or input_type(op, INPUT_GATE + 1).dtype is DType.FLOAT32:
        return True
    return all(per_tensor(input_type(op, i)) and zero_point(input_type(op, i)) == 0 for i in weighted)


INTEGER_RULES = (
    Rule("one scale and zero point 0 for each tensor of int8 weights with float32 inputs", _hybrid_weights_fit),
    _where_integer(
        "an int16 LSTM to take sequences, with an input gate and without peepholes, projection and layer normalisation",
        lambda op: input_type(op, 0).dtype is DType.INT8 or not is_fixed(op),
    ),
    _where_integer("one scale for each quantised input, weight tensor and state", _quantized),
    _where_integer(
        "zero point 0 for weights, cells and int16 tensors",
        _zero_points_fit,
    ),
    _where_integer(
        "a cell scale of more than 2^-31 and at most 4",
        lambda op: CELL_SCALES[0] < scale(input_type(op, CELL_STATE)) <= CELL_SCALES[1],
    ),
    _where_fixed(
        "a cell scale that is a power of two from 2^-15 to 2^-11, in an int8 LSTM with variants or of a single step",
        lambda op: exact_log2(scale(input_type(op, CELL_STATE))) in FIXED_CELL_LOG2,
    ),
    _where_fixed(
        "its intermediate tensors to be quantised: the fifth (without projection as the state), "
        "and the first four with layer normalisation",
        lstm_fixed.intermediates_fit,
    ),
    _where_fixed(
        "as many outputs as cells with peepholes, and fewer than 2^15 cells",
        lambda op: (not has(op, PEEPHOLES + 1) or _square(op)) and sizes_of(op).cells < 2**15,
    ),
    _where_integer("scales whose multipliers fit into 32 bits", _representable),
)
