"""Whether one instruction is what the operator table makes of an operator."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from tflmgen.ir.graph import Op
from tflmgen.ir.kernel import (
    ConstantArray,
    Input,
    Kernel,
    KernelChoice,
    Operand,
    Output,
    Pieces,
    Scratch,
    Selected,
    View,
)
from tflmgen.ir.program import Argument, Assembly, Fixed, InputArgument, KernelCall, OutputArgument, Rename, Slot, Work
from tflmgen.ir.streams import Called, RowStream
from tflmgen.proof.held_constants import FlashContents
from tflmgen.proof.row_calls import runs_stream


def computes(instruction: KernelCall | Rename | Assembly, op: Op, selected: Selected, flash: FlashContents) -> bool:
    """Whether `instruction` runs `op` as selected: by a kernel among those to choose from, perhaps backward.

    Places in RAM don't matter here.
    """
    if isinstance(selected, View):
        return isinstance(instruction, Rename) and (
            instruction.value.value == op.outputs[0] and instruction.source.value == op.inputs[selected.input]
        )
    if isinstance(selected, Pieces):
        return isinstance(instruction, Assembly) and (
            instruction.parts == selected.parts
            and tuple(None if a is None else a.value for a in instruction.inputs) == op.inputs
            and tuple(a.value for a in instruction.outputs) == op.outputs
        )
    if not isinstance(instruction, KernelCall):
        return False
    if isinstance(selected, RowStream):
        return _has_operands(instruction, op, selected, flash) and (runs_stream(instruction.rows, op, selected, flash))
    return instruction.rows is None and any(
        _is_call_of(instruction, kernel) and _has_operands(instruction, op, kernel, flash)
        for kernel in _kernels(selected)
    )


def _kernels(choice: KernelChoice) -> Iterator[Kernel]:
    for costed in (choice.chosen, *choice.alternatives):
        yield costed.kernel
        if costed.kernel.backward is not None:
            yield costed.kernel.backward


def _is_call_of(call: KernelCall, kernel: Kernel) -> bool:
    called = (call.function, call.header, call.params, call.counts)
    return called == (kernel.function, kernel.header, kernel.params, kernel.counts)


def _has_operands(call: KernelCall, op: Op, called: Called, flash: FlashContents) -> bool:
    """Whether the arguments are those wanted; the call may claim fewer overlaps."""
    return (
        call.error == called.error
        and set(call.overlaps) <= set(called.overlaps)
        and len(call.arguments) == len(called.operands)
        and all(map(partial(_is_operand, op, flash), call.arguments, called.operands))
    )


def _is_operand(op: Op, flash: FlashContents, argument: Argument, operand: Operand) -> bool:
    if isinstance(operand, Input) and op.inputs[operand.index] is not None:
        return isinstance(argument, InputArgument) and (
            (argument.index, argument.access.value) == (operand.index, op.inputs[operand.index])
        )
    if isinstance(operand, Output):
        return isinstance(argument, OutputArgument) and (
            (argument.index, argument.access.value) == (operand.index, op.outputs[operand.index])
        )
    if not isinstance(argument, Work):
        return False
    if isinstance(operand, ConstantArray):
        return flash.has_array(argument.contents, operand)
    if isinstance(operand, Scratch) and operand.bytes:
        return isinstance(argument.place, Fixed | Slot) and argument.bytes == operand.bytes
    return argument.place is None
