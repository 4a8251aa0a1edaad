"""LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM: float32 in all its variants, int8 and int16 as TFLite Micro has them.

Inputs: 0 input, 1-4 weights of the input, forget, cell and output gates, 5-8 the same for the state, 9-11 peepholes,
12-15 biases, 16-17 projection and its bias, 18 output state, 19 cell state, 20-23 coefficients of layer normalisation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tflmgen.kernel import (
    ConstantArray,
    Input,
    Kernel,
    Null,
    Operand,
    OperatorInstance,
    Output,
    Overlap,
    Params,
    Scratch,
    Target,
)
from tflmgen.ops.lstm_integer import INTEGER_RULES, is_integer, multiplier_fields, numbers_of_gates
from tflmgen.ops.lstm_tensors import (
    CELL_STATE,
    INPUT_GATE,
    OUTPUT_STATE,
    PEEPHOLES,
    PROJECTION,
    by_gate,
    has,
    shape_rules,
    sizes_of,
)
from tflmgen.ops.operator import Operator, Options, Rule, Shape
from tflmgen.ops.options import present
from tflmgen.ops.rules import input_type
from tflmgen.ops.weights import params
from tflmgen.types import DType

HEADER = "lstm.h"
TANH = 4
"""The schema's number of the activation."""


@dataclass(frozen=True, slots=True)
class LstmAttributes:
    time_major: bool
    cell_clip: float
    projection_clip: float


def parse(options: Options | None) -> LstmAttributes:
    options = present(options)
    if int(options.get("kernel_type", 0)) != 0:
        raise ValueError("the LSTM is of the BASIC kind (kernel_type 1), which only knows uint8")
    if int(options.get("fused_activation_function", 0)) != TANH:
        raise ValueError("the activation is not TANH")
    if options.get("diagonal_recurrent_tensors", False):
        raise ValueError("the recurrent weights are diagonal (diagonal_recurrent_tensors)")
    clips = [float(options.get(name, 0.0)) for name in ("cell_clip", "proj_clip")]
    if not all(np.isfinite(clip) and clip >= 0 for clip in clips):
        raise ValueError("cell_clip or proj_clip is negative or not finite")
    return LstmAttributes(bool(options.get("time_major", False)), clips[0], clips[1])


def infer(op: OperatorInstance) -> tuple[Shape]:
    return ((*input_type(op, 0).shape[:-1], sizes_of(op).outputs),)


def kernel(op: OperatorInstance, target: Target) -> Kernel:
    del target
    sizes = sizes_of(op)
    sequence = (("batches", sizes.batches), ("steps", sizes.steps), ("time_major", op.attributes.time_major))
    extents = (("inputs", sizes.inputs), ("cells", sizes.cells))
    states: tuple[Operand, ...] = (Input(OUTPUT_STATE), Input(CELL_STATE), Output(0), Output(1), Output(2))
    in_place = Overlap(OUTPUT_STATE, 1), Overlap(CELL_STATE, 2)
    weights = by_gate(op, 1), by_gate(op, 5)
    macs = sizes.batches * sizes.steps * sum(w.size for w in weights)
    if is_integer(op):
        suffix = "s8" if input_type(op, 0).dtype is DType.INT8 else "s16"
        packed = [ConstantArray.of(n, w, DType.INT8) for n, w in zip(("weights", "recurrent"), weights, strict=True)]
        gates = Scratch(4 * sizes.cells * 2)
        fields = Params("tflmgen_lstm_integer", (*sequence, *extents, *multiplier_fields(op)))
        operands: tuple[Operand, ...] = (Input(0), *packed, *numbers_of_gates(op), *states, gates)
        return Kernel(f"tflmgen_lstm_{suffix}", HEADER, operands, fields, in_place, macs)
    coupled = not has(op, INPUT_GATE)
    clips = (("cell_clip", op.attributes.cell_clip), ("projection_clip", op.attributes.projection_clip))
    fields = params("tflmgen_lstm_f32", sequence, extents, (("outputs", sizes.outputs), ("coupled", coupled)), clips)
    gates = Scratch((3 if coupled else 4) * sizes.cells * 4)
    if has(op, PROJECTION):
        macs += sizes.batches * sizes.steps * sizes.cells * sizes.outputs
    operands = (Input(0), *_float_numbers(op, weights), *states, gates)
    return Kernel("tflmgen_lstm_f32", HEADER, operands, fields, in_place, macs)


def _float_numbers(op: OperatorInstance, weights: tuple[NDArray[Any], NDArray[Any]]) -> tuple[Operand, ...]:
    def array(name: str, values: NDArray[Any]) -> Operand:
        return ConstantArray.of(name, values, DType.FLOAT32)

    peepholes: Operand = Null()
    if has(op, PEEPHOLES + 1):
        order = [PEEPHOLES + 1, PEEPHOLES + 2, PEEPHOLES]
        peepholes = array("peepholes", np.concatenate([np.asarray(op.constants[i]) for i in order if has(op, i)]))
    return (
        array("weights", weights[0]),
        array("recurrent", weights[1]),
        array("biases", by_gate(op, 12)),
        peepholes,
        array("norms", by_gate(op, 20)) if has(op, 21) else Null(),
        Input(PROJECTION) if has(op, PROJECTION) else Null(),
        Input(PROJECTION + 1) if has(op, PROJECTION + 1) else Null(),
    )


def _operator(name: str, rank: int) -> Operator:
    rules: tuple[Rule, ...] = (*shape_rules(rank), *INTEGER_RULES)
    return Operator(name, parse, (1, 24), 1, rules, infer, kernel, updates=(OUTPUT_STATE, CELL_STATE))


OPERATORS = (_operator("LSTM", 2), _operator("UNIDIRECTIONAL_SEQUENCE_LSTM", 3))
