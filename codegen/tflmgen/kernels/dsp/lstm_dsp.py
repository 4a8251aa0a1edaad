"""LSTM over a sequence in int8 for cores with the DSP extension: the packed weights, and when it is applicable."""

from __future__ import annotations

import numpy as np

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Cost, Kernel, Null, PackedCall, Params, ParamValue, Scratch, UnpackedSums
from tflmgen.kernels.costs.cost_model import lstm_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.dsp.dot_rows_dsp import STACK_STEPS, groups_of, pack_rows, read_rows, scale_to_int16
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.numeric.quantize_math import quantize_multiplier
from tflmgen.kernels.operators.lstm_integer import (
    cell_clip,
    cell_steps,
    folded_by_cells,
    packed_operands,
    state_factors,
    sum_factors,
)
from tflmgen.kernels.operators.lstm_tensors import (
    BIASES,
    GATES,
    INPUT_GATE,
    OUTPUT_STATE,
    RECURRENT,
    rows_by_gate,
    sizes_of,
)
from tflmgen.kernels.operators.quantized_unary import sigmoid_table
from tflmgen.kernels.requests import Lstm
from tflmgen.kernels.specification.rules import input_type, zero_point

POWER_OF_TWO = 2**30
"""The multiplier of tflmgen_requantize for one."""


def lstm_dsp(request: Lstm) -> Kernel | None:
    """The kernel; None where it would not be exact."""
    op = request.op
    inputs = folded_by_cells(op, INPUT_GATE, 0, BIASES)
    recurrent = folded_by_cells(op, RECURRENT, OUTPUT_STATE, None)
    scales = _scales(*inputs, sum_factors(op, INPUT_GATE, 0))
    recurrent_scales = _scales(*recurrent, sum_factors(op, RECURRENT, OUTPUT_STATE))
    factors = {name: quantize_multiplier(factor) for name, factor in state_factors(op).items()}
    output_multiplier, output_shift = factors["output"]
    input_multiplier, input_shift = factors["input"]
    if not scales or not recurrent_scales or output_shift > 0 or input_multiplier != POWER_OF_TWO or input_shift >= 0:
        return None
    if any(pack_rows(weights).offset for weights, _ in (inputs, recurrent)):
        return None
    steps_multiplier, steps_shift = cell_steps(op)
    fields: Fields = (
        *request.sequence,
        ("scales", scales),
        ("recurrent_scales", recurrent_scales),
        ("input_shift", -input_shift),
        ("output_multiplier", output_multiplier),
        ("output_right_shift", -output_shift),
        ("output_zero_point", zero_point(input_type(op, OUTPUT_STATE))),
        ("cell_clip", cell_clip(op)),
        ("steps_multiplier", steps_multiplier),
        ("steps_shift", steps_shift),
    )
    table = sigmoid_table()
    steps = sum(-(-weights.shape[1] // 4) for weights, _ in (inputs, recurrent))
    streams = _stream("weights", *inputs), _stream("recurrent", *recurrent)
    operands = (
        *packed_operands(*streams, np.append(table, table[-1])),
        Null() if steps <= STACK_STEPS else Scratch(len(GATES) * sizes_of(op).cells * 2),
    )
    params = Params("tflmgen_lstm_dsp_s8", fields)
    return Kernel("tflmgen_lstm_dsp_s8", "lstm_dsp.h", operands, params, request.overlaps, Cost(request.macs), "dsp")


Fields = tuple[tuple[str, ParamValue], ...]


def _scales(weights: Integers, biases: Integers, factors: list[float]) -> tuple[int, ...]:
    """Requantisation constants of the gates, one gate after the other; empty where those of a gate are not exact."""
    scales = []
    for gate, factor in enumerate(factors):
        requantisation = scale_to_int16(weights[gate::4], biases[gate::4], *quantize_multiplier(factor))
        if requantisation is None:
            return ()
        scales += [*requantisation]
    return tuple(scales)


def _stream(name: str, weights: Integers, biases: Integers) -> ConstantArray:
    packed = pack_rows(weights)
    groups = groups_of(packed, packed.starts(biases.tolist()))
    return ConstantArray.of(name, groups.reshape(-1), DType.UINT32)


def _read(call: PackedCall) -> list[UnpackedSums]:
    """The rows of the input and of the state, cell by cell: forget, cell, output and input gate of each."""
    parts = (read_rows(call.words(i), 4 * call.channels, n, False) for i, n in ((1, call.terms), (2, call.channels)))
    return [UnpackedSums(*map(rows_by_gate, part)) for part in parts]


KERNEL = KernelDeclaration(
    "lstm_dsp.h",
    "dsp",
    (Computes(Lstm, lstm_dsp),),
    {"lstm_dsp": lstm_cost("lstm beyond", "time value cell step", 1, 1, 4)},
    (Cases("lstm"),),
    read=_read,
)
