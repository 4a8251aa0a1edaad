"""Liveness analysis over the schedule's tree and across calls.

A live range is an integer used as a bit set over step indices. A step's operands, results and scratch are live at it.
Values that a caller needs after a call are live at every step of the callee and of its callees, so that one frame per
function serves all call sites. Backward data-flow on a structured tree needs one pass: outer values that a loop reads
are live through the whole loop (Appel and Palsberg, Modern Compiler Implementation, chapter 10, specialised to trees).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tflmgen.ir.graph import Block, Value, While, definitions_in, uses_in
from tflmgen.memory.schedule_tree import (
    Boundary,
    CallStep,
    IfStep,
    Schedule,
    ScheduledFunction,
    Sequence,
    Step,
    WhileStep,
)


@dataclass(frozen=True, slots=True)
class Liveness:
    """Live ranges of a schedule.

    ranges  value -> bit set of the steps at which it is live
    dying   step -> values that it is the last to read
    """

    ranges: Mapping[Value, int]
    dying: Mapping[int, frozenset[Value]]

    def blocks(self, left_out: Collection[Value]) -> list[tuple[int, int]]:
        """(bytes rounded up to 4, live steps) of each value outside `left_out`, without any coalescing."""
        return [(-(-v.type.bytes // 4) * 4, live) for v, live in self.ranges.items() if v not in left_out]


def analyze(schedule: Schedule, homes: Iterable[Value]) -> Liveness:
    """Live ranges of all non-constant values. `homes`: values of persistent variables, which are always live."""
    walker = _Walker(set(homes))
    for function in schedule.functions:
        walker.function(function)
    return Liveness(walker.ranges, walker.dying)


def runs(steps: int) -> Iterator[tuple[int, int]]:
    """Runs of consecutive steps of a live range, as (first, last)."""
    base = 0
    while steps:
        skip = (steps & -steps).bit_length() - 1
        steps >>= skip
        length = (~steps & (steps + 1)).bit_length() - 1
        yield base + skip, base + skip + length - 1
        steps >>= length
        base += skip + length


class _Walker:
    def __init__(self, homes: set[Value]) -> None:
        self._homes = homes
        self.ranges: dict[Value, int] = {}
        self.dying: dict[int, frozenset[Value]] = {}
        self._steps_of: dict[str, int] = {}

    def function(self, scheduled: ScheduledFunction) -> None:
        self._own = 0
        function = scheduled.function
        results = _variable(function.body.results)
        if scheduled.is_entry:
            results = _variable(function.body.results[: len(function.body.results) - len(function.state)])
            results |= self._homes
        self._mark(scheduled.exit, results)
        live = self._boundary(scheduled.store, results)
        live = self._sequence(scheduled.body, live)
        live = self._boundary(scheduled.load, live)
        self._mark(scheduled.entry, live | set(function.inputs) - set(scheduled.load.values))
        self._steps_of[function.name] = self._own

    def _mark(self, step: int, values: Iterable[Value]) -> None:
        bit = 1 << step
        self._own |= bit
        for value in values:
            self.ranges[value] = self.ranges.get(value, 0) | bit

    def _sequence(self, sequence: Sequence, live: set[Value]) -> set[Value]:
        for item in reversed(sequence.items):
            if isinstance(item, Step):
                reads = _variable(v for v in item.op.inputs if v is not None)
                live = self._transfer(item.index, live, set(item.op.outputs), reads)
            elif isinstance(item, IfStep):
                live = self._if(item, live)
            elif isinstance(item, WhileStep):
                live = self._while(item, live)
            else:
                live = self._call(item, live)
        return live

    def _transfer(self, step: int, after: set[Value], writes: set[Value], reads: set[Value]) -> set[Value]:
        self._mark(step, after | writes | reads)
        self.dying[step] = frozenset(reads - after)
        return (after - writes) | reads

    def _boundary(self, boundary: Boundary, after: set[Value]) -> set[Value]:
        return self._transfer(boundary.index, after, set(boundary.values), _variable(boundary.sources))

    def _if(self, item: IfStep, after: set[Value]) -> set[Value]:
        then = self._sequence(item.then, self._boundary(item.then_end, after))
        orelse = self._sequence(item.orelse, self._boundary(item.else_end, after))
        return self._transfer(item.index, then | orelse, set(), _variable([item.node.condition]))

    def _while(self, item: WhileStep, after: set[Value]) -> set[Value]:
        node = item.node
        left = {v for v, output in zip(node.variables, node.outputs, strict=True) if output in after}
        through = (after - set(node.outputs)) | _free(node)
        head = through | set(node.variables)
        body = self._sequence(item.body, self._boundary(item.next, head))
        condition = _variable(node.condition.results)
        leaving = self._transfer(item.index, through | left | body, set(), condition)
        # The outputs are other names of the variables: their live range starts at the exit of the loop.
        self._mark(item.index, set(node.outputs) & after)
        self._sequence(item.condition, leaving)
        return self._boundary(item.init, head)

    def _call(self, item: CallStep, after: set[Value]) -> set[Value]:
        across = self._boundary(item.results, after) - _variable(item.results.sources)
        self._mark(item.index, across)
        callee = self._steps_of[item.node.function]
        self._own |= callee
        for value in across:
            self.ranges[value] |= callee
        return self._boundary(item.arguments, across)


def _variable(values: Iterable[Value]) -> set[Value]:
    """The non-constant values."""
    return {v for v in values if not v.is_constant}


def _free(node: While) -> set[Value]:
    """Outer values that a loop reads."""
    used: set[Value] = set()
    defined: set[Value] = set(node.variables)
    blocks: tuple[Block, ...] = (node.condition, node.body)
    for block in blocks:
        used |= _variable(uses_in(block))
        defined |= set(definitions_in(block))
    return used - defined
