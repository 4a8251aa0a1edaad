"""Searches for the best plan over orders, kernels and memory options; each candidate is computed by pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product, takewhile

from tflmgen.explore.peak_order import order_for_peak
from tflmgen.explore.update_order import update_last
from tflmgen.ir.graph import Module, Value
from tflmgen.ir.kernel import KernelChoice
from tflmgen.kernels import Selection
from tflmgen.kernels.costs import TUNING
from tflmgen.memory import (
    JOINS,
    Layout,
    Liveness,
    Schedule,
    Step,
    Storage,
    analyze,
    assign,
    copied_in_loops,
    has_backward,
    has_multiples,
    has_pieces,
    keeps_multiples,
    lay_out,
    schedule,
    walk_items,
)


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """One execution plan with its kernels and memory layout.

    order_proved  every block has an order of lowest peak, by the estimate of peak_order
    extra_cycles  estimated cycles beyond those of the fastest kernels
    """

    selection: Selection
    schedule: Schedule
    liveness: Liveness
    storage: Storage
    layout: Layout
    order_proved: bool = False
    extra_cycles: int = 0

    @property
    def cost(self) -> tuple[int, int]:
        """Key of the comparison: bytes copied inside loops, then bytes of RAM."""
        return copied_in_loops(self.storage), self.bytes

    @property
    def bytes(self) -> int:
        """Bytes of arena and state."""
        return self.layout.arena.bytes + self.layout.state_bytes


def best_candidate(module: Module, selection: Selection) -> PlanCandidate:
    """The best plan with the fastest kernels, or with slower ones that save at least as large a part of the memory as
    they take of the cycles, up to TUNING.balanced_slowdown."""
    plans = plans_by_speed(module, selection)
    best = next(plans)
    allowed_cycles = selection.cycles * TUNING.balanced_slowdown
    for plan in takewhile(lambda plan: plan.extra_cycles <= allowed_cycles, plans):
        if plan.cost < best.cost and _saves_in_proportion(plan, best, selection.cycles):
            best = plan
    return best


def first_candidate(module: Module, selection: Selection) -> PlanCandidate:
    """A plan in the module's order, of the first of all options, packed without a search for a better order."""
    variables = {v.home for v in module.state.values()}
    scheduled = schedule(module)
    liveness = analyze(scheduled, variables)
    storage = assign(scheduled, selection, liveness, variables)
    return PlanCandidate(selection, scheduled, liveness, storage, lay_out(storage, scheduled.steps, effort=0))


def plans_by_speed(module: Module, selection: Selection) -> Iterator[PlanCandidate]:
    """Best plan with the fastest kernels, then with slower kernels, step by step, for operators at the arena's peak."""
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
        yield replace(best, order_proved=by_peak.is_proved, extra_cycles=_extra_cycles(kernels, selection))
        kernels = _slower(best)


def _plans(
    selection: Selection, orders: list[tuple[Schedule, Liveness]], variables: Collection[Value]
) -> Iterator[PlanCandidate]:
    """Candidates over all combinations of options: order of nodes; coalescing of pieces where cheap, everywhere or
    never; backward kernels in place or not; overlap distances that require multiples, if the offsets satisfy them.
    """
    joins = JOINS if has_pieces(selection) else JOINS[:1]
    backward_options = (False, True) if has_backward(selection) else (False,)
    multiple_options = (False, True) if any(has_multiples(kernel) for kernel in selection.computations) else (False,)
    for (scheduled, liveness), join, separate_backward, by_multiples in product(
        orders, joins, backward_options, multiple_options
    ):
        storage = assign(scheduled, selection, liveness, variables, join, separate_backward, by_multiples)
        layout = lay_out(storage, scheduled.steps)
        items = (item for function in scheduled.functions for item, _ in walk_items(function.body))
        if not by_multiples or keeps_multiples(items, selection, storage.home, layout.offsets):
            yield PlanCandidate(selection, scheduled, liveness, storage, layout)


def _extra_cycles(slower: Selection, fastest: Selection) -> int:
    """Estimated cycles beyond those of the fastest kernels. A kernel without an estimate, in place of one that has one,
    counts as TUNING.unknown_slowdown times that."""
    extra = slower.cycles - fastest.cycles
    for number, choice in fastest.kernels.items():
        other = slower.kernels[number]
        if isinstance(choice, KernelChoice) and isinstance(other, KernelChoice) and not other.chosen.cycles:
            extra += TUNING.unknown_slowdown * choice.chosen.cycles
    return extra


def _slower(candidate: PlanCandidate) -> Selection | None:
    """The selection with the next slower kernel for each operator at the arena's peak; None if there is none."""
    kernels = dict(candidate.selection.kernels)
    fullest = frozenset(candidate.layout.arena.fullest)
    for function in candidate.schedule.functions:
        for item, _ in walk_items(function.body):
            choice = kernels[item.op.id] if isinstance(item, Step) and item.index in fullest else None
            slower = choice.slower if isinstance(choice, KernelChoice) else None
            if isinstance(item, Step) and slower is not None:
                kernels[item.op.id] = slower
    return replace(candidate.selection, kernels=kernels) if kernels != candidate.selection.kernels else None


def _saves_in_proportion(plan: PlanCandidate, best: PlanCandidate, total: int) -> bool:
    """Whether the part of the memory that a plan saves is at least the part of the `total` cycles that it takes."""
    return (plan.extra_cycles - best.extra_cycles) * best.bytes <= (best.bytes - plan.bytes) * total
