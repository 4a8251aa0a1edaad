"""Trades instructions for RAM: which operators run as streams, for least memory or for a budget."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, takewhile

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.graph import Module
from tflmgen.kernel import Target
from tflmgen.options import Optimize
from tflmgen.schedule import Step, walk_items
from tflmgen.search import Candidate, best_candidate, ladder
from tflmgen.select import Selection, select, without_overlap
from tflmgen.streams.choose import Streams
from tflmgen.streams.kernel import stream_kernels
from tflmgen.streams.segments import instructions

TRIES = 3
"""Ways that are tried for the least RAM: the estimate behind a limit knows no packing."""

SLOWDOWN = 0.25
"""By what part of its instructions Optimize.RAM may slow a model down, as far as they can be estimated."""


@dataclass(frozen=True, slots=True)
class Way:
    """A module with some of its operators as streams, and what these cost: instructions, roughly."""

    module: Module
    cost: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to run a module: its streams, what they and slower kernels cost (instructions, roughly), and the plan."""

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
    plain = _plain(module, target)
    if budget is not None:
        return _within(budget, plain, target)
    return _smallest(plain, target) if optimize is Optimize.RAM else plain


def apart(module: Module, target: Target, optimize: Optimize, budget: int | None) -> Choice:
    """The fastest way with every output apart from the inputs. Raises UsageError where little RAM is asked for, too."""
    if budget is not None or optimize is Optimize.RAM:
        raise UsageError("--no-overlap goes with neither --ram-budget nor --optimize ram")
    selection = without_overlap(_selection(module, target))
    return Choice(module, 0, best_candidate(module, selection))


def curve(module: Module, target: Target) -> list[Choice]:
    """All ways of which none has both less RAM and fewer instructions than another one, from most RAM to least."""
    plain = _plain(module, target)
    ways = [_rungs(Way(module, 0), target), *(_rungs(way, target) for way in _streamed(plain, target))]
    found = sorted(chain.from_iterable(ways), key=lambda choice: (choice.cost, choice.bytes))
    kept: list[Choice] = []
    for choice in found:
        if not kept or choice.bytes < kept[-1].bytes:
            kept.append(choice)
    return kept


def _plain(module: Module, target: Target) -> Choice:
    """Without streams, and with slower kernels only where these save much memory."""
    best = best_candidate(module, _selection(module, target))
    return Choice(module, best.slower, best)


def _rungs(way: Way, target: Target) -> Iterator[Choice]:
    """A way's plans, with the fastest kernels first, then with slower ones."""
    for rung in ladder(way.module, _selection(way.module, target)):
        yield Choice(way.module, way.cost + rung.slower, rung)


def _selection(module: Module, target: Target) -> Selection:
    return select(module, target, stream_kernels(module, target))


def _streamed(plain: Choice, target: Target, most: int | None = None) -> Iterator[Way]:
    """The ways with streams, the cheapest first; only those whose estimate is at most `most`."""
    streams = Streams(plain.module, plain.best.selection, target)
    seen = {0}
    for limit in reversed([limit for limit in streams.limits if most is None or limit <= most]):
        way = Way(*streams.streamed(limit))
        if way.cost not in seen:
            seen.add(way.cost)
            yield way


def _smallest(plain: Choice, target: Target) -> Choice:
    """The way of least RAM that slows the model down by no more than is allowed."""
    streams = Streams(plain.module, plain.best.selection, target)
    allowed = sum(map(instructions, plain.best.selection.kernels.values())) * SLOWDOWN

    def is_allowed(way: Way | Choice) -> bool:
        return way.cost <= allowed or not allowed

    ways = filter(is_allowed, (Way(*streams.streamed(limit)) for limit in streams.limits))
    tried = [plain]
    for way in (Way(plain.module, 0), *islice(ways, TRIES)):
        tried += takewhile(is_allowed, _rungs(way, target))
    return min(tried, key=lambda choice: (*choice.best.cost, choice.cost))


def _within(budget: int, plain: Choice, target: Target) -> Choice:
    """The cheapest way that keeps to a budget."""
    tried, found = [plain], None
    for way in chain([Way(plain.module, 0)], _streamed(plain, target, budget)):
        for choice in _rungs(way, target):
            if found is not None and choice.cost >= found.cost:
                break
            tried.append(choice)
            if choice.bytes <= budget:
                found = choice
                break
        # The ways that follow cost no less than this one.
        if found is not None and found.cost <= way.cost:
            break
    if found is not None:
        return found
    least = min((*tried, _smallest(plain, target)), key=lambda choice: choice.bytes)
    if least.bytes <= budget:
        return least
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
