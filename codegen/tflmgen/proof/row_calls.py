"""Whether what runs inside a stream is what computes its chain of operators by rows.

That each row is there when it is read is proved elsewhere (check_rows.py).
"""

from __future__ import annotations

from dataclasses import replace

from tflmgen.ir.graph import Op, Value
from tflmgen.ir.kernel import ConstantArray, Input, Operand, Output, Scratch
from tflmgen.ir.program import RowArgument, RowCallAt, RowProgram, Work
from tflmgen.ir.streams import LineBuffer, MovingPointer, RowCall, RowStage, RowStream
from tflmgen.proof.held_constants import FlashContents

INPUT = -1
"""The stream's input as a source of rows."""


def runs_stream(rows: RowProgram | None, op: Op, stream: RowStream, flash: FlashContents) -> bool:
    """Whether the stages are wired as the values of their operators say, and every call is its stage's."""
    if rows is None or len(rows.calls) != len(stream.calls) or not _is_wired(op, stream):
        return False
    stages = tuple((s.op.origin, s.op.outputs, s.sources, s.needs, s.rows, s.row_bytes) for s in stream.stages)
    return (
        tuple((s.origin, s.outputs, s.sources, s.needs, s.rows, s.row_bytes) for s in rows.stages) == stages
        and (rows.order, rows.input_row_bytes) == (stream.order, stream.input_row_bytes)
        and all(
            _is_call_of(written, call, stream.stages[call.stage], flash)
            for written, call in zip(rows.calls, stream.calls, strict=True)
        )
    )


def _is_wired(op: Op, stream: RowStream) -> bool:
    """Each stage reads what it reads in the graph: the stream's input, or what an earlier stage makes."""

    def source(tensor: int) -> Value | None:
        return op.inputs[0] if tensor == INPUT else stream.stages[tensor].op.outputs[0]

    return stream.stages[-1].op.outputs[0] == op.outputs[0] and all(
        stage.op.inputs[index] == source(tensor)
        for stage in stream.stages
        for index, tensor in zip(stage.data, stage.sources, strict=True)
    )


def _is_call_of(written: RowCallAt, call: RowCall, stage: RowStage, flash: FlashContents) -> bool:
    kernel = call.kernel
    return (
        (written.stage, written.function, written.header, written.params)
        == (call.stage, kernel.function, kernel.header, kernel.params)
        and (written.moves, written.reads, written.write) == (call.moves, call.reads, call.write)
        and {replace(overlap, input=stage.data[overlap.input]) for overlap in written.overlaps} <= set(kernel.overlaps)
        and written.scratch == _scratch(call)
        and all(
            _is_operand(argument, operand, line, call, stage, flash)
            for argument, operand, line in zip(written.arguments, kernel.operands, call.scratch, strict=True)
        )
    )


def _scratch(call: RowCall) -> tuple[tuple[LineBuffer, int], ...]:
    """Place and bytes of a call's scratch."""
    return tuple(
        (line, operand.bytes)
        for operand, line in zip(call.kernel.operands, call.scratch, strict=True)
        if isinstance(operand, Scratch) and line is not None
    )


def _is_operand(
    argument: RowArgument,
    operand: Operand,
    line: LineBuffer | None,
    call: RowCall,
    stage: RowStage,
    flash: FlashContents,
) -> bool:
    if isinstance(operand, Input) and operand.index in stage.data:
        return argument == call.reads[stage.data.index(operand.index)]
    if isinstance(operand, Output):
        return argument == call.write
    if line is not None:
        return argument == line
    if isinstance(argument, LineBuffer | MovingPointer):
        return False
    if isinstance(operand, Input):
        value = stage.op.inputs[operand.index]
        return argument == Work(None) if value is None else flash.has_value(argument.place, value)
    if isinstance(operand, ConstantArray):
        return flash.has_array(argument.place, operand)
    return argument == Work(None)
