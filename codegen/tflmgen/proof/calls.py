"""Whether one instruction is what the operator table makes of an operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tflmgen.ir import (
    Argument,
    Assembly,
    ConstantArray,
    Flash,
    Input,
    InputArgument,
    Kernel,
    KernelCall,
    Op,
    Operand,
    Output,
    OutputArgument,
    Pieces,
    Rename,
    Scratch,
    View,
    Work,
)

Constants = Mapping[str, ConstantArray]


def computes(
    instruction: KernelCall | Rename | Assembly, op: Op, kernel: Kernel | View | Pieces, arrays: Constants
) -> bool:
    """Whether `instruction` runs `op` by `kernel`, by one of its alternatives, or by one of them backward.

    arrays: the Program's constants. Places don't matter here.
    """
    if isinstance(kernel, View):
        return isinstance(instruction, Rename) and (
            instruction.value.value == op.outputs[0] and instruction.source.value == op.inputs[kernel.input]
        )
    if isinstance(kernel, Pieces):
        return isinstance(instruction, Assembly) and (
            instruction.parts == kernel.parts
            and tuple(None if a is None else a.value for a in instruction.inputs) == op.inputs
            and tuple(a.value for a in instruction.outputs) == op.outputs
        )
    return isinstance(instruction, KernelCall) and any(
        _is_call_of(instruction, op, variant, arrays) for variant in _variants(kernel)
    )


def _variants(kernel: Kernel) -> Iterator[Kernel]:
    for forward in (kernel, *kernel.alternatives):
        yield forward
        if forward.backward is not None:
            yield forward.backward


def _is_call_of(call: KernelCall, op: Op, kernel: Kernel, arrays: Constants) -> bool:
    return (
        (call.function, call.header, call.params, call.error)
        == (kernel.function, kernel.header, kernel.params, kernel.error)
        and set(call.overlaps) <= set(kernel.overlaps)
        and len(call.arguments) == len(kernel.operands)
        and all(
            _is_operand(argument, op, operand, arrays)
            for argument, operand in zip(call.arguments, kernel.operands, strict=True)
        )
    )


def _is_operand(argument: Argument, op: Op, operand: Operand, arrays: Constants) -> bool:
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
        place = argument.place
        return isinstance(place, Flash) and place.offset == 0 and _is_array(arrays[place.name], operand)
    if isinstance(operand, Scratch) and operand.bytes:
        return argument.place is not None and not isinstance(argument.place, Flash) and argument.bytes == operand.bytes
    return argument.place is None


def _is_array(array: ConstantArray, wanted: ConstantArray) -> bool:
    return (array.dtype.c_type, array.data) == (wanted.dtype.c_type, wanted.data)
