"""Trades cycles for RAM: selects row streaming and slower kernels for the least memory or for a budget."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile

from tflmgen.errors import Location, ModelError, Problem
from tflmgen.explore.search import PlanCandidate, best_candidate, first_candidate, plans_by_speed
from tflmgen.explore.streams.chain import row_streams
from tflmgen.explore.streams.choose import Streams
from tflmgen.ir.graph import Module
from tflmgen.kernels import Selection, Selector, without_overlap
from tflmgen.kernels.costs import TUNING
from tflmgen.memory import Step, walk_items
from tflmgen.options import Optimize
from tflmgen.settings import Settings

ARENA_LIMIT = 1 << 30
"""Largest arena in bytes; offsets in it stay far within 32 bits."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A module with some operators fused for row streaming; `cost`: their extra estimated cycles."""

    module: Module
    cost: int


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One trade-off point: a module with its plan, and the estimated cycles that it takes more than the fastest."""

    module: Module
    cost: int
    best: PlanCandidate

    @property
    def bytes(self) -> int:
        """Bytes of arena and state."""
        return self.best.layout.arena.bytes + self.best.layout.state_bytes


def best_plan(modules: tuple[Module, ...], selector: Selector, settings: Settings) -> TradeOff:
    """The best plan for --optimize, --ram-budget and --max-slowdown. Raises ModelError if no plan meets the budget."""
    if settings.options.no_overlap:
        chosen = plan_without_overlap(modules[0], selector)
    else:
        chosen = choose_plan(modules, selector, settings.options.optimize, settings.ram_budget, settings.slowdown)
    _check_arena(chosen)
    return chosen


def _check_arena(chosen: TradeOff) -> None:
    """Raises ModelError for an arena beyond ARENA_LIMIT."""
    arena = chosen.best.layout.arena.bytes
    if arena > ARENA_LIMIT:
        largest = max(chosen.best.storage.buffers, key=lambda b: b.bytes)
        rule = f"needs {arena} bytes of RAM for its activations, '{largest.name}' alone {largest.bytes}"
        advice = "No microcontroller has that; make the input smaller"
        raise ModelError([Problem(Location(chosen.module.path), rule, advice)])


def choose_plan(
    modules: Sequence[Module],
    selector: Selector,
    optimize: Optimize,
    budget: int | None = None,
    slowdown: float | None = None,
) -> TradeOff:
    """The fastest plan whose arena and state fit into `budget` bytes; or the smallest one that takes no more than
    `slowdown` of the fastest plan's cycles beyond them; without either, the plan for `optimize`.

    modules  equivalent modules, the fastest first

    Raises ModelError if no plan meets the budget.
    """
    if budget is not None:
        return _fastest_within(budget, modules, selector)
    if slowdown is not None or optimize is Optimize.RAM:
        return _smallest(modules, selector, TUNING.ram_slowdown if slowdown is None else slowdown)
    if optimize is Optimize.SPEED:
        return next(_plans(Variant(modules[0], 0), selector))
    return _balanced(modules, selector)


def _balanced(modules: Sequence[Module], selector: Selector) -> TradeOff:
    """The plan of the fastest module, or of a slower one that saves more than TUNING.fused_loop_ram of its memory."""
    plans = [best_candidate(module, _selection(module, selector)) for module in modules]
    trade_offs = [TradeOff(module, plan.extra_cycles, plan) for module, plan in zip(modules, plans, strict=True)]
    smallest = min(trade_offs, key=lambda trade_off: trade_off.bytes)
    saves = smallest.bytes < trade_offs[0].bytes * (1 - TUNING.fused_loop_ram)
    return smallest if saves else trade_offs[0]


def plan_without_overlap(module: Module, selector: Selector) -> TradeOff:
    """The fastest plan in which every output is disjoint from its inputs."""
    selection = without_overlap(_selection(module, selector))
    return TradeOff(module, 0, best_candidate(module, selection))


def unsearched_plan(module: Module, selector: Selector) -> TradeOff:
    """The plan in the module's order, every output disjoint from its inputs: found at once, where no memory counts."""
    return TradeOff(module, 0, first_candidate(module, without_overlap(_selection(module, selector))))


def pareto_front(modules: Sequence[Module], selector: Selector) -> list[TradeOff]:
    """The Pareto front of RAM and cycles, from the fastest plan to the smallest; `modules` as for choose."""
    trade_offs = chain.from_iterable(_plans(variant, selector) for variant in _variants(modules, selector))
    by_cost = sorted(trade_offs, key=lambda trade_off: (trade_off.cost, trade_off.bytes))
    front: list[TradeOff] = []
    for trade_off in by_cost:
        if not front or trade_off.bytes < front[-1].bytes:
            front.append(trade_off)
    return front


def _plans(variant: Variant, selector: Selector) -> Iterator[TradeOff]:
    """Plans of a variant: with the fastest kernels first, then with slower ones."""
    for plan in plans_by_speed(variant.module, _selection(variant.module, selector)):
        yield TradeOff(variant.module, variant.cost + plan.extra_cycles, plan)


def _selection(module: Module, selector: Selector) -> Selection:
    return selector.select(module, row_streams(module, selector.target))


def _variants(modules: Sequence[Module], selector: Selector, max_peak: int | None = None) -> Iterator[Variant]:
    """Variants of every module without and with row streaming, by cost.

    The cost of a module is its extra cycles over the first one, each with the fastest kernels. Variants with row
    streaming whose estimated peak exceeds `max_peak` bytes are omitted.
    """
    selections = [_selection(module, selector) for module in modules]
    totals = [selection.cycles for selection in selections]
    pairs = zip(modules, selections, totals, strict=True)
    variants = [
        _variants_of(module, fastest, max(0, total - totals[0]), selector, max_peak) for module, fastest, total in pairs
    ]
    return heapq.merge(*variants, key=lambda variant: variant.cost)


def _variants_of(
    module: Module, fastest: Selection, base: int, selector: Selector, max_peak: int | None
) -> Iterator[Variant]:
    """Variants of one module by cost; `fastest`: its kernels; `base`: its own cost."""
    yield Variant(module, base)
    streams = Streams(module, best_candidate(module, fastest).selection, selector.target, fastest)
    costs = {0}
    for limit in reversed([limit for limit in streams.limits if max_peak is None or limit <= max_peak]):
        streamed, cost = streams.streamed(limit)
        if cost not in costs:
            costs.add(cost)
            yield Variant(streamed, base + cost)


def _smallest(modules: Sequence[Module], selector: Selector, slowdown: float) -> TradeOff:
    """The plan of least RAM whose estimated cycles exceed those of the fastest one by at most `slowdown` of them."""
    selections = [_selection(module, selector) for module in modules]
    total = selections[0].cycles

    def is_allowed(variant: Variant | TradeOff) -> bool:
        return variant.cost <= total * slowdown

    tried: list[TradeOff] = []
    for module, fastest in zip(modules, selections, strict=True):
        base = max(0, fastest.cycles - total)
        whole = list(takewhile(is_allowed, _plans(Variant(module, base), selector)))
        if whole:
            smallest = min(whole, key=lambda trade_off: trade_off.bytes)
            streams = Streams(module, smallest.best.selection, selector.target, fastest)
            streamed = (Variant(graph, base + cost) for graph, cost in map(streams.streamed, streams.limits))
            for variant in islice(filter(is_allowed, streamed), 1):
                tried += takewhile(is_allowed, _plans(variant, selector))
        tried += whole
    return min(tried, key=lambda trade_off: (*trade_off.best.cost, trade_off.cost))


def _fastest_within(budget: int, modules: Sequence[Module], selector: Selector) -> TradeOff:
    """The fastest plan within the budget. Raises ModelError if there is none."""
    tried: list[TradeOff] = []
    fastest = None
    for variant in _variants(modules, selector, budget):
        for trade_off in _plans(variant, selector):
            if fastest is not None and trade_off.cost >= fastest.cost:
                break
            tried.append(trade_off)
            if trade_off.bytes <= budget:
                fastest = trade_off
                break
        # All further variants cost at least as much as this one.
        if fastest is not None and fastest.cost <= variant.cost:
            break
    if fastest is not None:
        return fastest
    tried += [_smallest([module], selector, TUNING.ram_slowdown) for module in modules]
    smallest = min(tried, key=lambda trade_off: trade_off.bytes)
    if smallest.bytes <= budget:
        return smallest
    raise ModelError([_too_small(budget, smallest)])


def _too_small(budget: int, smallest: TradeOff) -> Problem:
    peak = smallest.best.layout.arena.peak_step
    location = Location(smallest.module.path)
    rule = f"needs at least {smallest.bytes} bytes of RAM for its activations and state, the budget is {budget}"
    hint = "Raise the budget, or make the input or the channels there fewer"
    for function in smallest.best.schedule.functions:
        for item, _ in walk_items(function.body):
            if isinstance(item, Step) and item.index == peak:
                location = item.op.origin.location(location.model)
    return Problem(location, rule, hint)
