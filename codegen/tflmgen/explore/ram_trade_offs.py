"""Trades cycles for RAM: which operators run as streams, for least memory or for a budget."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile

from tflmgen.errors import Location, ModelError, Problem, UsageError
from tflmgen.explore.search import Candidate, best_candidate, ladder
from tflmgen.explore.streams.choose import Streams
from tflmgen.explore.streams.stream_calls import row_streams
from tflmgen.ir import Module
from tflmgen.kernels import TUNING, Selection, Selector, without_overlap
from tflmgen.options import Optimize
from tflmgen.schedule import Step, walk_items


@dataclass(frozen=True, slots=True)
class Way:
    """A module with some of its operators as streams, and what these cost: estimated cycles."""

    module: Module
    cost: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to run a module: its streams, what they and slower kernels cost (estimated cycles), and the plan."""

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
        raise UsageError(f"--ram-budget {text}: requires a number of bytes such as 20000, 32K or 1M")
    return int(found[1]) << {"": 0, "k": 10, "m": 20}[found[2].lower()]


def choose(modules: Sequence[Module], selector: Selector, optimize: Optimize, budget: int | None) -> Choice:
    """The fastest plan that keeps to a budget of arena and state; without one what `optimize` asks for.

    `modules` compute the same, the fastest of them first. Raises ModelError where no plan keeps to the budget.
    """
    if budget is not None:
        return _within(budget, modules, selector)
    if optimize is Optimize.SPEED:
        return next(_rungs(Way(modules[0], 0), selector))
    plain = _plain(modules[0], selector)
    return _smallest(plain, selector) if optimize is Optimize.RAM else plain


def apart(module: Module, selector: Selector) -> Choice:
    """The fastest way with every output apart from the inputs."""
    selection = without_overlap(_selection(module, selector))
    return Choice(module, 0, best_candidate(module, selection))


def curve(modules: Sequence[Module], selector: Selector) -> list[Choice]:
    """The Pareto front of RAM and cycles, from the fastest plan to the smallest; `modules` as for choose."""
    choices = chain.from_iterable(_rungs(way, selector) for way in _ways(modules, selector))
    found = sorted(choices, key=lambda choice: (choice.cost, choice.bytes))
    kept: list[Choice] = []
    for choice in found:
        if not kept or choice.bytes < kept[-1].bytes:
            kept.append(choice)
    return kept


def _plain(module: Module, selector: Selector) -> Choice:
    """Without streams, and with slower kernels only where these save much memory."""
    best = best_candidate(module, _selection(module, selector))
    return Choice(module, best.slower, best)


def _rungs(way: Way, selector: Selector) -> Iterator[Choice]:
    """A way's plans, with the fastest kernels first, then with slower ones."""
    for rung in ladder(way.module, _selection(way.module, selector)):
        yield Choice(way.module, way.cost + rung.slower, rung)


def _selection(module: Module, selector: Selector) -> Selection:
    return selector.select(module, row_streams(module, selector.target))


def _ways(modules: Sequence[Module], selector: Selector, most: int | None = None) -> Iterator[Way]:
    """Every module without streams and with them, the cheapest first; those with streams have estimates up to `most`.

    A module costs what it takes more than the first one, each with the fastest kernels.
    """
    selections = [_selection(module, selector) for module in modules]
    totals = [selection.cycles for selection in selections]
    pairs = zip(modules, selections, totals, strict=True)
    ways = [_ways_of(module, fastest, max(0, total - totals[0]), selector, most) for module, fastest, total in pairs]
    return heapq.merge(*ways, key=lambda way: way.cost)


def _ways_of(module: Module, fastest: Selection, base: int, selector: Selector, most: int | None) -> Iterator[Way]:
    """The ways of one module, which has the kernels `fastest`, the cheapest first; `base` is its own cost."""
    yield Way(module, base)
    streams = Streams(module, best_candidate(module, fastest).selection, selector.target, fastest)
    seen = {0}
    for limit in reversed([limit for limit in streams.limits if most is None or limit <= most]):
        streamed, cost = streams.streamed(limit)
        if cost not in seen:
            seen.add(cost)
            yield Way(streamed, base + cost)


def _smallest(plain: Choice, selector: Selector) -> Choice:
    """The way of least RAM that slows the model down by no more than is allowed."""
    streams = Streams(plain.module, plain.best.selection, selector.target)
    allowed = plain.best.selection.cycles * TUNING.slowdown

    def is_allowed(way: Way | Choice) -> bool:
        return way.cost <= allowed or not allowed

    ways = filter(is_allowed, (Way(*streams.streamed(limit)) for limit in streams.limits))
    tried = [plain]
    for way in (Way(plain.module, 0), *islice(ways, TUNING.streams_tried)):
        tried += takewhile(is_allowed, _rungs(way, selector))
    return min(tried, key=lambda choice: (*choice.best.cost, choice.cost))


def _within(budget: int, modules: Sequence[Module], selector: Selector) -> Choice:
    """The cheapest way that keeps to a budget."""
    tried: list[Choice] = []
    found = None
    for way in _ways(modules, selector, budget):
        for choice in _rungs(way, selector):
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
    tried += [_smallest(_plain(module, selector), selector) for module in modules]
    least = min(tried, key=lambda choice: choice.bytes)
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
