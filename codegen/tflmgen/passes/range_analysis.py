"""Which elements each value of a module can have, for every input: an abstract interpretation with intervals.

Cousot and Cousot, Abstract Interpretation: A Unified Lattice Model for Static Analysis of Programs (1977): a branch of
an If that can be taken adds its results to the other's; the variables of a While grow to a fixed point, bounds that
keep moving are given up (widening), and two more turns take back what the loop's own condition excludes (narrowing).
Functions are interpreted anew for different arguments, up to a number of times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tflmgen.frontend import counters
from tflmgen.ir import Block, Call, If, Module, Node, Op, Value, While, constant_array, walk
from tflmgen.kernels import Interval, channels_of, instance_of, of_array, output_ranges, whole
from tflmgen.passes.refine_by_comparison import refined

PATIENCE = 3
"""Turns of a loop before bounds that still move are given up."""
LAST = 12
"""Turns after which nothing is known of any variable."""
NARROWINGS = 2
CONTEXTS = 8
"""Different arguments for which one function is interpreted; further calls can have any."""

Known = Interval | None
Scope = dict[Value, Interval]


@dataclass(frozen=True, slots=True)
class Ranges:
    """What is known of a module's values; of those that are missing, all that their types allow.

    operands  of each Op that can run, by its id, its inputs there: inside a branch they may be less than elsewhere
    never     ids of the Whiles whose condition is false at its first test
    """

    values: Mapping[Value, Interval]
    operands: Mapping[int, tuple[Known, ...]]
    never: frozenset[int]

    def of(self, value: Value) -> Known:
        """The interval of each channel; None where nothing is known, floats among them."""
        return self.values.get(value)


def analyze_ranges(module: Module) -> Ranges:
    """Intervals of all integers that signatures can reach. Their inputs and persistent variables can be anything."""
    analysis = _Analysis(module)
    for name in dict.fromkeys(signature.function for signature in module.signatures):
        analysis.call(name, [whole(v.type) for v in module.function(name).inputs], True)
    return Ranges(analysis.found, analysis.operands, frozenset(analysis.skipped - analysis.entered))


class _Analysis:
    def __init__(self, module: Module) -> None:
        self._constants = module.constants
        self._functions = {f.name: f for f in module.functions}
        self._makers = {
            v: node for f in module.functions for node in walk(f.body) if isinstance(node, Op) for v in node.outputs
        }
        self._of_constants: dict[Value, Known] = {}
        self._calls: dict[str, dict[tuple[bool, tuple[Known, ...]], Sequence[Known]]] = {}
        self._ops: dict[tuple[int, tuple[Known, ...]], Sequence[Known]] = {}
        self.found: Scope = {}
        self.operands: dict[int, tuple[Known, ...]] = {}
        self.skipped: set[int] = set()
        self.entered: set[int] = set()

    def call(self, name: str, arguments: Sequence[Known], record: bool) -> Sequence[Known]:
        function, known = self._functions[name], self._calls.setdefault(name, {})
        if len(known) >= CONTEXTS and (record, tuple(arguments)) not in known:
            arguments = [whole(v.type) for v in function.inputs]
        key = record, tuple(arguments)
        if key not in known:
            scope = _scope(function.inputs, arguments)
            if record:
                self._record(scope)
            known[key] = self._block(function.body, scope, record)
        return known[key]

    def _block(self, block: Block, scope: Scope, record: bool) -> Sequence[Known]:
        """The results of a block; `scope` gains what it defines."""
        for node in block.nodes:
            made = _scope(node.outputs, self._node(node, scope, record))
            scope.update(made)
            if record:
                self._record(made)
        return [self._read(v, scope) for v in block.results]

    def _record(self, made: Scope) -> None:
        for value, interval in made.items():
            before = self.found.get(value)
            self.found[value] = interval if before is None else before.join(interval)

    def _read(self, value: Value, scope: Scope) -> Known:
        if not value.is_constant:
            return scope.get(value)
        if value not in self._of_constants:
            array = constant_array(value, self._constants)
            self._of_constants[value] = None if array is None else of_array(array, value.type)
        return self._of_constants[value]

    def _node(self, node: Node, scope: Scope, record: bool) -> Sequence[Known]:
        if isinstance(node, Op):
            return self._op(node, scope, record)
        if isinstance(node, If):
            return self._if(node, scope, record)
        if isinstance(node, Call):
            return self.call(node.function, [self._read(v, scope) for v in node.inputs], record)
        return self._while(node, scope, record)

    def _op(self, op: Op, scope: Scope, record: bool) -> Sequence[Known]:
        inputs = tuple(None if v is None else self._read(v, scope) for v in op.inputs)
        if record:
            before = self.operands.get(op.id, inputs)
            self.operands[op.id] = tuple(_join(a, b) for a, b in zip(before, inputs, strict=True))
        key = op.id, inputs
        if key not in self._ops:
            types = [v.type for v in op.outputs]
            instance = instance_of(op.inputs, types, op.attributes, self._constants)
            self._ops[key] = output_ranges(op.operator, instance, inputs)
        return self._ops[key]

    def _if(self, node: If, scope: Scope, record: bool) -> Sequence[Known]:
        test = self._read(node.condition, scope)
        decided = None if test is None or not test.known.all() else bool(test.low[0])
        results = []
        for truth, block in ((True, node.then), (False, node.orelse)):
            if decided in (None, truth):
                inside = self._assuming(node.condition, truth, scope)
                results.append(self._block(block, inside, record))
        return [_join(*choices) for choices in zip(*results, strict=True)]

    def _assuming(self, condition: Value, truth: bool, scope: Scope) -> Scope:
        """A copy of the scope, with what follows for operands of comparisons from what a condition is."""
        inside = dict(scope)
        refined(condition, truth, self._makers, inside, self._read)
        return inside

    def _while(self, node: While, scope: Scope, record: bool) -> Sequence[Known]:
        inits = [self._read(v, scope) for v in node.inits]
        pinned = self._counters(node)
        state = self._pinned(node, inits, pinned)
        for turn in range(LAST + 1):
            following = self._turn(node, state, scope, False)
            if following is None:
                break
            grown = self._pinned(node, [_join(a, b) for a, b in zip(state, following, strict=True)], pinned)
            if grown == state:
                break
            if turn == LAST:
                state = self._pinned(node, [whole(v.type) for v in node.variables], pinned)
            elif turn >= PATIENCE:
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
        after = self._after(node, state, scope)
        return [after.get(v) for v in node.variables]

    def _counters(self, node: While) -> Mapping[Value, Interval]:
        """What variables that count, and do not wrap, can be inside a loop whose number of turns is known."""
        if not node.trips:
            return {}
        last = node.trips - 1
        found = counters(node, self._constants).items()
        ends = {variable: (c.start, c.after(last)) for variable, c in found if c.fits(last)}
        return {v: Interval(np.array([min(pair)]), np.array([max(pair)])) for v, pair in ends.items()}

    def _pinned(self, node: While, state: Sequence[Known], pinned: Mapping[Value, Interval]) -> list[Known]:
        return [pinned.get(v, interval) for v, interval in zip(node.variables, state, strict=True)]

    def _turn(self, node: While, state: Sequence[Known], scope: Scope, record: bool) -> Sequence[Known] | None:
        """What the body makes of the variables; None where the condition can't be true."""
        made = _scope(node.variables, state)
        if record:
            self._record(made)
        inside = {**scope, **made}
        if node.trips is None:
            test = self._block(node.condition, inside, record)[0]
            if test is not None and not test.high.any():
                return None
            inside = self._assuming(node.condition.results[0], True, inside)
        return self._block(node.body, inside, record)

    def _after(self, node: While, state: Sequence[Known], scope: Scope) -> Scope:
        """The variables once the condition is false."""
        inside = {**scope, **_scope(node.variables, state)}
        self._block(node.condition, inside, False)
        return self._assuming(node.condition.results[0], False, inside)


def _scope(values: Sequence[Value], intervals: Sequence[Known]) -> Scope:
    return {v: interval for v, interval in zip(values, intervals, strict=True) if interval is not None}


def _join(first: Known, *others: Known) -> Known:
    for other in others:
        first = None if first is None or other is None else first.join(other)
    return first


def _widened(before: Known, after: Known, value: Value) -> Known:
    """Bounds that have moved go as far as the type."""
    most = whole(value.type)
    if before is None or after is None or most is None:
        return None
    assert len(before.low) == channels_of(value.type)
    low = np.where(after.low < before.low, most.low, after.low)
    return Interval(low, np.where(after.high > before.high, most.high, after.high))
