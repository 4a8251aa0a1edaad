"""How many iterations the user allows each loop: --max-iterations N for all, LOOP=N for one of them.

A loop is named as the file names it: SUBGRAPH:OPERATOR, the indices of its WHILE, or its body's subgraph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.ir import Module, While, walk

MOST = 2**32 - 1
"""Generated code counts iterations in 32 bits."""


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Most iterations per entry of a loop: `everywhere` (None: any number), except in the loops that are `named`."""

    everywhere: int | None = None
    named: Mapping[str, int] = field(default_factory=dict)


def parse_limits(texts: Iterable[str]) -> LoopLimits:
    """The limits of a command line. Raises UsageError for a text that is neither N nor LOOP=N, N from 0 to MOST."""
    everywhere, named = None, {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not (number.isascii() and number.isdigit()) or int(number) > MOST or (equals and not name):
            raise UsageError(f"--max-iterations {text}: wants N, or LOOP=N for one loop; N from 0 to {MOST}")
        if equals:
            named[name] = int(number)
        else:
            everywhere = int(number)
    return LoopLimits(everywhere, named)


def check_names(limits: LoopLimits, module: Module) -> None:
    """Raises ModelError for names of loops that `module`, as it was imported, has none of."""
    known = [name for loop in _loops(module) for name in _names(loop)]
    choice = f"Its loops are {', '.join(dict.fromkeys(known))}" if known else "It has no loops"
    problems = [
        Problem(Location(module.path), f"--max-iterations names a loop '{name}' that the model does not have", choice)
        for name in limits.named
        if name not in known
    ]
    if problems:
        raise ModelError(problems)


def limits_by_loop(limits: LoopLimits, module: Module) -> dict[int, int]:
    """While.id -> most iterations, for the loops that need a check.

    Raises ModelError for loops whose number of iterations is known, and is more than they may run.
    """
    found, problems = {}, []
    for loop in _loops(module):
        named = [limits.named[name] for name in _names(loop) if name in limits.named]
        limit = min(named) if named else limits.everywhere
        if limit is None:
            continue
        if loop.trips is None:
            found[loop.id] = limit
        elif loop.trips > limit:
            origin = loop.origin
            where = Location(module.path, origin.subgraph, origin.subgraph_name, origin.operator, origin.operator_name)
            problems.append(Problem(where, f"runs {loop.trips} iterations, --max-iterations allows {limit}"))
    if problems:
        raise ModelError(problems)
    return found


def _loops(module: Module) -> Iterator[While]:
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, While):
                yield node


def _names(loop: While) -> tuple[str, ...]:
    return (f"{loop.origin.subgraph}:{loop.origin.operator}", *filter(None, [loop.body.name]))
