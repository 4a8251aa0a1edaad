"""Const structs with the params of kernel calls, each declared at its first call.

Calls with equal params share one struct. If another such call is outside the C block of the first (in the other branch
of an If, or in another function), the struct is declared before the function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count

from tflmgen.backend.c_text import literal
from tflmgen.ir.kernel import Params, ParamValue
from tflmgen.ir.program import Branch, Instruction, KernelCall, Loop, Program, walk_instructions
from tflmgen.kernels.numeric import MAX_RANK

_Scope = tuple[int, ...]
"""A block of C: the numbers of the blocks around it, outermost first, and its own."""


class ConstStructs:
    """The const structs of one program, named and declared as its calls are written, in the program's order."""

    def __init__(self, program: Program) -> None:
        self._in_blocks = _declared_in_blocks(program)
        self._names: dict[Params, str] = {}
        self._counts: Counter[str] = Counter()
        self._before: list[str] = []

    def name(self, params: Params) -> tuple[str, list[str]]:
        """The name of the struct, and the lines that declare it before this call (none if it is declared elsewhere)."""
        if params in self._names:
            return self._names[params], []
        base = params.struct.removeprefix("tflmgen_")
        self._names[params] = f"{base}_{self._counts[base]}"
        self._counts[base] += 1
        fields = [f"    .{field} = {literal(value)}," for field, value in _shortened(params)]
        lines = [f"static const struct {params.struct} {self._names[params]} = {{", *fields, "};"]
        if params in self._in_blocks:
            return self._names[params], lines
        self._before += [*lines, ""]
        return self._names[params], []

    def take_before(self) -> tuple[str, ...]:
        """Declarations to write before the current function; the list of pending declarations becomes empty."""
        lines, self._before = tuple(self._before), []
        return lines


def _declared_in_blocks(program: Program) -> frozenset[Params]:
    """The structs whose first call is in a block that holds all their calls."""
    scopes: dict[Params, list[_Scope]] = {}
    for params, scope in _calls(program):
        scopes.setdefault(params, []).append(scope)
    return frozenset(params for params, uses in scopes.items() if all(use[: len(uses[0])] == uses[0] for use in uses))


def _calls(program: Program) -> Iterator[tuple[Params, _Scope]]:
    """Params and C block of each call, in the order of the C text: a function's streams come before it."""
    fresh = count()
    for function in program.functions:
        for instruction in walk_instructions(function.body):
            for call in (
                instruction.rows.calls if isinstance(instruction, KernelCall) and instruction.rows is not None else ()
            ):
                if call.params is not None:
                    yield call.params, (next(fresh),)
        yield from _calls_in(function.body, (next(fresh),), fresh)


def _calls_in(body: Iterable[Instruction], scope: _Scope, fresh: Iterator[int]) -> Iterator[tuple[Params, _Scope]]:
    for instruction in body:
        if isinstance(instruction, KernelCall) and instruction.params is not None:
            yield instruction.params, scope
        elif isinstance(instruction, Branch):
            yield from _calls_in(instruction.then, (*scope, next(fresh)), fresh)
            yield from _calls_in(instruction.orelse, (*scope, next(fresh)), fresh)
        elif isinstance(instruction, Loop):
            yield from _calls_in((*instruction.condition, *instruction.body), (*scope, next(fresh)), fresh)


def _shortened(params: Params) -> Iterator[tuple[str, ParamValue]]:
    """The fields of a struct; arrays with one element per loop of a nest are cut to the loops in use."""
    rank = dict(params.fields).get("rank")
    for field, value in params.fields:
        if isinstance(rank, int) and isinstance(value, tuple) and len(value) == MAX_RANK and not any(value[rank:]):
            value = value[: max(1, rank)]
        yield field, value
