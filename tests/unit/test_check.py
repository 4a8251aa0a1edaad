"""What the checker says of Programs with one fault. Random faults: tests/property/test_checker_mutants.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.mutate import Rewriter
from support.pipeline import Stages, compile_bytes
from support.tiny_graphs import branch_model, straight_model, swap_model
from tflmgen.errors import InternalError
from tflmgen.ir.program.instructions import Fixed, Flash, KernelCall, OutputArgument, Place, Program, Slot, Transfer
from tflmgen.proof.symbolic_memory import check_memory

STRAIGHT, BRANCH = compile_bytes(straight_model()), compile_bytes(branch_model())
SWAP, SMALL_SWAP = compile_bytes(swap_model()), compile_bytes(swap_model(2))

Fault = Callable[[Program], Program]


def places(change: Callable[[Place, Any], Place]) -> Fault:
    return lambda program: Rewriter(change).program(program)


def transfers(change: Callable[[Transfer], Transfer]) -> Fault:
    return lambda program: Rewriter(transfer=change).program(program)


def moved(place: Place, by: int) -> Place:
    return replace(place, offset=place.offset + by) if isinstance(place, Fixed) else place


def outputs_first(program: Program) -> Program:
    """Every kernel writes its output over the first byte of its first input, and claims that it may not."""
    function = program.functions[-1]
    calls = [c for c in function.body if isinstance(c, KernelCall)]
    nodes = tuple(replace(c, overlaps=()) if c in calls else c for c in function.body)
    return replace(program, functions=(*program.functions[:-1], replace(function, body=nodes)))


def without_call(program: Program) -> Program:
    function = program.functions[-1]
    rest = tuple(c for c in function.body if not isinstance(c, KernelCall))
    return replace(program, functions=(*program.functions[:-1], replace(function, body=rest)))


def to_flash(program: Program) -> Program:
    """The first kernel writes to a constant."""
    function = program.functions[-1]
    name = next(iter(program.constants))
    body = list(function.body)
    at = next(i for i, c in enumerate(body) if isinstance(c, KernelCall))
    call = body[at]
    assert isinstance(call, KernelCall)
    arguments = tuple(
        replace(a, access=replace(a.access, place=Flash(name))) if isinstance(a, OutputArgument) else a
        for a in call.arguments
    )
    body[at] = replace(call, arguments=arguments)
    return replace(program, functions=(*program.functions[:-1], replace(function, body=tuple(body))))


def foreign_slot(program: Program) -> Program:
    function = program.functions[-1]
    results = tuple(replace(r, place=Slot(7)) for r in function.results)
    return replace(program, functions=(*program.functions[:-1], replace(function, results=results)))


def narrow_slots(program: Program) -> Program:
    function = program.functions[-1]
    slots = (function.slots[0], replace(function.slots[1], place=function.slots[0].place))
    return replace(program, functions=(*program.functions[:-1], replace(function, slots=slots)))


@pytest.mark.parametrize(
    ("stages", "fault", "text"),
    [
        (STRAIGHT, lambda p: replace(p, arena_bytes=p.arena_bytes - 4), "the plan leaves the arena"),
        (STRAIGHT, places(lambda p, _: moved(p, -4)), "the plan leaves the arena at -4"),
        (STRAIGHT, places(lambda p, v: moved(p, -2) if v and v.name == "sum" else p), "'sum' is not aligned"),
        (STRAIGHT, outputs_first, "overwrites"),
        (STRAIGHT, without_call, "reads 'sum' .* which no longer holds it"),
        (STRAIGHT, to_flash, "is written to flash"),
        (BRANCH, places(lambda p, v: Fixed(0) if v and v.name in "pab" and isinstance(p, Fixed) else p), "same bytes"),
        (SWAP, transfers(lambda t: replace(t, rotation=t.rotation[:1])), "pointers are lost, this is no permutation"),
        (SWAP, transfers(lambda t: replace(t, rotation=())), "boundary 'next' reads '.' at Slot"),
        (SWAP, foreign_slot, "has no slot 7"),
        (SWAP, narrow_slots, "slots that must not change places"),
        (
            SMALL_SWAP,
            transfers(lambda t: replace(t, copies=t.copies[1:]) if t.kind == "next" else t),
            "boundary 'next' reads",
        ),
        (SMALL_SWAP, transfers(lambda t: replace(t, copies=t.copies[::-1])), "boundary 'next' reads"),
    ],
)
def test_fault(stages: Stages, fault: Fault, text: str) -> None:
    check_memory(stages.program, stages.module.constants)
    broken = fault(stages.program)
    assert broken != stages.program
    with pytest.raises(InternalError, match=text):
        check_memory(broken, stages.module.constants)


def test_constants_must_be_the_model_s() -> None:
    name, array = next(iter(STRAIGHT.program.constants.items()))
    other = {**STRAIGHT.program.constants, name: replace(array, data=bytes(len(array.data)))}
    with pytest.raises(InternalError, match="from flash, where it is not"):
        check_memory(replace(STRAIGHT.program, constants=other), STRAIGHT.module.constants)
