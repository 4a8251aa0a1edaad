"""The stages from graph text to storage, with what they say by the names of the text's values."""

from __future__ import annotations

from dataclasses import dataclass

from tflmgen.ir.graph.module import Value
from tflmgen.memory.liveness import Liveness, runs
from tflmgen.memory.placement import ArenaPlan
from tflmgen.memory.schedule_tree import Schedule
from tflmgen.memory.storage import Storage

from support.graph_parser import parse_graph
from support.pipeline import first_plan


@dataclass(frozen=True, slots=True)
class Planned:
    """Schedule, live ranges and homes of a graph."""

    schedule: Schedule
    liveness: Liveness
    storage: Storage
    arena: ArenaPlan

    def _value(self, name: str) -> Value:
        return next(v for v in self.liveness.ranges if v.name == name)

    def live(self, name: str) -> list[tuple[int, int]]:
        """The runs of steps at which a value is live."""
        return list(runs(self.liveness.ranges[self._value(name)]))

    def together(self, *names: str) -> bool:
        """Whether values share a home."""
        return len({self.storage.home[self._value(name)] for name in names}) == 1

    def moves(self, kind: str) -> tuple[int, int]:
        """How many copies and how many exchanged pointers the boundaries of a kind have."""
        moves = [m for m in self.storage.moves.values() if m.boundary.kind == kind]
        return sum(len(m.copies) for m in moves), sum(len(m.rotation) for m in moves)


def plan_graph(text: str) -> Planned:
    plan = first_plan(parse_graph(text))
    return Planned(plan.schedule, plan.liveness, plan.storage, plan.layout.arena)
