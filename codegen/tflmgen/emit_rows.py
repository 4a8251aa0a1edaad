"""A stream as a C function: a table that says which call comes next, and a switch with each different call once."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tflmgen.c_text import array_lines, comment
from tflmgen.kernel import ConstantArray, Line, Running
from tflmgen.program import Place, RowArgument, RowCallAt, RowProgram
from tflmgen.types import DType

PARAMETERS = "const void *input, void *scratch, void *output"
_TAB = "    "

Pointer = Callable[[Place], str]
"""C for a place in memory."""
Caller = Callable[[RowCallAt, list[str]], str]
"""C for the call of a kernel with these pointers."""


def stream_lines(rows: RowProgram, pointer: Pointer, caller: Caller) -> Iterator[str]:
    """The body of the function, whose parameters are PARAMETERS."""
    dtype = DType.UINT8 if len(rows.calls) <= 256 else DType.UINT16
    order = ConstantArray.of("order", np.array(rows.order), dtype)
    yield f"{_TAB}static const {dtype.c_type} order[{len(rows.order)}] = {{"
    yield from (f"{_TAB * 2}{line}" for line in array_lines(order))
    yield f"{_TAB}}};"
    yield f"{_TAB}uint8_t *const lines = scratch;"
    for number in sorted(
        {p.pointer for call in rows.calls for p in (*call.reads, call.write) if isinstance(p, Running)}
    ):
        kind, role = ("const uint8_t", "input") if number else ("uint8_t", "output")
        yield f"{_TAB}{kind} *{_running(number)} = {role};"
    yield f"{_TAB}for (size_t i = 0; i < {len(rows.order)}u; ++i) {{"
    yield f"{_TAB * 2}switch (order[i]) {{"
    for number, call in enumerate(rows.calls):
        origin = rows.stages[call.stage].op.origin
        yield f"{_TAB * 2}case {number}: /* {comment(f'operator {origin.operator}: {origin.operator_name}')} */"
        yield from (f"{_TAB * 3}{line}" for line in _case(call, pointer, caller))
    yield f"{_TAB * 2}default:"
    yield f"{_TAB * 3}break;"
    yield f"{_TAB * 2}}}"
    yield f"{_TAB}}}"


def _case(call: RowCallAt, pointer: Pointer, caller: Caller) -> Iterator[str]:
    for move in call.moves:
        function = "memmove" if abs(move.destination - move.source) < move.bytes else "memcpy"
        yield f"{function}(lines + {move.destination}, lines + {move.source}, {move.bytes});"
    yield caller(call, [_argument(argument, pointer) for argument in call.arguments])
    for place in dict.fromkeys((*call.reads, call.write)):
        if isinstance(place, Running) and place.advance:
            yield f"{_running(place.pointer)} += {place.advance};"
    yield "break;"


def _argument(argument: RowArgument, pointer: Pointer) -> str:
    if isinstance(argument, Line):
        return f"(void *)(lines + {argument.offset})"
    if isinstance(argument, Running):
        return f"({'const ' if argument.pointer else ''}void *){_running(argument.pointer)}"
    return "NULL" if argument.place is None else pointer(argument.place)


def _running(pointer: int) -> str:
    return f"in_{pointer}" if pointer else "out"
