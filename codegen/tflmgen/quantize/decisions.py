"""Decisions of control flow in a run: branches taken, trip counts, and how often each subgraph ran."""

from __future__ import annotations

from collections.abc import Mapping

from tflmgen.errors import TflmgenError
from tflmgen.frontend.model_graph import OperatorKey
from tflmgen.frontend.tflite import Model
from tflmgen.quantize.statistics import Decisions
from tflmgen.quantize.value_sources import BRANCHES, LOOPS, callees


class EndlessLoopError(TflmgenError):
    """A loop began more iterations than it may."""


class DecisionLog:
    """Collects the marks of an observed build, set by set.

    The build says that an iteration begins before it evaluates the condition. A loop thus has one iteration mark more
    than trips, and the condition runs once more than the body.
    """

    def __init__(self, model: Model, max_trips: Mapping[OperatorKey, int] | None = None) -> None:
        """max_trips: iterations after which a loop counts as endless, where there is a limit."""
        self._model = model
        self._max_trips = max_trips or {}
        self._operators = {(g.index, op.index): op for g in model.subgraphs for op in g.operators}
        self._entries = [signature.subgraph for signature in model.signatures] or [0]
        self._sets: list[dict[OperatorKey, list[int]]] = []
        self.runs: dict[int, int] = {}
        self.endless: set[OperatorKey] = set()

    def start_set(self, signature: int) -> None:
        """Begins the log of an input set, whose invoke runs the signature with this index."""
        self._sets.append({})
        self._run(self._entries[signature])

    def mark(self, event: str, operator: OperatorKey) -> None:
        """Records one mark; `event` as in observed_build.Watcher. Raises EndlessLoopError if a loop goes on."""
        op = self._operators.get(operator)
        if op is None:
            return
        called = callees(op)
        if event in ("then", "else"):
            if op.name in BRANCHES:
                self._sets[-1].setdefault(operator, []).append(int(event == "then"))
                self._run(called[f"{event}_subgraph_index"])
        elif event == "loop":
            self._sets[-1].setdefault(operator, []).append(-1)
        elif event == "iteration":
            trips = self._sets[-1][operator]
            trips[-1] += 1
            if trips[-1] > self._max_trips.get(operator, trips[-1]):
                self.endless.add(operator)
                raise EndlessLoopError(f"operator {operator[1]} in subgraph {operator[0]} does not end")
            self._run(called["cond_subgraph_index"])
            if trips[-1]:
                self._run(called["body_subgraph_index"])
        elif op.name not in BRANCHES | LOOPS:  # there it calls a subgraph that several operators share
            for index in called.values():
                self._run(index)

    def _run(self, subgraph: int) -> None:
        self.runs[subgraph] = self.runs.get(subgraph, 0) + 1

    @property
    def decisions(self) -> dict[OperatorKey, tuple[Decisions, ...]]:
        """The decisions of each If and While in each input set."""
        keys = [key for key, op in self._operators.items() if op.name in BRANCHES | LOOPS]
        return {key: tuple(tuple(of_set.get(key, ())) for of_set in self._sets) for key in keys}
