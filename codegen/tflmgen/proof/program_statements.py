"""The Program as statements: what the C text has to do, independent of how it is written."""

from __future__ import annotations

from collections.abc import Sequence

from tflmgen.ir.kernel import Params
from tflmgen.ir.program import (
    Assembly,
    Branch,
    ByteCopy,
    Fixed,
    Flash,
    Instruction,
    Invoke,
    KernelCall,
    Loop,
    Place,
    Prefetch,
    PrefetchWait,
    Program,
    ProgramFunction,
    Rename,
    RowCallAt,
    RowProgram,
    Slot,
    Transfer,
    Work,
    walk_instructions,
)
from tflmgen.ir.streams import LineBuffer, LineMove, MovingPointer
from tflmgen.proof.statements import (
    NULL,
    Advance,
    CallOf,
    CopyBytes,
    Fetch,
    FetchWait,
    FunctionForm,
    IfElse,
    Iterate,
    Pointer,
    Rotate,
    RunFunction,
    Statement,
    StreamForm,
    Struct,
    joined,
)


def failing_functions(program: Program) -> frozenset[str]:
    """The functions that may end with an error: by a kernel, a loop's limit, or a function that they run."""
    failing: set[str] = set()
    for function in program.functions:
        for instruction in walk_instructions(function.body):
            if (
                (isinstance(instruction, KernelCall) and instruction.error)
                or (isinstance(instruction, Loop) and instruction.limit is not None)
                or (isinstance(instruction, Invoke) and instruction.function in failing)
            ):
                failing.add(function.name)
    return frozenset(failing)


def function_form(function: ProgramFunction, failing: frozenset[str]) -> FunctionForm:
    """Statements of a function of the Program. failing: failing_functions."""
    results = tuple((i, pointer(a.place)) for i, a in enumerate(function.results) if isinstance(a.place, Slot))
    slots = tuple(pointer(home.place) for home in function.slots)
    return FunctionForm(slots, _body(function.body, failing), results, function.name in failing)


def streams_of(function: ProgramFunction) -> list[KernelCall]:
    """The calls of streams, in order."""
    return [
        instruction
        for instruction in walk_instructions(function.body)
        if isinstance(instruction, KernelCall) and instruction.rows is not None
    ]


def stream_form(rows: RowProgram, resumes: bool) -> StreamForm:
    """Statements of a stream's function. resumes: its input comes by rows."""
    cases = tuple(_row_call(call, rows.input_row_bytes, resumes) for call in rows.calls)
    return StreamForm(tuple(rows.order), cases, resumes)


def pointer(place: Place | None) -> Pointer:
    """The address of a place; NULL for an operand that is absent."""
    if place is None:
        return NULL
    if isinstance(place, Fixed):
        return Pointer(place.memory, place.offset)
    if isinstance(place, Slot):
        return Pointer(f"slot {place.index}", place.offset)
    return Pointer(f"flash {place.name}", place.offset)


def _struct(params: Params | None) -> Struct | None:
    return None if params is None else Struct(params.struct, dict(params.fields))


def _body(body: Sequence[Instruction], failing: frozenset[str]) -> tuple[Statement, ...]:
    return joined([statement for instruction in body for statement in _statements(instruction, failing)])


def _statements(instruction: Instruction, failing: frozenset[str]) -> list[Statement]:
    if isinstance(instruction, Rename):
        return []
    if isinstance(instruction, KernelCall):
        return [_call(instruction)]
    if isinstance(instruction, Prefetch):
        return [Fetch(pointer(instruction.destination), pointer(instruction.source), instruction.bytes)]
    if isinstance(instruction, PrefetchWait):
        return [FetchWait()]
    if isinstance(instruction, Assembly):
        return [_copy(copy) for copy in instruction.copies]
    if isinstance(instruction, Transfer):
        return [
            *map(_copy, instruction.copies),
            *([Rotate(tuple(sorted(instruction.rotation)))] if instruction.rotation else []),
        ]
    if isinstance(instruction, Invoke):
        return [RunFunction(instruction.function, instruction.function in failing)]
    if isinstance(instruction, Branch):
        then, orelse = _body(instruction.then, failing), _body(instruction.orelse, failing)
        return [IfElse(pointer(instruction.condition.place), then, orelse)] if then or orelse else []
    test = None if instruction.test is None else pointer(instruction.test.place)
    return [
        Iterate(
            instruction.trips,
            instruction.limit,
            _body(instruction.condition, failing),
            test,
            _body(instruction.body, failing),
        )
    ]


def _call(call: KernelCall) -> CallOf:
    places = [pointer(a.place if isinstance(a, Work) else a.access.place) for a in call.arguments]
    passed = len(places) - len(call.counts)
    counts = tuple(zip(call.counts, places[passed:], strict=True))
    return CallOf(call.function, tuple(places[:passed]), _struct(call.params), counts, call.error)


def _copy(copy: ByteCopy) -> CopyBytes:
    """A move where source and destination may have bytes in common."""
    destination, source = pointer(copy.destination), pointer(copy.source)
    common = not isinstance(copy.source, Flash) and destination.base == source.base
    near = abs(destination.offset - source.offset) < copy.bytes
    return CopyBytes(destination, source, copy.bytes, common and near)


def _row_call(call: RowCallAt, row_bytes: int, resumes: bool) -> tuple[Statement, ...]:
    moves = [_move(move) for move in call.moves]
    if resumes and not call.function:
        run: Statement = CopyBytes(_row_pointer(call.write), _row_pointer(call.reads[0]), row_bytes)
    else:
        arguments = tuple(pointer(a.place) if isinstance(a, Work) else _row_pointer(a) for a in call.arguments)
        run = CallOf(call.function, arguments, _struct(call.params))
    places = dict.fromkeys((*call.reads, call.write))
    advances = [Advance(_row_pointer(p).base, p.advance) for p in places if isinstance(p, MovingPointer) and p.advance]
    return (*moves, run, *advances)


def _move(move: LineMove) -> CopyBytes:
    near = abs(move.destination - move.source) < move.bytes
    return CopyBytes(Pointer("lines", move.destination), Pointer("lines", move.source), move.bytes, near)


def _row_pointer(place: LineBuffer | MovingPointer) -> Pointer:
    if isinstance(place, LineBuffer):
        return Pointer("lines", place.offset)
    return Pointer(f"input {place.pointer}" if place.pointer else "output")
