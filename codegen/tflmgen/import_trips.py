"""How often a loop runs at most: counters that begin and grow by constants, against constant limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tflmgen.graph import Block, Op, Value
from tflmgen.import_context import Context
from tflmgen.support import constant_array

MIRRORED = {"GREATER": "LESS", "GREATER_EQUAL": "LESS_EQUAL", "LESS": "GREATER", "LESS_EQUAL": "GREATER_EQUAL"}
VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})


def most_trips(
    context: Context, condition: Block, body: Block, variables: Sequence[Value], inits: Sequence[Value]
) -> int | None:
    """The most iterations, None where that isn't known. `variables` are the first results of the body's."""
    loop = _Loop(context, condition, body, dict(zip(variables, zip(inits, body.results, strict=False), strict=True)))
    return loop.trips(condition.results[0])


class _Loop:
    def __init__(
        self, context: Context, condition: Block, body: Block, variables: Mapping[Value, tuple[Value, Value]]
    ) -> None:
        self._context = context
        self._variables = variables
        self._producer = {
            output: node
            for block in (condition, body)
            for node in block.nodes
            if isinstance(node, Op)
            for output in node.outputs
        }

    def trips(self, test: Value) -> int | None:
        node = self._producer.get(test)
        if node is None or len(node.inputs) < 2:
            return None
        one, other = node.inputs[:2]
        if one is None or other is None:
            return None
        if node.operator == "LOGICAL_AND":
            known = [t for t in (self.trips(one), self.trips(other)) if t is not None]
            return min(known, default=None)
        for counter, limit, relation in ((one, other, node.operator), (other, one, MIRRORED.get(node.operator, ""))):
            found = self._counted(self._root(counter), self._number(limit), relation)
            if found is not None:
                return found
        return None

    def _counted(self, counter: Value, limit: int | None, relation: str) -> int | None:
        if counter not in self._variables or limit is None:
            return None
        init, following = self._variables[counter]
        start, step = self._number(init), self._step(self._root(following), counter)
        if start is None or step is None or step == 0:
            return None
        if relation in ("GREATER", "GREATER_EQUAL"):
            start, step, limit = -start, -step, -limit
        elif relation not in ("LESS", "LESS_EQUAL"):
            return None
        if step < 0:
            return None
        end = limit + relation.endswith("EQUAL")
        return max(0, -(-(end - start) // step))

    def _step(self, following: Value, counter: Value) -> int | None:
        """What the body adds to the counter."""
        node = self._producer.get(following)
        if node is None or node.operator not in ("ADD", "SUB") or len(node.inputs) != 2:
            return None
        one, other = node.inputs
        if one is not None and other is not None and self._root(one) == counter:
            step = self._number(other)
            return None if step is None else step if node.operator == "ADD" else -step
        if one is not None and other is not None and node.operator == "ADD" and self._root(other) == counter:
            return self._number(one)
        return None

    def _root(self, value: Value) -> Value:
        """Looks through views of one element."""
        node = self._producer.get(value)
        while node is not None and node.operator in VIEWS and node.inputs[0] is not None:
            value = node.inputs[0]
            node = self._producer.get(value)
        return value

    def _number(self, value: Value) -> int | None:
        array = constant_array(self._root(value), self._context.constants)
        if array is None or array.size != 1 or not np.issubdtype(array.dtype, np.integer):
            return None
        return int(array.reshape(-1)[0])
