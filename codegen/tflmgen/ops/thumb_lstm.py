"""LSTM over a sequence in int8 for every Cortex-M: the packed weights, and when there is a kernel."""

from __future__ import annotations

from tflmgen.kernel import ConstantArray, Input, Kernel, Operand, OperatorInstance, Output, Overlap, Params, ParamValue
from tflmgen.ops.dsp_channels import Integers
from tflmgen.ops.lstm_integer import folded_by_cells, multiplier_fields
from tflmgen.ops.lstm_tensors import BIASES, CELL_STATE, INPUT_GATE, OUTPUT_STATE, RECURRENT
from tflmgen.ops.quantized_unary import sigmoid_table
from tflmgen.ops.thumb_sums import fits, sums_operand
from tflmgen.types import DType


def lstm_thumb(
    op: OperatorInstance, sequence: tuple[tuple[str, ParamValue], ...], overlaps: tuple[Overlap, ...], macs: int
) -> Kernel | None:
    """The kernel; None where a row has no room on the stack. `sequence`: the first fields of its struct."""
    inputs, recurrent = folded_by_cells(op, INPUT_GATE, 0, BIASES), folded_by_cells(op, RECURRENT, OUTPUT_STATE, None)
    if not (fits(inputs[0]) and fits(recurrent[0])):
        return None
    operands: tuple[Operand, ...] = (
        Input(0),
        _operand("weights", *inputs),
        _operand("recurrent", *recurrent),
        ConstantArray.of("sigmoid", sigmoid_table(), DType.UINT16),
        Input(OUTPUT_STATE),
        Input(CELL_STATE),
        Output(0),
        Output(1),
        Output(2),
    )
    fields = Params("tflmgen_lstm_integer", (*sequence, *multiplier_fields(op)))
    return Kernel("tflmgen_lstm_thumb_s8", "lstm_thumb.h", operands, fields, overlaps, macs, "thumb")


def _operand(name: str, weights: Integers, biases: Integers) -> ConstantArray:
    return sums_operand(name, weights, biases.tolist())
