"""The user's iteration limits of loops: --max-iterations N for all, LOOP=N for one.

LOOP is SUBGRAPH:OPERATOR, the indices of the WHILE in the file, or the name of its body's subgraph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.ir.graph import Module, While, walk

MAX_LIMIT = 2**32 - 1
"""Largest limit: generated code counts iterations in 32 bits."""


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """Largest number of iterations per entry of a loop.

    default  for loops without a limit of their own; None: unlimited
    by_loop  name of a loop -> its limit
    """

    default: int | None = None
    by_loop: Mapping[str, int] = field(default_factory=dict)


def parse_limits(texts: Iterable[str]) -> LoopLimits:
    """Parses --max-iterations options. Raises UsageError for a text that is neither N nor LOOP=N."""
    default, by_loop = None, {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        if not (number.isascii() and number.isdigit()) or int(number) > MAX_LIMIT or (equals and not name):
            raise UsageError(
                f"--max-iterations {text}: requires N, or LOOP=N for one loop, with N from 0 to {MAX_LIMIT}"
            )
        if equals:
            by_loop[name] = int(number)
        else:
            default = int(number)
    return LoopLimits(default, by_loop)


def check_names(limits: LoopLimits, module: Module) -> None:
    """Raises ModelError for names that no loop of the imported `module` has."""
    names = [name for loop in _loops(module) for name in _names(loop)]
    advice = f"Its loops are {', '.join(dict.fromkeys(names))}" if names else "It has no loops"
    problems = [
        Problem(Location(module.path), f"--max-iterations names a loop '{name}' that the model does not have", advice)
        for name in limits.by_loop
        if name not in names
    ]
    if problems:
        raise ModelError(problems)


def limits_by_loop(limits: LoopLimits, module: Module) -> dict[int, int]:
    """While.id -> largest number of iterations, for the loops that need a run-time check.

    Raises ModelError for loops whose known number of iterations exceeds their limit.
    """
    limits_by_id, problems = {}, []
    for loop in _loops(module):
        own_limits = [limits.by_loop[name] for name in _names(loop) if name in limits.by_loop]
        limit = min(own_limits) if own_limits else limits.default
        if limit is None:
            continue
        if loop.trips is None:
            limits_by_id[loop.id] = limit
        elif loop.trips > limit:
            rule = f"runs {loop.trips} iterations, --max-iterations allows {limit}"
            problems.append(Problem(loop.origin.location(module.path), rule))
    if problems:
        raise ModelError(problems)
    return limits_by_id


def _loops(module: Module) -> Iterator[While]:
    for function in module.functions:
        for node in walk(function.body):
            if isinstance(node, While):
                yield node


def _names(loop: While) -> tuple[str, ...]:
    return (f"{loop.origin.subgraph}:{loop.origin.operator}", *filter(None, [loop.body.name]))
