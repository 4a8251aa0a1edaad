"""Value-range analysis: intervals of the elements of each value over all inputs, by abstract interpretation.

Cousot and Cousot, Abstract Interpretation: A Unified Lattice Model for Static Analysis of Programs (1977). The results
of an If are the join of its possible branches. The variables of a While grow to a fixed point: bounds that keep moving
are widened to the type's range, and two more iterations narrow them by the loop's condition. A function is interpreted
separately for different arguments, up to CONTEXTS times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.frontend import counters
from tflmgen.ir import constant_array
from tflmgen.ir.graph import Block, Call, If, Module, Node, Op, Value, While, walk
from tflmgen.kernels import instance_of_op, output_ranges
from tflmgen.kernels.ranges import Integers, Interval, channels_of, of_array, whole
from tflmgen.passes.refine_by_comparison import refined
from tflmgen.reference import Claims

WIDENING_AFTER = 3
"""Iterations of a loop after which moving bounds are widened to the type's range."""
GIVE_UP_AFTER = 12
"""Iterations of a loop after which all its variables become unknown."""
NARROWINGS = 2
"""Further iterations of a loop after widening, each of which may bring bounds back from the type's range."""
CONTEXTS = 8
"""Argument tuples for which a function is interpreted separately; further calls are taken as unknown arguments."""

MaybeInterval = Interval | None
Scope = dict[Value, Interval]


@dataclass(frozen=True, slots=True)
class Ranges:
    """Result of the analysis.

    values    interval per channel; a missing value has its type's range
    operands  id of each reachable Op -> intervals of its inputs at that point, narrowed by enclosing conditions
    never     ids of Whiles whose condition is false at the first test
    """

    values: Mapping[Value, Interval]
    operands: Mapping[int, tuple[MaybeInterval, ...]]
    never: frozenset[int]

    def of(self, value: Value) -> MaybeInterval:
        """Interval per channel of a value; None if unknown, as for floats."""
        return self.values.get(value)


def analyze_ranges(module: Module) -> Ranges:
    """Intervals of all integer values reachable from signatures, for arbitrary inputs and persistent variables."""
    analysis = _Analysis(module)
    for name in dict.fromkeys(signature.function for signature in module.signatures):
        analysis.call(name, [whole(v.type) for v in module.function(name).inputs], True)
    return Ranges(analysis.intervals, analysis.operands, frozenset(analysis.skipped - analysis.entered))


def claims_of_ranges(module: Module) -> Claims:
    """All that the analysis says beyond the types, for validation to assert."""
    ranges = analyze_ranges(module)

    def bounds(value: Value | None, interval: MaybeInterval) -> tuple[Integers, Integers] | None:
        if value is None or interval is None or interval == whole(value.type):
            return None
        return interval.low, interval.high

    values = {value.id: bounds(value, interval) for value, interval in ranges.values.items()}
    ops = (
        node for f in module.functions for node in walk(f.body) if isinstance(node, Op) and node.id in ranges.operands
    )
    operands = {
        op.id: tuple(bounds(v, i) for v, i in zip(op.inputs, ranges.operands[op.id], strict=True)) for op in ops
    }
    return Claims(
        {key: pair for key, pair in values.items() if pair is not None},
        {key: pairs for key, pairs in operands.items() if any(pairs)},
        ranges.never,
    )


class _Analysis:
    def __init__(self, module: Module) -> None:
        self._constants = module.constants
        self._functions = {f.name: f for f in module.functions}
        self._producers = {
            v: node for f in module.functions for node in walk(f.body) if isinstance(node, Op) for v in node.outputs
        }
        self._of_constants: dict[Value, MaybeInterval] = {}
        self._calls: dict[str, dict[tuple[bool, tuple[MaybeInterval, ...]], Sequence[MaybeInterval]]] = {}
        self._ops: dict[tuple[int, tuple[MaybeInterval, ...]], Sequence[MaybeInterval]] = {}
        self.intervals: Scope = {}
        self.operands: dict[int, tuple[MaybeInterval, ...]] = {}
        self.skipped: set[int] = set()
        self.entered: set[int] = set()

    def call(self, name: str, arguments: Sequence[MaybeInterval], record: bool) -> Sequence[MaybeInterval]:
        function, results = self._functions[name], self._calls.setdefault(name, {})
        if len(results) >= CONTEXTS and (record, tuple(arguments)) not in results:
            arguments = [whole(v.type) for v in function.inputs]
        key = record, tuple(arguments)
        if key not in results:
            scope = _scope(function.inputs, arguments)
            if record:
                self._record(scope)
            results[key] = self._block(function.body, scope, record)
        return results[key]

    def _block(self, block: Block, scope: Scope, record: bool) -> Sequence[MaybeInterval]:
        """Intervals of a block's results; adds the block's definitions to `scope`."""
        for node in block.nodes:
            defined = _scope(node.outputs, self._node(node, scope, record))
            scope.update(defined)
            if record:
                self._record(defined)
        return [self._read(v, scope) for v in block.results]

    def _record(self, intervals: Scope) -> None:
        for value, interval in intervals.items():
            before = self.intervals.get(value)
            self.intervals[value] = interval if before is None else before.join(interval)

    def _read(self, value: Value, scope: Scope) -> MaybeInterval:
        if not value.is_constant:
            return scope.get(value)
        if value not in self._of_constants:
            array = constant_array(value, self._constants)
            self._of_constants[value] = None if array is None else of_array(array, value.type)
        return self._of_constants[value]

    def _node(self, node: Node, scope: Scope, record: bool) -> Sequence[MaybeInterval]:
        if isinstance(node, Op):
            return self._op(node, scope, record)
        if isinstance(node, If):
            return self._if(node, scope, record)
        if isinstance(node, Call):
            return self.call(node.function, [self._read(v, scope) for v in node.inputs], record)
        return self._while(node, scope, record)

    def _op(self, op: Op, scope: Scope, record: bool) -> Sequence[MaybeInterval]:
        inputs = tuple(None if v is None else self._read(v, scope) for v in op.inputs)
        if record:
            before = self.operands.get(op.id, inputs)
            self.operands[op.id] = tuple(_join(a, b) for a, b in zip(before, inputs, strict=True))
        key = op.id, inputs
        if key not in self._ops:
            self._ops[key] = output_ranges(op.operator, instance_of_op(op, self._constants), inputs)
        return self._ops[key]

    def _if(self, node: If, scope: Scope, record: bool) -> Sequence[MaybeInterval]:
        test = self._read(node.condition, scope)
        decided = None if test is None or not test.known.all() else bool(test.low[0])
        results = []
        for truth, block in ((True, node.then), (False, node.orelse)):
            if decided in (None, truth):
                inside = self._assuming(node.condition, truth, scope)
                results.append(self._block(block, inside, record))
        return [_join(*choices) for choices in zip(*results, strict=True)]

    def _assuming(self, condition: Value, truth: bool, scope: Scope) -> Scope:
        """A copy of the scope, narrowed by the assumption that `condition` is `truth`."""
        inside = dict(scope)
        refined(condition, truth, self._producers, inside, self._read)
        return inside

    def _while(self, node: While, scope: Scope, record: bool) -> Sequence[MaybeInterval]:
        inits = [self._read(v, scope) for v in node.inits]
        pinned = self._counters(node)
        state = self._pinned(node, inits, pinned)
        for turn in range(GIVE_UP_AFTER + 1):
            following = self._turn(node, state, scope, False)
            if following is None:
                break
            grown = self._pinned(node, [_join(a, b) for a, b in zip(state, following, strict=True)], pinned)
            if grown == state:
                break
            if turn == GIVE_UP_AFTER:
                state = self._pinned(node, [whole(v.type) for v in node.variables], pinned)
            elif turn >= WIDENING_AFTER:
                state = [_widened(a, b, v) for a, b, v in zip(state, grown, node.variables, strict=True)]
            else:
                state = grown
        for _ in range(NARROWINGS):
            following = self._turn(node, state, scope, False)
            if following is None:
                break
            state = self._pinned(node, [_join(a, b) for a, b in zip(inits, following, strict=True)], pinned)
        last = self._turn(node, state, scope, record)
        if last is None:
            self.skipped |= {node.id} if record else set()
            return inits
        self.entered |= {node.id} if record else set()
        if node.trips is not None:
            return last
        after = self._scope_after(node, state, scope)
        return [after.get(v) for v in node.variables]

    def _counters(self, node: While) -> Mapping[Value, Interval]:
        """Ranges of counting variables that do not overflow, inside a loop with a known number of iterations."""
        if not node.trips:
            return {}
        last = node.trips - 1
        counting = counters(node, self._constants).items()
        ends = {variable: (c.start, c.after(last)) for variable, c in counting if c.fits(last)}
        return {v: Interval(np.array([min(pair)]), np.array([max(pair)])) for v, pair in ends.items()}

    def _pinned(
        self, node: While, state: Sequence[MaybeInterval], pinned: Mapping[Value, Interval]
    ) -> list[MaybeInterval]:
        return [pinned.get(v, interval) for v, interval in zip(node.variables, state, strict=True)]

    def _turn(
        self, node: While, state: Sequence[MaybeInterval], scope: Scope, record: bool
    ) -> Sequence[MaybeInterval] | None:
        """Intervals of the body's results for one iteration; None if the condition can't be true."""
        variables = _scope(node.variables, state)
        if record:
            self._record(variables)
        inside = {**scope, **variables}
        if node.trips is None:
            test = self._block(node.condition, inside, record)[0]
            if test is not None and not test.high.any():
                return None
            inside = self._assuming(node.condition.results[0], True, inside)
        return self._block(node.body, inside, record)

    def _scope_after(self, node: While, state: Sequence[MaybeInterval], scope: Scope) -> Scope:
        """Scope after the loop: its variables, narrowed by a false condition."""
        inside = {**scope, **_scope(node.variables, state)}
        self._block(node.condition, inside, False)
        return self._assuming(node.condition.results[0], False, inside)


def _scope(values: Sequence[Value], intervals: Sequence[MaybeInterval]) -> Scope:
    return {v: interval for v, interval in zip(values, intervals, strict=True) if interval is not None}


def _join(first: MaybeInterval, *further: MaybeInterval) -> MaybeInterval:
    for interval in further:
        first = None if first is None or interval is None else first.join(interval)
    return first


def _widened(before: MaybeInterval, after: MaybeInterval, value: Value) -> MaybeInterval:
    """Widening: bounds that have moved become those of the type."""
    type_range = whole(value.type)
    if before is None or after is None or type_range is None:
        return None
    assert len(before.low) == channels_of(value.type)
    low = np.where(after.low < before.low, type_range.low, after.low)
    return Interval(low, np.where(after.high > before.high, type_range.high, after.high))
