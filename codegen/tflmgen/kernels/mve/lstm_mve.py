"""LSTM over a sequence in int8 for cores with MVE: the packed weights, and when the kernel is applicable."""

from __future__ import annotations

import numpy as np

from tflmgen.ir.kernel import ConstantArray, Cost, Kernel, PackedCall, Params, UnpackedSums
from tflmgen.kernels.costs.cost_model import lstm_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.mve.sums_mve import STACK_BYTES, read_sums, row_bytes, sums_operand
from tflmgen.kernels.numeric.header_constants import header_constant
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.operators.lstm_integer import folded_by_cells, multiplier_fields, packed_operands
from tflmgen.kernels.operators.lstm_tensors import BIASES, GATES, INPUT_GATE, OUTPUT_STATE, RECURRENT, rows_by_gate
from tflmgen.kernels.operators.quantized_unary import sigmoid_table
from tflmgen.kernels.requests import Lstm

CELLS = header_constant("lstm_mve.h", "TFLMGEN_LSTM_MVE_CELLS")
"""Cells that are computed at a time."""


def lstm_mve(request: Lstm) -> Kernel | None:
    """The kernel; None where the input and h have no room on the stack."""
    op = request.op
    inputs, recurrent = folded_by_cells(op, INPUT_GATE, 0, BIASES), folded_by_cells(op, RECURRENT, OUTPUT_STATE, None)
    if row_bytes(inputs[0]) + row_bytes(recurrent[0]) > STACK_BYTES:
        return None
    table = sigmoid_table()
    operands = packed_operands(
        _operand("weights", *inputs), _operand("recurrent", *recurrent), np.append(table, table[-1])
    )
    fields = Params("tflmgen_lstm_integer", (*request.sequence, *multiplier_fields(op)))
    return Kernel("tflmgen_lstm_mve_s8", "lstm_mve.h", operands, fields, request.overlaps, Cost(request.macs), "mve")


def _operand(name: str, weights: Integers, biases: Integers) -> ConstantArray:
    """The stream of weights and biases: four cells at a time, the rows of each gate; zeros fill up the last four."""
    cells = len(weights) // len(GATES)
    missing = -cells % CELLS * len(GATES)
    rows = np.pad(weights, ((0, missing), (0, 0))).reshape(-1, CELLS, len(GATES), weights.shape[1])
    sums = np.pad(biases, (0, missing)).reshape(-1, CELLS, len(GATES))
    return sums_operand(name, rows.swapaxes(1, 2).reshape(-1, weights.shape[1]), sums.swapaxes(1, 2).reshape(-1))


def _read(call: PackedCall) -> list[UnpackedSums]:
    """The rows of the input and of the state: of every four cells those of the forget gate, then the other gates'."""
    cells, parts = call.channels, []
    for argument, terms in ((1, call.terms), (2, cells)):
        rows, biases = read_sums(call.words(argument), 16 * -(-cells // 4), terms)
        weights = rows.reshape(-1, 4, 4, terms).swapaxes(1, 2).reshape(-1, terms)
        starts = biases.reshape(-1, 4, 4).swapaxes(1, 2).reshape(-1)
        if weights[4 * cells :].any() or starts[4 * cells :].any():
            raise ValueError("cells that the last four lack are not zero")
        parts.append(UnpackedSums(rows_by_gate(weights[: 4 * cells]), rows_by_gate(starts[: 4 * cells])))
    return parts


KERNEL = KernelDeclaration(
    "lstm_mve.h",
    "mve",
    (Computes(Lstm, lstm_mve),),
    {"lstm_mve": lstm_cost("lstm", "time block step", 1, 4, 16)},
    (Cases("lstm"),),
    read=_read,
)
