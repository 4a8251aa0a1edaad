"""Tries several orders, kernels and ways to give out memory and keeps the best; each try is pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product

from tflmgen.explore.peak_order import order_for_peak
from tflmgen.explore.update_order import update_last
from tflmgen.ir import KernelChoice, Module, Value
from tflmgen.kernels import TUNING, Selection
from tflmgen.memory import (
    JOINS,
    Layout,
    Storage,
    assign,
    copied_in_loops,
    has_backward,
    has_multiples,
    has_pieces,
    keeps_multiples,
    lay_out,
    peak,
)
from tflmgen.schedule import Liveness, Schedule, Step, analyze, schedule, walk_items


@dataclass(frozen=True, slots=True)
class Candidate:
    """One fixed execution plan with its kernels and its memory.

    order_proved: no order of any block has less than the least peak that was found, as order_peak estimates it.
    slower: estimated cycles more than with the fastest kernels.
    """

    selection: Selection
    schedule: Schedule
    liveness: Liveness
    storage: Storage
    layout: Layout
    order_proved: bool = False
    slower: int = 0

    @property
    def cost(self) -> tuple[int, int]:
        """Bytes copied inside loops as far as they matter, then bytes of RAM."""
        return max(TUNING.free_copied_bytes, copied_in_loops(self.storage)), self.bytes

    @property
    def bytes(self) -> int:
        """Arena and state."""
        return self.layout.arena.bytes + self.layout.state_bytes


def best_candidate(module: Module, selection: Selection) -> Candidate:
    """The best plan of the fastest kernels, and then of slower ones as long as they save memory."""
    rungs = ladder(module, selection)
    best = next(rungs)
    bound, total = _packing_bound(module), selection.cycles
    for rung in rungs:
        within = best.layout.arena.bytes <= bound
        if within and not _is_worth_it(rung, best, total):
            break
        if within and rung.slower > best.slower and 0 < (best.bytes - rung.bytes) * TUNING.slight_share < best.bytes:
            continue
        best = min(best, rung, key=lambda candidate: candidate.cost)
    return best


def ladder(module: Module, selection: Selection) -> Iterator[Candidate]:
    """The best plan of the fastest kernels, then of slower ones, step by step, where the arena is fullest."""
    variables = {v.home for v in module.state.values()}
    by_peak = order_for_peak(module, selection)
    modules = [module]
    for ordered in (by_peak.module, update_last(module)):
        modules += [] if ordered in modules else [ordered]
    orders = []
    for ordered in reversed(modules):
        scheduled = schedule(ordered)
        orders.append((scheduled, analyze(scheduled, variables)))
    kernels: Selection | None = selection
    while kernels is not None:
        best = min(_plans(kernels, orders, variables), key=lambda candidate: candidate.cost)
        yield replace(best, order_proved=by_peak.is_proved, slower=kernels.cycles - selection.cycles)
        kernels = _slower(best)


def _packing_bound(module: Module) -> int:
    """The most bytes of tensors that live at one step in the file's order, without scratch, each in its own place."""
    variables = {v.home for v in module.state.values()}
    scheduled = schedule(module)
    return peak(analyze(scheduled, variables).blocks(variables), scheduled.steps)[0]


def _plans(
    selection: Selection, orders: list[tuple[Schedule, Liveness]], variables: Collection[Value]
) -> Iterator[Candidate]:
    """The file's order or variables updated last; pieces joined where cheap, everywhere, or never; in place or not; by
    distances that may be exceeded by multiples only, if these come out."""
    joins = JOINS if has_pieces(selection) else JOINS[:1]
    aparts = (False, True) if has_backward(selection) else (False,)
    closes = (False, True) if any(has_multiples(kernel) for kernel in selection.computations) else (False,)
    for (scheduled, liveness), join, apart, close in product(orders, joins, aparts, closes):
        storage = assign(scheduled, selection, liveness, variables, join, apart, close)
        layout = lay_out(storage, scheduled.steps)
        items = (item for function in scheduled.functions for item, _ in walk_items(function.body))
        if not close or keeps_multiples(items, selection, storage.home, layout.offsets):
            yield Candidate(selection, scheduled, liveness, storage, layout)


def _slower(candidate: Candidate) -> Selection | None:
    """The next slower kernel for each operator where the arena is fullest; None if there is none."""
    kernels = dict(candidate.selection.kernels)
    fullest = frozenset(candidate.layout.arena.fullest)
    for function in candidate.schedule.functions:
        for item, _ in walk_items(function.body):
            choice = kernels[item.op.id] if isinstance(item, Step) and item.index in fullest else None
            slower = choice.slower if isinstance(choice, KernelChoice) else None
            if isinstance(item, Step) and slower is not None:
                kernels[item.op.id] = slower
    return replace(candidate.selection, kernels=kernels) if kernels != candidate.selection.kernels else None


def _is_worth_it(rung: Candidate, best: Candidate, total: int) -> bool:
    more = rung.slower - best.slower
    return rung.slower * TUNING.slower_share <= total or 2 * more * best.bytes <= (best.bytes - rung.bytes) * total
