"""A stream of rows as a C function: a table with the order of calls, and a switch with each distinct call once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tflmgen.backend.c_text import array_lines, comment
from tflmgen.backend.remarks import Remarks, remark_lines
from tflmgen.ir import DType
from tflmgen.ir.graph import Origin
from tflmgen.ir.kernel import ConstantArray
from tflmgen.ir.program import Place, RowArgument, RowCallAt, RowProgram
from tflmgen.ir.streams import LineBuffer, MovingPointer

PARAMETERS = "const void *input, void *scratch, void *output"
_TAB = "    "

Pointer = Callable[[Place, Origin, str], str]
"""(place, operator, header of its kernel) -> C expression of the address."""
Caller = Callable[[RowCallAt, list[str]], list[str]]
"""(call, pointer arguments) -> C lines of the call, with the declaration of its const struct if that is new."""


@dataclass(frozen=True, slots=True)
class Resume:
    """C for what a stream keeps whose input is pushed by rows: next table entry, bytes of output written."""

    next: str
    written: str


Marked = tuple[str, int | None]
"""A line of C, and the stage of the stream whose code begins there, or None."""


def stream_lines(
    rows: RowProgram, pointer: Pointer, caller: Caller, resume: Resume | None, remarks: Remarks
) -> Iterator[Marked]:
    """C lines of the body of a function with PARAMETERS.

    With `resume` it returns false where it waits for the next row, true after the last.
    """
    yield from ((line, None) for line in _head(rows, resume))
    timed_stages: set[int] = set()
    for number, call in enumerate(rows.calls):
        origin = rows.stages[call.stage].origin
        title = comment(f"operator {origin.operator}: {origin.operator_name}")
        yield f"{_TAB * 2}case {number}: {{ /* {title} */", None
        if call.stage not in timed_stages:
            timed_stages.add(call.stage)
            yield from ((f"{_TAB * 3}{line}", None) for line in remark_lines(remarks.get(origin, ())))
        taken = resume and not call.function
        lines = (
            _suspend_lines(call, rows.input_row_bytes, resume)
            if taken and resume
            else _case(call, origin, pointer, caller)
        )
        for at, line in enumerate(lines):
            yield f"{_TAB * 3}{line}", None if at else call.stage
        yield f"{_TAB * 2}}}", None
    yield from ((line, None) for line in _tail(resume))


def _head(rows: RowProgram, resume: Resume | None) -> Iterator[str]:
    dtype = DType.UINT8 if len(rows.calls) <= 256 else DType.UINT16
    order = ConstantArray.of("order", np.array(rows.order), dtype)
    yield f"{_TAB}/* clang-format off */"
    yield f"{_TAB}static const {dtype.c_type} order[{len(rows.order)}] = {{"
    yield from (f"{_TAB * 2}{line}" for line in array_lines(order))
    yield f"{_TAB}}};"
    yield f"{_TAB}/* clang-format on */"
    used = any(
        isinstance(place, LineBuffer) for call in rows.calls for place in (*call.arguments, *call.reads, call.write)
    )
    yield f"{_TAB}uint8_t *const lines = scratch;" if used else f"{_TAB}(void)scratch;"
    for number in sorted(
        {p.pointer for call in rows.calls for p in (*call.reads, call.write) if isinstance(p, MovingPointer)}
    ):
        kind, role = ("const uint8_t", "input") if number else ("uint8_t", "output")
        begin = f"(uint8_t *)output + {resume.written}" if resume and not number else role
        yield f"{_TAB}{kind} *{_running(number)} = {begin};"
    if resume:
        yield f"{_TAB}bool taken = false;"
    yield f"{_TAB}for (size_t i = {resume.next if resume else 0}; i < {len(rows.order)}u; ++i) {{"
    yield f"{_TAB * 2}switch (order[i]) {{"


def _tail(resume: Resume | None) -> Iterator[str]:
    yield f"{_TAB * 2}default:"
    yield f"{_TAB * 3}break;"
    yield f"{_TAB * 2}}}"
    yield f"{_TAB}}}"
    if resume:
        yield f"{_TAB}{resume.next} = 0;"
        yield f"{_TAB}{resume.written} = 0;"
        yield f"{_TAB}return true;"


def _suspend_lines(call: RowCallAt, row_bytes: int, resume: Resume) -> Iterator[str]:
    yield "if (taken) {"
    yield f"{_TAB}{resume.next} = (uint32_t)i;"
    yield f"{_TAB}{resume.written} = (uint32_t)(out - (uint8_t *)output);"
    yield f"{_TAB}return false;"
    yield "}"
    yield "taken = true;"
    yield from _moves(call)
    yield f"memcpy({_pointer(call.write)}, {_pointer(call.reads[0])}, {row_bytes});"
    yield from _advances(call)
    yield "break;"


def _case(call: RowCallAt, origin: Origin, pointer: Pointer, caller: Caller) -> Iterator[str]:
    yield from _moves(call)
    pointers = [_argument(argument, lambda p: pointer(p, origin, call.header)) for argument in call.arguments]
    yield from caller(call, pointers)
    yield from _advances(call)
    yield "break;"


def _moves(call: RowCallAt) -> Iterator[str]:
    for move in call.moves:
        function = "memmove" if abs(move.destination - move.source) < move.bytes else "memcpy"
        yield f"{function}(lines + {move.destination}, lines + {move.source}, {move.bytes});"


def _advances(call: RowCallAt) -> Iterator[str]:
    for place in dict.fromkeys((*call.reads, call.write)):
        if isinstance(place, MovingPointer) and place.advance:
            yield f"{_running(place.pointer)} += {place.advance};"


def _argument(argument: RowArgument, pointer: Callable[[Place], str]) -> str:
    if isinstance(argument, LineBuffer | MovingPointer):
        return _pointer(argument)
    return "NULL" if argument.place is None else pointer(argument.place)


def _pointer(place: LineBuffer | MovingPointer) -> str:
    if isinstance(place, LineBuffer):
        return f"(void *)(lines + {place.offset})"
    return f"({'const ' if place.pointer else ''}void *){_running(place.pointer)}"


def _running(pointer: int) -> str:
    return f"in_{pointer}" if pointer else "out"
