"""Tries several orders and ways to give out memory and keeps the best; each try is pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from tflmgen.arena.layout import Layout, lay_out
from tflmgen.graph import Module
from tflmgen.liveness import Liveness, analyze
from tflmgen.order import update_last
from tflmgen.schedule import Schedule, schedule
from tflmgen.select import Selection
from tflmgen.storage import JOINS, Storage, assign, copied_in_loops, has_pieces

COPIED = 32
"""Bytes that loops may copy in all without being held against a plan."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One fixed execution plan with its memory."""

    schedule: Schedule
    liveness: Liveness
    storage: Storage
    layout: Layout

    @property
    def cost(self) -> tuple[int, int]:
        """Bytes copied inside loops as far as they matter, then bytes of RAM."""
        copied = max(COPIED, copied_in_loops(self.storage))
        return copied, self.layout.arena.bytes + self.layout.state_bytes


def best_candidate(module: Module, selection: Selection) -> Candidate:
    """The best of: the file's order or variables updated last; pieces joined where cheap, everywhere, or never."""
    variables = {v.home for v in module.state.values()}
    reordered = update_last(module)
    modules = (module,) if reordered == module else (reordered, module)
    joins = JOINS if has_pieces(selection) else JOINS[:1]
    found = []
    for ordered, join in product(modules, joins):
        scheduled = schedule(ordered)
        liveness = analyze(scheduled, variables)
        storage = assign(scheduled, selection, liveness, variables, join)
        found.append(Candidate(scheduled, liveness, storage, lay_out(storage, scheduled.steps)))
    return min(found, key=lambda candidate: candidate.cost)
