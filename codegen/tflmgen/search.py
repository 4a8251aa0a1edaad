"""Tries several orders, kernels and ways to give out memory and keeps the best; each try is pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product

from tflmgen.arena.bounds import peak
from tflmgen.arena.layout import Layout, lay_out
from tflmgen.graph import Module, Value
from tflmgen.kernel import Kernel
from tflmgen.liveness import Liveness, analyze
from tflmgen.order import update_last
from tflmgen.order_peak import order_for_peak
from tflmgen.schedule import Schedule, Step, schedule, walk_items
from tflmgen.select import Selection
from tflmgen.storage import JOINS, Storage, assign, copied_in_loops, has_backward, has_pieces

COPIED = 32
"""Bytes that loops may copy in all without being held against a plan."""

SLOWER = 15
"""Slower kernels may cost one instruction more for so many of the whole program, and beyond that half as great a part
of the instructions as they save of the memory; or any number while the arena is above the packing bound."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One fixed execution plan with its kernels and its memory.

    order_proved: no order of any block has less than the least peak that was found, as order_peak estimates it.
    """

    selection: Selection
    schedule: Schedule
    liveness: Liveness
    storage: Storage
    layout: Layout
    order_proved: bool = False

    @property
    def cost(self) -> tuple[int, int]:
        """Bytes copied inside loops as far as they matter, then bytes of RAM."""
        return max(COPIED, copied_in_loops(self.storage)), self.bytes

    @property
    def bytes(self) -> int:
        """Arena and state."""
        return self.layout.arena.bytes + self.layout.state_bytes


def best_candidate(module: Module, selection: Selection) -> Candidate:
    """The best plan of the fastest kernels, and then of slower ones as long as they save memory.

    The packing bound is that of the file's order: the most bytes of tensors, without scratch, that live at one step.
    """
    variables = {v.home for v in module.state.values()}
    by_peak = order_for_peak(module, selection)
    modules = [module]
    for ordered in (by_peak.module, update_last(module)):
        modules += [] if ordered in modules else [ordered]
    orders = []
    for ordered in reversed(modules):
        scheduled = schedule(ordered)
        orders.append((scheduled, analyze(scheduled, variables)))
    best = min(_plans(selection, orders, variables), key=lambda candidate: candidate.cost)
    fastest = trial = best
    in_file_order, ranges = orders[-1]
    packing_bound = peak(ranges.blocks(variables), in_file_order.steps)[0]
    while (slower := _slower(trial)) is not None:
        trial = min(_plans(slower, orders, variables), key=lambda candidate: candidate.cost)
        if best.layout.arena.bytes <= packing_bound and not _is_worth_it(trial, best, fastest):
            break
        best = min(best, trial, key=lambda candidate: candidate.cost)
    return replace(best, order_proved=by_peak.is_proved)


def _plans(
    selection: Selection, orders: list[tuple[Schedule, Liveness]], variables: Collection[Value]
) -> Iterator[Candidate]:
    """The file's order or variables updated last; pieces joined where cheap, everywhere, or never; in place or not."""
    joins = JOINS if has_pieces(selection) else JOINS[:1]
    aparts = (False, True) if has_backward(selection) else (False,)
    for (scheduled, liveness), join, apart in product(orders, joins, aparts):
        storage = assign(scheduled, selection, liveness, variables, join, apart)
        yield Candidate(selection, scheduled, liveness, storage, lay_out(storage, scheduled.steps))


def _slower(candidate: Candidate) -> Selection | None:
    """The next slower kernel for each operator where the arena is fullest; None if there is none."""
    kernels = dict(candidate.selection.kernels)
    fullest = frozenset(candidate.layout.arena.fullest)
    for function in candidate.schedule.functions:
        for item, _ in walk_items(function.body):
            kernel = kernels[item.op.id] if isinstance(item, Step) and item.index in fullest else None
            if isinstance(item, Step) and isinstance(kernel, Kernel) and kernel.alternatives:
                following, *others = kernel.alternatives
                kernels[item.op.id] = replace(following, alternatives=tuple(others))
    return Selection(kernels) if kernels != candidate.selection.kernels else None


def _is_worth_it(slower: Candidate, best: Candidate, fastest: Candidate) -> bool:
    total = _instructions(fastest.selection)
    more, in_all = (_instructions(slower.selection) - _instructions(c.selection) for c in (best, fastest))
    return in_all * SLOWER <= total or 2 * more * best.bytes <= (best.bytes - slower.bytes) * total


def _instructions(selection: Selection) -> int:
    return sum(k.instructions or k.macs for k in selection.kernels.values() if isinstance(k, Kernel))
