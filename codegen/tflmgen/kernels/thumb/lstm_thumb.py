"""LSTM over a sequence in int8 for every Cortex-M: the packed weights, and when the kernel is applicable."""

from __future__ import annotations

from tflmgen.ir.kernel import ConstantArray, Cost, Kernel, PackedCall, Params, UnpackedSums
from tflmgen.kernels.costs.cost_model import lstm_cost
from tflmgen.kernels.declaration import Cases, Computes, KernelDeclaration
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.operators.lstm_integer import folded_by_cells, multiplier_fields, packed_operands
from tflmgen.kernels.operators.lstm_tensors import BIASES, INPUT_GATE, OUTPUT_STATE, RECURRENT, rows_by_gate
from tflmgen.kernels.operators.quantized_unary import sigmoid_table
from tflmgen.kernels.requests import Lstm
from tflmgen.kernels.thumb.sums_thumb import fits, read_sums, sums_operand


def lstm_thumb(request: Lstm) -> Kernel | None:
    """The kernel; None where a row has no room on the stack."""
    op = request.op
    inputs, recurrent = folded_by_cells(op, INPUT_GATE, 0, BIASES), folded_by_cells(op, RECURRENT, OUTPUT_STATE, None)
    if not (fits(inputs[0]) and fits(recurrent[0])):
        return None
    operands = packed_operands(_operand("weights", *inputs), _operand("recurrent", *recurrent), sigmoid_table())
    fields = Params("tflmgen_lstm_integer", (*request.sequence, *multiplier_fields(op)))
    cost = Cost(request.macs)
    return Kernel("tflmgen_lstm_thumb_s8", "lstm_thumb.h", operands, fields, request.overlaps, cost, "thumb")


def _operand(name: str, weights: Integers, biases: Integers) -> ConstantArray:
    return sums_operand(name, weights, biases.tolist())


def _read(call: PackedCall) -> list[UnpackedSums]:
    """The rows of the input and of the state, cell by cell: forget, cell, output and input gate of each."""
    parts = [read_sums(call.words(i), 4 * call.channels, n) for i, n in ((1, call.terms), (2, call.channels))]
    return [UnpackedSums(*map(rows_by_gate, part)) for part in parts]


KERNEL = KernelDeclaration(
    "lstm_thumb.h",
    "thumb",
    (Computes(Lstm, lstm_thumb),),
    {"lstm_thumb": lstm_cost("lstm", "cell step", 1, 1, 2)},
    (Cases("lstm"),),
    read=_read,
)
