"""Nested statements: the form in which functions of the Program and of the C text are compared.

Both are brought to this form by code of their own (program_statements.py, c_statements.py), and compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tflmgen.ir.kernel import ParamValue


@dataclass(frozen=True, slots=True)
class Pointer:
    """`offset` bytes behind what `base` names: arena, state, slot N, a constant's array (flash NAME); "" is NULL.

    In a stream also lines (its scratch), input N and output.
    """

    base: str
    offset: int = 0


NULL = Pointer("")


@dataclass(frozen=True, slots=True)
class Struct:
    """A const struct: its tag and the numbers of its fields; those that it lacks are 0."""

    tag: str
    fields: Mapping[str, ParamValue]


@dataclass(frozen=True, slots=True)
class CallOf:
    """function(arguments, &struct); counts: fields that are read from memory before. error: what false returns."""

    function: str
    arguments: tuple[Pointer, ...]
    struct: Struct | None = None
    counts: tuple[tuple[str, Pointer], ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class CopyBytes:
    """`bytes` bytes from source to destination, which may overlap where it is a `move`."""

    destination: Pointer
    source: Pointer
    bytes: int
    move: bool = False


@dataclass(frozen=True, slots=True)
class Fetch:
    """Begins to copy `bytes` bytes from source to destination."""

    destination: Pointer
    source: Pointer
    bytes: int


@dataclass(frozen=True, slots=True)
class FetchWait:
    """Waits until all that began to be copied has arrived."""


@dataclass(frozen=True, slots=True)
class Fill:
    """`bytes` bytes at destination, all set to `byte`."""

    destination: Pointer
    byte: int
    bytes: int


@dataclass(frozen=True, slots=True)
class IfElse:
    """Runs `then` where the bool at `condition` is true, else `orelse`."""

    condition: Pointer
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Iterate:
    """Iterations of `before`, a test, and `after`; trips: how many; limit: how many end in an error."""

    trips: int | None
    limit: int | None
    before: tuple[Statement, ...]
    test: Pointer | None
    after: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class RunFunction:
    """Runs a function of the library; checked: returns its status unless that is TFLMGEN_OK."""

    function: str
    checked: bool


@dataclass(frozen=True, slots=True)
class Rotate:
    """Slots take each other's pointers: (slot, slot whose former pointer it takes), in ascending order."""

    slots: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """A pointer of a stream moves on."""

    base: str
    bytes: int


Statement = CallOf | CopyBytes | Fetch | FetchWait | Fill | IfElse | Iterate | RunFunction | Rotate | Advance


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """A function: what its slots point at first, what it does, and the results whose slots it keeps at last.

    results: (number, pointer). fails: it returns a status.
    """

    slots: tuple[Pointer, ...]
    body: tuple[Statement, ...]
    results: tuple[tuple[int, Pointer], ...]
    fails: bool


@dataclass(frozen=True, slots=True)
class StreamForm:
    """A stream: the order of its calls, and each of them; resumes: it takes one row of the input at a time."""

    order: tuple[int, ...]
    cases: tuple[tuple[Statement, ...], ...]
    resumes: bool


def joined(statements: list[Statement]) -> tuple[Statement, ...]:
    """The statements, where rotations one after the other are one."""
    result: list[Statement] = []
    for statement in statements:
        last = result[-1] if result else None
        if isinstance(statement, Rotate) and isinstance(last, Rotate):
            first, second = dict(last.slots), dict(statement.slots)
            both = {slot: first.get(second.get(slot, slot), second.get(slot, slot)) for slot in {*first, *second}}
            result[-1] = Rotate(tuple(sorted((a, b) for a, b in both.items() if a != b)))
        else:
            result.append(statement)
    return tuple(statement for statement in result if not isinstance(statement, Rotate) or statement.slots)
