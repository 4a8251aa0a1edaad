"""Corrupts Programs as a wrong lowering would: every place is right, and what is computed is something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeVar

from tflmgen.ir import DType
from tflmgen.ir.kernel import ConstantArray, Params
from tflmgen.ir.program import (
    Assembly,
    Branch,
    InputArgument,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    Program,
    Transfer,
    Work,
    walk_instructions,
)

from support.random_program import Chooser, pick

_T = TypeVar("_T", bound=Instruction)
Body = tuple[Instruction, ...]


def _bodies(body: Body, change: Callable[[Body], Body]) -> Body:
    """`body` with every body in it changed, outer ones first, so that `change` sees the instructions themselves."""
    changed: list[Instruction] = []
    for instruction in change(body):
        if isinstance(instruction, Branch):
            instruction = replace(
                instruction, then=_bodies(instruction.then, change), orelse=_bodies(instruction.orelse, change)
            )
        elif isinstance(instruction, Loop):
            instruction = replace(
                instruction, condition=_bodies(instruction.condition, change), body=_bodies(instruction.body, change)
            )
        changed.append(instruction)
    return tuple(changed)


def _with_bodies(program: Program, change: Callable[[Body], Body]) -> Program:
    functions = tuple(replace(f, body=_bodies(f.body, change)) for f in program.functions)
    return replace(program, functions=functions)


def _all(program: Program, kind: type[_T]) -> list[_T]:
    instructions = (instruction for f in program.functions for instruction in walk_instructions(f.body))
    return [instruction for instruction in instructions if isinstance(instruction, kind)]


def _replaced(program: Program, old: Instruction, *new: Instruction) -> Program:
    def change(body: Body) -> Body:
        return tuple(other for instruction in body for other in (new if instruction is old else (instruction,)))

    return _with_bodies(program, change)


def _changed(
    program: Program,
    choose: Chooser,
    kind: type[_T],
    change: Callable[[_T], _T],
    wanted: Callable[[_T], Any] = bool,
) -> Program:
    """One instruction of a kind, among those that are `wanted`, is another one."""
    sites = [instruction for instruction in _all(program, kind) if wanted(instruction)]
    if not sites:
        return program
    old = pick(choose, sites)
    return _replaced(program, old, change(old))


def exchange_branches(program: Program, choose: Chooser) -> Program:
    return _changed(program, choose, Branch, lambda b: replace(b, then=b.orelse, orelse=b.then))


def change_parameter(program: Program, choose: Chooser) -> Program:
    """One number of a kernel's struct is off by one."""

    def change(call: KernelCall) -> KernelCall:
        assert call.params is not None
        fields = list(call.params.fields)
        number = choose.integer(0, len(fields) - 1)
        name, value = fields[number]
        fields[number] = name, (not value if isinstance(value, bool) else _increased(value))
        return replace(call, params=Params(call.params.struct, tuple(fields)))

    return _changed(program, choose, KernelCall, change, lambda c: c.params is not None and c.params.fields)


def _increased(value: Any) -> Any:
    return (*value[:-1], value[-1] + 1) if isinstance(value, tuple) else value + 1


def run_once_more(program: Program, choose: Chooser) -> Program:
    """A loop that counts runs one iteration more."""

    def change(loop: Loop) -> Loop:
        assert loop.trips is not None
        return replace(loop, trips=loop.trips + 1)

    return _changed(program, choose, Loop, change, lambda loop: loop.trips is not None)


def limit_iterations(program: Program, choose: Chooser) -> Program:
    return _changed(program, choose, Loop, lambda loop: replace(loop, limit=(loop.limit or 0) + 1))


def exchange_results(program: Program, choose: Chooser) -> Program:
    """Two results of a function change places."""
    functions = [f for f in program.functions if len(set(f.results)) > 1]
    if not functions:
        return program
    chosen = pick(choose, functions)
    results = (*chosen.results[1:], chosen.results[0])
    return replace(
        program, functions=tuple(replace(f, results=results) if f is chosen else f for f in program.functions)
    )


def exchange_operands(program: Program, choose: Chooser) -> Program:
    """Two operands of a kernel change places."""

    def change(call: KernelCall) -> KernelCall:
        first, second, *_ = (a for a in call.arguments if isinstance(a, InputArgument))
        swapped: Mapping[Any, Any] = {
            first: replace(first, access=second.access),
            second: replace(second, access=first.access),
        }
        return replace(call, arguments=tuple(swapped.get(a, a) for a in call.arguments))

    def has_two(call: KernelCall) -> bool:
        return len({a.access for a in call.arguments if isinstance(a, InputArgument)}) > 1

    return _changed(program, choose, KernelCall, change, has_two)


def empty_entry(program: Program, choose: Chooser) -> Program:
    """An entry function does nothing and returns what it was given, or nothing."""
    entries = [f for f in program.functions if f.is_entry and any(not isinstance(i, Transfer) for i in f.body)]
    if not entries:
        return program
    chosen = pick(choose, entries)
    left = (chosen.body[0], chosen.body[-1]) if choose.integer(0, 1) else ()
    empty = replace(chosen, body=left, results=())
    return replace(program, functions=tuple(empty if f is chosen else f for f in program.functions))


def drop_instruction(program: Program, choose: Chooser) -> Program:
    sites = [instruction for f in program.functions for instruction in walk_instructions(f.body)]
    return _replaced(program, pick(choose, sites)) if sites else program


def repeat_instruction(program: Program, choose: Chooser) -> Program:
    sites = _all(program, KernelCall)
    if not sites:
        return program
    old = pick(choose, sites)
    return _replaced(program, old, old, old)


def swap_instructions(program: Program, choose: Chooser) -> Program:
    """Two neighbours change places."""
    pairs = [(a, b) for body in _every_body(program) for a, b in pairwise(body)]
    if not pairs:
        return program
    first, second = pick(choose, pairs)

    def change(body: Body) -> Body:
        at = next((i for i, instruction in enumerate(body) if instruction is first), len(body))
        if at + 1 < len(body) and body[at + 1] is second:
            return (*body[:at], second, first, *body[at + 2 :])
        return body

    return _with_bodies(program, change)


def _every_body(program: Program) -> Iterator[Body]:
    for function in program.functions:
        yield function.body
        for instruction in walk_instructions(function.body):
            if isinstance(instruction, Branch):
                yield from (instruction.then, instruction.orelse)
            elif isinstance(instruction, Loop):
                yield from (instruction.condition, instruction.body)


def ask_another_condition(program: Program, choose: Chooser) -> Program:
    """A branch or loop asks another bool that is there."""
    bools = [branch.condition for branch in _all(program, Branch)]
    bools += [loop.test for loop in _all(program, Loop) if loop.test is not None]
    for call in _all(program, KernelCall):
        accesses = (a.access for a in call.arguments if not isinstance(a, Work))
        bools += [a for a in accesses if a.value.type.dtype is DType.BOOL and a.bytes == 1]
    if len(set(bools)) < 2:
        return program
    wanted = pick(choose, bools)
    if choose.integer(0, 1):
        return _changed(
            program, choose, Branch, lambda b: replace(b, condition=wanted), lambda b: b.condition != wanted
        )
    return _changed(
        program, choose, Loop, lambda loop: replace(loop, test=wanted), lambda loop: loop.test not in (None, wanted)
    )


def call_another_kernel(program: Program, choose: Chooser) -> Program:
    calls = _all(program, KernelCall)
    if not calls:
        return program
    other = pick(choose, calls)
    return _changed(
        program,
        choose,
        KernelCall,
        lambda call: replace(call, function=other.function),
        lambda call: call.function != other.function,
    )


def call_another_function(program: Program, choose: Chooser) -> Program:
    name = pick(choose, program.functions).name
    return _changed(program, choose, Invoke, lambda i: replace(i, function=name), lambda i: i.function != name)


def change_array(program: Program, choose: Chooser) -> Program:
    """One bit of a constant that was packed for a kernel is another one."""
    works = (a.place for call in _all(program, KernelCall) for a in call.arguments if isinstance(a, Work))
    names = sorted({place.name for place in works if place is not None and hasattr(place, "name")})
    return replace(program, constants=_one_bit(program.constants, names, choose))


def change_image(program: Program, choose: Chooser) -> Program:
    """A variable begins with other contents."""
    return replace(program, images=_one_bit(program.images, sorted(program.images), choose))


def _one_bit(arrays: Mapping[str, ConstantArray], names: Sequence[str], choose: Chooser) -> Mapping[str, ConstantArray]:
    filled = [name for name in names if arrays[name].data]
    if not filled:
        return arrays
    name = pick(choose, filled)
    data = bytearray(arrays[name].data)
    data[choose.integer(0, len(data) - 1)] ^= 1 << choose.integer(0, 7)
    return {**arrays, name: replace(arrays[name], data=bytes(data))}


def exchange_names(program: Program, choose: Chooser) -> Program:
    """Rotates the sources of the values that a boundary assigns, so that they take each other's."""

    def change(transfer: Transfer) -> Transfer:
        return replace(transfer, sources=(*transfer.sources[1:], transfer.sources[0]))

    return _changed(program, choose, Transfer, change, lambda t: len(set(t.sources)) > 1)


def exchange_pieces(program: Program, choose: Chooser) -> Program:
    """Two parts of an assembled output are taken from where the other one is."""

    def change(assembly: Assembly) -> Assembly:
        first, second, *others = assembly.parts
        swapped = (
            replace(first, input=second.input, input_offset=second.input_offset),
            replace(second, input=first.input, input_offset=first.input_offset),
        )
        return replace(assembly, parts=(*swapped, *others))

    return _changed(program, choose, Assembly, change, lambda a: len(a.parts) > 1)


def exchange_ports(program: Program, choose: Chooser) -> Program:
    """Two outputs of a signature have each other's names."""
    signatures = [s for s in program.signatures if len(s.outputs) > 1]
    if not signatures:
        return program
    chosen = pick(choose, signatures)
    swapped = replace(chosen, outputs=(*chosen.outputs[1:], chosen.outputs[0]))
    return replace(program, signatures=tuple(swapped if s is chosen else s for s in program.signatures))


Mutation = Callable[[Program, Chooser], Program]

CONTROL: tuple[Mutation, ...] = (
    exchange_branches,
    exchange_results,
    exchange_operands,
    empty_entry,
    drop_instruction,
    repeat_instruction,
    swap_instructions,
    ask_another_condition,
    call_another_function,
    exchange_names,
    exchange_pieces,
)
"""Some of these compute the same, where what is exchanged is equal."""

NUMBERS: tuple[Mutation, ...] = (
    change_parameter,
    run_once_more,
    limit_iterations,
    call_another_kernel,
    change_array,
    change_image,
    exchange_ports,
)
"""None of these may pass."""
