"""Trades instructions for RAM: which operators run as streams, for least memory or for a budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.graph import Module
from tflmgen.kernel import Target
from tflmgen.options import Optimize
from tflmgen.schedule import Step, walk_items
from tflmgen.search import Candidate, best_candidate
from tflmgen.select import select, without_overlap
from tflmgen.streams.choose import Streams
from tflmgen.streams.kernel import stream_kernels
from tflmgen.streams.segments import instructions

TRIES = 3
"""Ways that are tried for the least RAM: the estimate behind a limit knows no packing."""

SLOWDOWN = 0.25
"""By what part of its instructions Optimize.RAM may slow a model down, as far as they can be estimated."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to run a module: with its streams, what they cost (calls for single rows), and the plan."""

    module: Module
    cost: int
    best: Candidate

    @property
    def bytes(self) -> int:
        """Arena and state."""
        return self.best.layout.arena.bytes + self.best.layout.state_bytes


def parse_budget(text: str | None) -> int | None:
    """The bytes of 20000, 32K or 1M (K is 1,024). Raises UsageError for anything else."""
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,9})([KkMm]?)", text)
    if found is None or int(found[1]) == 0:
        raise UsageError(f"--ram-budget {text}: wants a number of bytes such as 20000, 32K or 1M")
    return int(found[1]) << {"": 0, "k": 10, "m": 20}[found[2].lower()]


def choose(module: Module, target: Target, optimize: Optimize, budget: int | None) -> Choice:
    """The cheapest way that keeps to a budget of arena and state; without one the fastest, or for Optimize.RAM the
    smallest. Raises ModelError where no way keeps to the budget.
    """
    plain = _choice(module, 0, target)
    if budget is not None:
        return plain if plain.bytes <= budget else _within(budget, plain, target)
    if optimize is Optimize.RAM:
        return min((plain, *_smallest(plain, target)), key=lambda choice: (*choice.best.cost, choice.cost))
    return plain


def apart(module: Module, target: Target, optimize: Optimize, budget: int | None) -> Choice:
    """The fastest way with every output apart from the inputs. Raises UsageError where little RAM is asked for, too."""
    if budget is not None or optimize is Optimize.RAM:
        raise UsageError("--no-overlap goes with neither --ram-budget nor --optimize ram")
    selection = without_overlap(select(module, target, stream_kernels(module, target)))
    return Choice(module, 0, best_candidate(module, selection))


def curve(module: Module, target: Target) -> list[Choice]:
    """All ways of which none has both less RAM and cheaper streams than another one, from most RAM to least."""
    plain = _choice(module, 0, target)
    found = sorted((plain, *_streamed(plain, target)), key=lambda choice: (choice.cost, choice.bytes))
    kept: list[Choice] = []
    for choice in found:
        if not kept or choice.bytes < kept[-1].bytes:
            kept.append(choice)
    return kept


def _choice(module: Module, cost: int, target: Target) -> Choice:
    selection = select(module, target, stream_kernels(module, target))
    return Choice(module, cost, best_candidate(module, selection))


def _streamed(plain: Choice, target: Target, most: int | None = None) -> Iterator[Choice]:
    """The ways with streams, the cheapest first; only those whose estimate is at most `most`."""
    streams = Streams(plain.module, plain.best.selection, target)
    seen = {0}
    for limit in reversed([limit for limit in streams.limits if most is None or limit <= most]):
        module, cost = streams.streamed(limit)
        if cost not in seen:
            seen.add(cost)
            yield _choice(module, cost, target)


def _smallest(plain: Choice, target: Target) -> Iterator[Choice]:
    streams = Streams(plain.module, plain.best.selection, target)
    allowed = sum(map(instructions, plain.best.selection.kernels.values())) * SLOWDOWN
    ways = (streams.streamed(limit) for limit in streams.limits)
    for module, cost in islice((way for way in ways if way[1] <= allowed or not allowed), TRIES):
        yield _choice(module, cost, target)


def _within(budget: int, plain: Choice, target: Target) -> Choice:
    tried = [plain]
    for choice in _streamed(plain, target, budget):
        if choice.bytes <= budget:
            return choice
        tried.append(choice)
    least = min((*tried, *_smallest(plain, target)), key=lambda choice: choice.bytes)
    raise ModelError([_too_small(budget, least)])


def _too_small(budget: int, least: Choice) -> Problem:
    peak = least.best.layout.arena.peak_step
    where = Location(least.module.path)
    rule = f"needs at least {least.bytes} bytes of RAM for its activations and state, the budget is {budget}"
    hint = "Raise the budget, or make the input or the channels there fewer"
    for function in least.best.schedule.functions:
        for item, _ in walk_items(function.body):
            if isinstance(item, Step) and item.index == peak:
                origin = item.op.origin
                where = Location(
                    where.model, origin.subgraph, origin.subgraph_name, origin.operator, origin.operator_name
                )
    return Problem(where, rule, hint)
