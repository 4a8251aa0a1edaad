"""LSTM over a sequence in int8 for every Cortex-M: the packed weights, and when there is a kernel."""

from __future__ import annotations

from tflmgen.ir import ConstantArray, Kernel, OperatorInstance, Overlap, Params, ParamValue
from tflmgen.kernels.numeric.int8_layer import Integers
from tflmgen.kernels.operators.lstm_integer import folded_by_cells, multiplier_fields, packed_operands
from tflmgen.kernels.operators.lstm_tensors import BIASES, INPUT_GATE, OUTPUT_STATE, RECURRENT
from tflmgen.kernels.operators.quantized_unary import sigmoid_table
from tflmgen.kernels.thumb.sums_thumb import fits, sums_operand


def lstm_thumb(
    op: OperatorInstance, sequence: tuple[tuple[str, ParamValue], ...], overlaps: tuple[Overlap, ...], macs: int
) -> Kernel | None:
    """The kernel; None where a row has no room on the stack. `sequence`: the first fields of its struct."""
    inputs, recurrent = folded_by_cells(op, INPUT_GATE, 0, BIASES), folded_by_cells(op, RECURRENT, OUTPUT_STATE, None)
    if not (fits(inputs[0]) and fits(recurrent[0])):
        return None
    operands = packed_operands(_operand("weights", *inputs), _operand("recurrent", *recurrent), sigmoid_table())
    fields = Params("tflmgen_lstm_integer", (*sequence, *multiplier_fields(op)))
    return Kernel("tflmgen_lstm_thumb_s8", "lstm_thumb.h", operands, fields, overlaps, macs, "thumb")


def _operand(name: str, weights: Integers, biases: Integers) -> ConstantArray:
    return sums_operand(name, weights, biases.tolist())
