"""Corrupts Programs as a wrong planner would: places that are off, exchanged or shared, copies that are missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tflmgen.ir.program.instructions import (
    Access,
    Assembly,
    Branch,
    ByteCopy,
    Fixed,
    Flash,
    InputArgument,
    Instruction,
    KernelCall,
    Loop,
    OutputArgument,
    Place,
    Program,
    Rename,
    Slot,
    Transfer,
    Work,
)

from support.random_program import Chooser, pick

PlaceHook = Callable[[Place, Any], Place]
TransferHook = Callable[[Transfer], Transfer]
AssemblyHook = Callable[[Assembly], Assembly]


class Rewriter:
    """Rebuilds a program: `place` maps each place (with its Value, or None), `transfer` and `assembly` the like."""

    def __init__(
        self,
        place: PlaceHook = lambda p, _: p,
        transfer: TransferHook = lambda t: t,
        assembly: AssemblyHook = lambda a: a,
    ) -> None:
        self._place = place
        self._transfer = transfer
        self._assembly = assembly

    def program(self, program: Program) -> Program:
        functions = tuple(
            replace(
                f,
                slots=tuple(replace(home, place=self._fixed(home.place)) for home in f.slots),
                inputs=tuple(map(self._access, f.inputs)),
                results=tuple(map(self._access, f.results)),
                body=self.body(f.body),
            )
            for f in program.functions
        )
        return replace(program, functions=functions)

    def body(self, body: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
        return tuple(map(self._instruction, body))

    def _access(self, access: Access) -> Access:
        return replace(access, place=self._place(access.place, access.value))

    def _fixed(self, place: Fixed) -> Fixed:
        moved = self._place(place, None)
        assert isinstance(moved, Fixed)
        return moved

    def _instruction(self, instruction: Instruction) -> Instruction:
        if isinstance(instruction, KernelCall):
            return replace(instruction, arguments=tuple(map(self._argument, instruction.arguments)))
        if isinstance(instruction, Rename):
            return replace(instruction, value=self._access(instruction.value), source=self._access(instruction.source))
        if isinstance(instruction, Transfer):
            copies = tuple(map(self._copy, instruction.copies))
            return self._transfer(
                replace(instruction, copies=copies, values=tuple(map(self._access, instruction.values)))
            )
        if isinstance(instruction, Assembly):
            inputs = tuple(None if access is None else self._access(access) for access in instruction.inputs)
            copies, outputs = tuple(map(self._copy, instruction.copies)), tuple(map(self._access, instruction.outputs))
            return self._assembly(replace(instruction, inputs=inputs, copies=copies, outputs=outputs))
        if isinstance(instruction, Branch):
            return replace(
                instruction,
                condition=self._access(instruction.condition),
                then=self.body(instruction.then),
                orelse=self.body(instruction.orelse),
            )
        if isinstance(instruction, Loop):
            return replace(
                instruction,
                condition=self.body(instruction.condition),
                test=None if instruction.test is None else self._access(instruction.test),
                body=self.body(instruction.body),
            )
        return instruction

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, InputArgument | OutputArgument):
            return replace(argument, access=self._access(argument.access))
        if isinstance(argument, Work) and argument.place is not None:
            return replace(argument, place=self._place(argument.place, None))
        return argument

    def _copy(self, copy: ByteCopy) -> ByteCopy:
        destination = self._place(copy.destination, None)
        assert isinstance(destination, Fixed | Slot)
        return replace(copy, destination=destination, source=self._place(copy.source, None))


def mutate(program: Program, choose: Chooser) -> Program:
    """`program` with one fault; it may happen to be a harmless one."""
    return MUTATIONS[choose.integer(0, len(MUTATIONS) - 1)](program, choose)


def _sites(program: Program) -> list[tuple[Place, Any]]:
    sites: list[tuple[Place, Any]] = []

    def visit(place: Place, value: Any) -> Place:
        sites.append((place, value))
        return place

    Rewriter(visit).program(program)
    return sites


def _offsets(program: Program) -> list[int]:
    return sorted({place.offset for place, _ in _sites(program) if isinstance(place, Fixed)} | {0})


def _shift_site(program: Program, choose: Chooser) -> Program:
    """One operand of one instruction looks a few bytes away."""
    fixed = [i for i, (place, _) in enumerate(_sites(program)) if isinstance(place, Fixed)]
    if not fixed:
        return program
    wanted, by = pick(choose, fixed), pick(choose, [-16, -8, -4, -2, -1, 1, 2, 4, 8, 16])
    count = iter(range(1 << 30))

    def hook(place: Place, _: Any) -> Place:
        return replace(place, offset=place.offset + by) if next(count) == wanted and isinstance(place, Fixed) else place

    return Rewriter(hook).program(program)


def _exchanged(place: Place, table: dict[int, int]) -> Place:
    return replace(place, offset=table.get(place.offset, place.offset)) if isinstance(place, Fixed) else place


def _mapped(program: Program, table: dict[int, int]) -> Program:
    return Rewriter(lambda place, _: _exchanged(place, table)).program(program)


def _move_home(program: Program, choose: Chooser) -> Program:
    """Everything at one offset moves to a place which may be another's."""
    offsets = _offsets(program)
    return _mapped(program, {pick(choose, offsets): max(0, pick(choose, offsets) + 4 * choose.integer(-1, 1))})


def _swap_homes(program: Program, choose: Chooser) -> Program:
    offset, other = pick(choose, _offsets(program)), pick(choose, _offsets(program))
    return _mapped(program, {offset: other, other: offset})


def _swap_in_body(program: Program, choose: Chooser) -> Program:
    """Two homes are exchanged inside one branch, loop or function only."""
    offsets = _offsets(program)
    offset, other = pick(choose, offsets), pick(choose, offsets)
    table = {offset: other, other: offset}

    inner = Rewriter(lambda place, _: _exchanged(place, table))
    wanted = choose.integer(0, 7)

    class Chosen(Rewriter):
        count = 0

        def body(self, body: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
            self.count += 1
            return inner.body(body) if self.count == wanted + 1 else super().body(body)

    return Chosen().program(program)


def _move_value(program: Program, choose: Chooser) -> Program:
    """All accesses of one value go to another place, as if the placer had forgotten what it conflicts with."""
    values = [value for place, value in _sites(program) if value is not None and isinstance(place, Fixed)]
    if not values:
        return program
    wanted, offset = pick(choose, values), pick(choose, _offsets(program))

    def hook(place: Place, value: Any) -> Place:
        return Fixed(offset) if isinstance(place, Fixed) and value == wanted else place

    return Rewriter(hook).program(program)


def _changed_transfer(
    program: Program,
    choose: Chooser,
    change: Callable[[Transfer], Transfer],
    wanted_part: Callable[[Transfer], Any] = lambda t: t.copies,
) -> Program:
    steps: list[int] = []

    def note(transfer: Transfer) -> Transfer:
        if wanted_part(transfer):
            steps.append(transfer.step)
        return transfer

    Rewriter(transfer=note).program(program)
    if not steps:
        return program
    wanted = pick(choose, steps)
    return Rewriter(transfer=lambda t: change(t) if t.step == wanted else t).program(program)


def _drop_copies(program: Program, choose: Chooser) -> Program:
    def drop(transfer: Transfer) -> Transfer:
        if choose.integer(0, 3) == 0:
            return replace(transfer, copies=())
        dropped = choose.integer(0, len(transfer.copies) - 1)
        return replace(transfer, copies=transfer.copies[:dropped] + transfer.copies[dropped + 1 :])

    return _changed_transfer(program, choose, drop)


def _reorder_copies(program: Program, choose: Chooser) -> Program:
    return _changed_transfer(program, choose, lambda t: replace(t, copies=t.copies[::-1]))


def _drop_piece(program: Program, choose: Chooser) -> Program:
    """One piece of an assembled output is not copied."""
    steps: list[int] = []

    def note(assembly: Assembly) -> Assembly:
        if assembly.copies:
            steps.append(assembly.step)
        return assembly

    Rewriter(assembly=note).program(program)
    if not steps:
        return program
    wanted = pick(choose, steps)
    first = choose.integer(0, 1) == 0

    def drop(assembly: Assembly) -> Assembly:
        copies = assembly.copies[1:] if first else assembly.copies[:-1]
        return replace(assembly, copies=copies) if assembly.step == wanted else assembly

    return Rewriter(assembly=drop).program(program)


def _drop_rotation(program: Program, choose: Chooser) -> Program:
    return _changed_transfer(program, choose, lambda t: replace(t, rotation=()), lambda t: t.rotation)


def _turn_rotation(program: Program, choose: Chooser) -> Program:
    """Pointers change places the other way round: no change where two swap, one where three rotate."""

    def turn(transfer: Transfer) -> Transfer:
        return replace(transfer, rotation=tuple((source, slot) for slot, source in transfer.rotation))

    return _changed_transfer(program, choose, turn, lambda t: t.rotation)


def _swap_slots(program: Program, choose: Chooser) -> Program:
    """One operand of one instruction goes through another pointer."""
    slots = [(i, place) for i, (place, _) in enumerate(_sites(program)) if isinstance(place, Slot)]
    if not slots:
        return program
    wanted, place = pick(choose, slots)
    other = Slot(max(0, place.index + pick(choose, [-1, 1])))
    count = iter(range(1 << 30))
    return Rewriter(lambda p, _: other if next(count) == wanted else p).program(program)


def _unwiden(program: Program, choose: Chooser) -> Program:
    """A slot's home is declared smaller than what it holds."""
    functions = [f for f in program.functions if f.slots]
    if not functions:
        return program
    chosen = pick(choose, functions)
    slots = tuple(replace(home, bytes=home.bytes - 4) for home in chosen.slots)
    return replace(program, functions=tuple(replace(f, slots=slots) if f is chosen else f for f in program.functions))


def _shrink(program: Program, choose: Chooser) -> Program:
    return replace(program, arena_bytes=program.arena_bytes - 4 * choose.integer(1, 2))


def _shift_flash(program: Program, choose: Chooser) -> Program:
    """One instruction reads a constant beside where it begins."""
    flash = [i for i, (place, _) in enumerate(_sites(program)) if isinstance(place, Flash)]
    if not flash:
        return program
    wanted, by = pick(choose, flash), pick(choose, [-400, -4, -1, 1, 2, 4, 400])
    count = iter(range(1 << 30))

    def hook(place: Place, _: Any) -> Place:
        return replace(place, offset=place.offset + by) if next(count) == wanted and isinstance(place, Flash) else place

    return Rewriter(hook).program(program)


def _resize_copy(program: Program, choose: Chooser) -> Program:
    """One copy of a boundary has more bytes, or fewer."""

    def resize(transfer: Transfer) -> Transfer:
        chosen, by = pick(choose, list(transfer.copies)), pick(choose, [-4, -1, 1, 4, 400])
        resized = replace(chosen, bytes=max(0, chosen.bytes + by))
        return replace(transfer, copies=tuple(resized if copy is chosen else copy for copy in transfer.copies))

    return _changed_transfer(program, choose, resize)


def _swap_constant(program: Program, choose: Chooser) -> Program:
    """One instruction reads another constant of the same size."""
    flash = [(i, p) for i, (p, _) in enumerate(_sites(program)) if isinstance(p, Flash)]
    if not flash:
        return program
    wanted, place = pick(choose, flash)
    size = len(program.constants[place.name].data)
    others = [n for n, array in program.constants.items() if len(array.data) == size]
    name = pick(choose, others)
    count = iter(range(1 << 30))
    return Rewriter(lambda p, _: Flash(name) if next(count) == wanted else p).program(program)


MUTATIONS: tuple[Callable[[Program, Chooser], Program], ...] = (
    _shift_site,
    _move_home,
    _swap_homes,
    _swap_in_body,
    _move_value,
    _drop_copies,
    _reorder_copies,
    _drop_piece,
    _drop_rotation,
    _turn_rotation,
    _swap_slots,
    _unwiden,
    _shrink,
    _swap_constant,
    _shift_flash,
    _resize_copy,
)
