"""Bounds of the iterations of a While, from its condition: a counter that is compared with a constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tflmgen.tensorflow_worker.flow_body import FlowBody
from tflmgen.tensorflow_worker.graph_functions import node_name

_MIRRORED = {"Less": "Greater", "LessEqual": "GreaterEqual", "Greater": "Less", "GreaterEqual": "LessEqual"}
"""Comparisons, and those of the exchanged operands."""
_STEPS = {"Add": 1, "AddV2": 1, "Sub": -1}
_BOTH = frozenset({"LogicalAnd"})
_CHOICES = frozenset({"If", "StatelessIf"})


@dataclass(frozen=True)
class LoopFunctions:
    """A loop's two functions, the constants among its first values, and which variables no iteration changes.

    called  the body of a function by its name
    """

    condition: FlowBody
    body: FlowBody
    starts: Sequence[int | None]
    invariant: frozenset[int]
    called: Callable[[str], FlowBody]

    def bound(self) -> int | None:
        """Iterations at most; None if the condition gives no bound."""
        return self._bound_of(self.condition.results[0])

    def counters(self, bound: int | None) -> dict[int, tuple[int, int]]:
        """Least and greatest value, within the body, of each variable that counts: of at most `bound` iterations."""
        steps = {k: self._step(k) for k in range(len(self.starts)) if k not in self.invariant and bound}
        return {
            k: (min(start, last), max(start, last))
            for k, step in steps.items()
            if step is not None and (start := self.starts[k]) is not None
            for last in [start + step * ((bound or 1) - 1)]
        }

    def _bound_of(self, test: str) -> int | None:
        node = self.condition.nodes.get(node_name(self.condition.source_of(test)))
        if node is None:
            return None
        if node.op in _BOTH:
            bounds = [bound for operand in node.input[:2] if (bound := self._bound_of(operand)) is not None]
            return min(bounds, default=None)
        if node.op in _CHOICES and self._is_false(self.called(node.attr["else_branch"].func.name)):
            # AutoGraph's loops with a break: whatever the branch says, its predicate holds.
            return self._bound_of(node.input[0])
        if node.op not in _MIRRORED:
            return None
        left, right = node.input[:2]
        known = self._bound_by(left, right, node.op)
        return known if known is not None else self._bound_by(right, left, _MIRRORED[node.op])

    @staticmethod
    def _is_false(branch: FlowBody) -> bool:
        node = branch.nodes.get(node_name(branch.source_of(branch.results[0])))
        return node is not None and node.op == "Const" and not tf.make_ndarray(node.attr["value"].tensor).any()

    def _bound_by(self, counter: str, limit: str, comparison: str) -> int | None:
        """Iterations until a counter fails a comparison with a limit."""
        place, end = self._place(self.condition, counter), self._number(self.condition, limit)
        if place is None or end is None or place in self.invariant:
            return None
        start, step = self.starts[place], self._step(place)
        if start is None or step is None:
            return None
        rises = comparison.startswith("Less")
        distance = end - start if rises else start - end
        distance += comparison.endswith("Equal")
        step = step if rises else -step
        return None if step <= 0 else max(0, -(-distance // step))

    def _step(self, place: int) -> int | None:
        """The number that an iteration adds to a variable."""
        node = self.body.nodes.get(node_name(self.body.source_of(self.body.results[place])))
        if node is None or node.op not in _STEPS:
            return None
        left, right = node.input[:2]
        if self._place(self.body, left) == place:
            step = self._number(self.body, right)
            return None if step is None else _STEPS[node.op] * step
        return self._number(self.body, left) if self._place(self.body, right) == place and node.op != "Sub" else None

    @staticmethod
    def _place(side: FlowBody, tensor: str) -> int | None:
        tensor = side.source_of(tensor)
        return side.arguments.index(tensor) if tensor in side.arguments else None

    def _number(self, side: FlowBody, tensor: str) -> int | None:
        """An integer that is the same in all iterations."""
        place = self._place(side, tensor)
        if place is not None:
            return self.starts[place] if place in self.invariant else None
        node = side.nodes.get(node_name(side.source_of(tensor)))
        return None if node is None or node.op != "Const" else integer(tf.make_ndarray(node.attr["value"].tensor))


def integer(value: Any) -> int | None:
    """The integer that a constant of one element is."""
    return int(value.reshape(-1)[0]) if value is not None and value.size == 1 and value.dtype.kind in "iu" else None
