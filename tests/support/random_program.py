"""Random .tflite models made of control flow: nested, shared and odd, but always ending.

Every loop counts: it carries a counter that its body increments and its condition compares with a constant. Subgraphs
are reused by later operators where their types fit, so that some have several callers; a subgraph is reused only when
it is complete, so that nothing recurses.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from support.model_writer import ModelWriter, SubgraphWriter

Array = NDArray[Any]
Kind = tuple[str, tuple[int, ...]]

COUNTER: Kind = ("int32", (1,))
FLAG: Kind = ("bool", (1,))
KINDS: tuple[Kind, ...] = (
    COUNTER,
    ("int32", (4,)),
    ("int32", (2, 2)),
    ("int32", (6,)),
    ("int32", (2,)),
    ("int32", ()),
    FLAG,
    ("int64", (3,)),
    ("int64", (4,)),
    ("bool", (4,)),
    ("bool", (3,)),
)
ARITHMETIC = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")
COMPARISONS = ("LESS", "GREATER", "EQUAL", "NOT_EQUAL")


class Chooser(Protocol):
    """Source of random decisions: a seed, or hypothesis. Lower numbers are the simpler choices."""

    def integer(self, low: int, high: int) -> int: ...


def pick(choose: Chooser, items: Sequence[Any]) -> Any:
    """One of the items."""
    return items[choose.integer(0, len(items) - 1)]


class Seeded:
    """Decisions from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class Drawn:
    """Decisions by hypothesis; `draw(low, high)` draws an integer."""

    def __init__(self, draw: Callable[[int, int], int]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(low, high) if low < high else low


@dataclass(frozen=True, slots=True)
class Finished:
    """A complete subgraph; `role` is "" or what a loop may rely on (its counter's place and limit)."""

    index: int
    inputs: tuple[Kind, ...]
    outputs: tuple[Kind, ...]
    role: tuple[Any, ...] = ()


@dataclass
class _Scope:
    """A subgraph in the making and its values by kind."""

    graph: SubgraphWriter
    depth: int
    values: dict[Kind, list[int]] = field(default_factory=dict)
    handles: dict[str, int] = field(default_factory=dict)

    def add(self, kind: Kind) -> int:
        index = self.graph.tensor(f"t{len(self.graph.tensors)}", *kind)
        self.values.setdefault(kind, []).append(index)
        return index


def random_program(choose: Chooser) -> bytes:
    """A .tflite file; subgraph 0 is the entry, and at times another one has a signature too."""
    return _Builder(choose).build()


def random_inputs(kinds: Sequence[tuple[str, tuple[int, ...]]], rng: np.random.Generator) -> tuple[Array, ...]:
    """Values for inputs of (dtype, shape): small ones now and then, so that comparisons go either way."""
    arrays = []
    for dtype, shape in kinds:
        limit = 2 if dtype == "bool" else int(rng.choice([3, 100, 2**31 - 1]))
        arrays.append(rng.integers(0 if dtype == "bool" else -limit, limit, shape).astype(dtype))
    return tuple(arrays)


class _Builder:
    def __init__(self, choose: Chooser) -> None:
        self._choose = choose
        self._writer = ModelWriter()
        self._pool: list[Finished] = []
        self._budget = 60
        self._variables: list[tuple[str, Kind]] = []
        self._assigning = True
        """False inside of conditions, which must leave variables alone."""
        self._assigners: set[int] = set()
        """Subgraphs that assign variables, or call one that does."""

    def build(self) -> bytes:
        self._variables = [(f"v{i}", kind) for i, kind in enumerate(self._kinds(0, 2) if self._one_in(2) else ())]
        inputs = (*self._kinds(1, 5), COUNTER, FLAG)
        main = self._subgraph(inputs, None, 0)
        self._initialize(self._writer.subgraphs[main.index])
        others = [f for f in self._pool if f.index != main.index and f.inputs and f.outputs]
        if others and self._one_in(4):
            for key, finished in (("main", main), ("other", self._pick(others))):
                graph = self._writer.subgraphs[finished.index]
                self._writer.signature(
                    key,
                    {f"i{n}": t for n, t in enumerate(graph.inputs)},
                    {f"o{n}": t for n, t in enumerate(graph.outputs)},
                    finished.index,
                )
        return self._writer.finish()

    # -- decisions

    def _one_in(self, count: int) -> bool:
        return self._choose.integer(0, count - 1) == count - 1

    def _pick(self, items: Sequence[Any]) -> Any:
        return items[self._choose.integer(0, len(items) - 1)]

    def _kinds(self, least: int, greatest: int) -> tuple[Kind, ...]:
        """Some kinds; often the same again, since only values of one kind can change places."""
        kinds: list[Kind] = []
        for _ in range(self._choose.integer(least, greatest)):
            kinds.append(self._pick(kinds) if kinds and self._one_in(2) else self._pick(KINDS))
        return tuple(kinds)

    # -- values

    def _constant(self, scope: _Scope, kind: Kind, value: int | None = None) -> int:
        dtype, shape = kind
        if value is None:
            value = self._choose.integer(-2, 2)
        array = np.full(shape, value).astype(dtype)
        if array.size > 1 and dtype != "bool":
            array += np.arange(array.size, dtype=dtype).reshape(shape)
        return scope.graph.constant(f"c{len(scope.graph.tensors)}", array)

    def _value(self, scope: _Scope, kind: Kind) -> int:
        """An existing value of a kind, or a constant."""
        values = scope.values.get(kind, [])
        if not values or self._one_in(12):
            return self._constant(scope, kind)
        recent = values[-3:] if self._one_in(2) else values
        return int(self._pick(recent[::-1]))

    # -- statements

    def _subgraph(
        self, inputs: Sequence[Kind], outputs: Sequence[Kind] | None, depth: int, counter: int = -1
    ) -> Finished:
        """A new subgraph; without `outputs`, they are of the kinds that it has.

        With `counter`, that input comes back incremented at the same place.
        """
        scope = _Scope(self._writer.subgraph(f"g{len(self._writer.subgraphs)}"), depth)
        scope.graph.inputs = [scope.add(kind) for kind in inputs]
        for _ in range(self._choose.integer(0, 5) if outputs is not None else self._choose.integer(1, 8)):
            self._statement(scope)
        if outputs is None:
            outputs = tuple(self._pick(list(scope.values)[::-1]) for _ in range(self._choose.integer(1, 5)))
        results = [self._value(scope, kind) for kind in outputs]
        if counter >= 0:
            step = self._constant(scope, COUNTER, self._choose.integer(1, 2))
            results[counter] = scope.add(COUNTER)
            scope.graph.operator("ADD", [scope.graph.inputs[counter], step], [results[counter]])
        scope.graph.outputs = results
        finished = Finished(scope.graph.index, tuple(inputs), tuple(outputs), ("body", counter) if counter >= 0 else ())
        self._pool.append(finished)
        return finished

    def _statement(self, scope: _Scope) -> None:
        self._budget -= 1
        nests = self._budget > 0 and scope.depth < 3
        kinds = [self._arithmetic, self._arithmetic, self._compare, self._reshape, self._cast, self._join, self._cut]
        if self._variables:
            kinds += [self._read, self._assign] if self._assigning else [self._read]
        if nests:
            kinds += [self._if, self._while, self._if, self._while, self._call]
        self._pick(kinds)(scope)

    def _arithmetic(self, scope: _Scope) -> None:
        dtype, shape = kind = self._pick(KINDS)
        operands = [self._value(scope, kind), self._value(scope, kind)]
        if dtype == "int32" and self._one_in(4):
            operands[self._choose.integer(0, 1)] = self._value(scope, COUNTER)
            kind = (dtype, shape or (1,))
        name = self._pick(("LOGICAL_AND", "LOGICAL_OR") if dtype == "bool" else ARITHMETIC)
        scope.graph.operator(name, operands, [scope.add(kind)])

    def _compare(self, scope: _Scope) -> None:
        kind = self._pick([k for k in KINDS if k[0] != "bool" and ("bool", k[1]) in KINDS])
        operands = [self._value(scope, kind), self._value(scope, kind)]
        scope.graph.operator(self._pick(COMPARISONS), operands, [scope.add(("bool", kind[1]))])

    def _reshape(self, scope: _Scope) -> None:
        kind, other = self._pick(
            [(a, b) for a in KINDS for b in KINDS if a[0] == b[0] and np.prod(a[1]) == np.prod(b[1])]
        )
        shape = scope.graph.constant(f"c{len(scope.graph.tensors)}", np.array(other[1], np.int32))
        scope.graph.operator("RESHAPE", [self._value(scope, kind), shape], [scope.add(other)])

    def _join(self, scope: _Scope) -> None:
        """CONCATENATION; often of one value with itself, or of what _cut made."""
        sizes = self._pick(((2, 4), (2, 2), (2, 2, 2), (4, 2)))
        operands = [self._value(scope, ("int32", (size,))) for size in sizes]
        scope.graph.operator("CONCATENATION", operands, [scope.add(("int32", (sum(sizes),)))], {"axis": 0})

    def _cut(self, scope: _Scope) -> None:
        """SPLIT into equal parts, or SLICE."""
        size = self._pick((4, 6))
        whole = self._value(scope, ("int32", (size,)))
        if self._one_in(2):
            axis = scope.graph.constant(f"c{len(scope.graph.tensors)}", np.array(0, np.int32))
            parts = [scope.add(("int32", (2,))) for _ in range(size // 2)]
            scope.graph.operator("SPLIT", [axis, whole], parts, {"num_splits": len(parts)})
            return
        length = 2 if size == 4 else self._pick((2, 4))
        bounds = [self._choose.integer(0, size - length), length]
        begin, count = (
            scope.graph.constant(f"c{len(scope.graph.tensors) + i}", np.array([v], np.int32))
            for i, v in enumerate(bounds)
        )
        scope.graph.operator("SLICE", [whole, begin, count], [scope.add(("int32", (length,)))])

    def _cast(self, scope: _Scope) -> None:
        kind, other = self._pick([(a, b) for a in KINDS for b in KINDS if a[1] == b[1] and a[0] != b[0]])
        scope.graph.operator("CAST", [self._value(scope, kind)], [scope.add(other)])

    def _handle(self, scope: _Scope, name: str) -> int:
        if name not in scope.handles:
            scope.handles[name] = scope.graph.tensor(f"h{len(scope.graph.tensors)}", "resource", ())
            scope.graph.operator("VAR_HANDLE", [], [scope.handles[name]], {"container": "", "shared_name": name})
        return scope.handles[name]

    def _read(self, scope: _Scope) -> None:
        name, kind = self._pick(self._variables)
        handle = self._handle(scope, name)
        scope.graph.operator("READ_VARIABLE", [handle], [scope.add(kind)])

    def _assign(self, scope: _Scope) -> None:
        name, kind = self._pick(self._variables)
        scope.graph.operator("ASSIGN_VARIABLE", [self._handle(scope, name), self._value(scope, kind)], [])
        self._assigners.add(scope.graph.index)

    def _initialize(self, main: SubgraphWriter) -> None:
        """A CALL_ONCE that gives every variable its first contents."""
        if not self._variables:
            return
        scope = _Scope(self._writer.subgraph("initialize"), 0)
        for name, kind in self._variables:
            operands = [self._handle(scope, name), self._constant(scope, kind)]
            scope.graph.operator("ASSIGN_VARIABLE", operands, [])
        main.operator("CALL_ONCE", [], [], {"init_subgraph_index": scope.graph.index})
        main.operators.insert(0, main.operators.pop())

    def _condition(self, scope: _Scope) -> int:
        if not scope.values.get(FLAG) and scope.values.get(COUNTER):
            limit = self._constant(scope, COUNTER)
            scope.graph.operator("LESS", [self._value(scope, COUNTER), limit], [scope.add(FLAG)])
        return self._value(scope, FLAG)

    def _usable(self) -> list[Finished]:
        """The complete subgraphs that may be called here."""
        return [f for f in self._pool if self._assigning or f.index not in self._assigners]

    def _calls(self, scope: _Scope, *targets: int) -> None:
        if not self._assigners.isdisjoint(targets):
            self._assigners.add(scope.graph.index)

    def _target(self, inputs: Sequence[Kind], outputs: Sequence[Kind], depth: int) -> Finished:
        fitting = [f for f in self._usable() if f.inputs == tuple(inputs) and f.outputs == tuple(outputs)]
        if fitting and self._one_in(2):
            return fitting[self._choose.integer(0, len(fitting) - 1)]
        return self._subgraph(inputs, outputs, depth)

    def _if(self, scope: _Scope) -> None:
        condition = self._condition(scope)
        inputs, outputs = self._kinds(0, 3), self._kinds(0, 3)
        operands = [self._value(scope, kind) for kind in inputs]
        then = self._target(inputs, outputs, scope.depth + 1)
        orelse = self._target(inputs, outputs, scope.depth + 1)
        self._calls(scope, then.index, orelse.index)
        scope.graph.operator(
            "IF",
            [condition, *operands],
            [scope.add(kind) for kind in outputs],
            {"then_subgraph_index": then.index, "else_subgraph_index": orelse.index},
        )

    def _call(self, scope: _Scope) -> None:
        complete = [f for f in self._usable() if f.outputs]
        if complete and self._one_in(2):
            target = self._pick(complete)
        else:
            target = self._subgraph(self._kinds(0, 3), self._kinds(1, 3), scope.depth + 1)
        self._calls(scope, target.index)
        operands = [self._value(scope, kind) for kind in target.inputs]
        results = [scope.add(kind) for kind in target.outputs]
        scope.graph.operator("CALL", operands, results, {"subgraph": target.index})

    def _while(self, scope: _Scope) -> None:
        """variables = counter, and in one form of two a flag that the condition returns as it is, and others."""
        flagged = self._one_in(2)
        fixed = (COUNTER, FLAG) if flagged else (COUNTER,)
        others = self._kinds(0, 3)
        place = self._choose.integer(0, len(others))
        kinds = (*others[:place], *fixed, *others[place:])
        limit = self._choose.integer(0, 3)
        operands = [self._value(scope, kind) for kind in kinds]
        operands[place] = self._start(scope, limit)
        condition = self._loop_condition(kinds, place, limit, flagged, scope.depth + 1)
        body = self._loop_body(kinds, place, limit, flagged, scope.depth + 1)
        self._calls(scope, condition, body)
        scope.graph.operator(
            "WHILE",
            operands,
            [scope.add(kind) for kind in kinds],
            {"cond_subgraph_index": condition, "body_subgraph_index": body},
        )

    def _start(self, scope: _Scope, limit: int) -> int:
        """A counter from which at most three iterations reach the limit."""
        least = self._constant(scope, COUNTER, limit - self._choose.integer(0, 3))
        if self._one_in(4):
            return least
        value = self._value(scope, COUNTER)
        start = scope.add(COUNTER)
        scope.graph.operator("MAXIMUM", [value, least], [start])
        return start

    def _loop_condition(self, kinds: tuple[Kind, ...], place: int, limit: int, flagged: bool, depth: int) -> int:
        role = ("condition", place, limit, flagged)
        for finished in self._pool:
            if finished.role == role and finished.inputs == kinds and self._one_in(2):
                return finished.index
        scope = _Scope(self._writer.subgraph(f"g{len(self._writer.subgraphs)}"), depth)
        scope.graph.inputs = [scope.add(kind) for kind in kinds]
        before, self._assigning = self._assigning, False
        for _ in range(self._choose.integer(0, 2)):
            self._statement(scope)
        self._assigning = before
        if flagged:
            scope.graph.outputs = [scope.graph.inputs[place + 1]]
        else:
            operands = [scope.graph.inputs[place], self._constant(scope, COUNTER, limit)]
            scope.graph.outputs = [scope.add(FLAG)]
            scope.graph.operator("LESS", operands, scope.graph.outputs)
        self._pool.append(Finished(scope.graph.index, kinds, (FLAG,), role))
        return scope.graph.index

    def _loop_body(self, kinds: tuple[Kind, ...], place: int, limit: int, flagged: bool, depth: int) -> int:
        role = ("body", place, limit) if flagged else ("body", place)
        for finished in self._usable():
            if finished.role == role and finished.inputs == kinds and self._one_in(2):
                return finished.index
        finished = self._subgraph(kinds, kinds, depth, place)
        if flagged:
            # The flag ends the loop no later than the counter would.
            self._pool.remove(finished)
            graph = self._writer.subgraphs[finished.index]
            scope = _Scope(graph, depth)
            less = scope.add(FLAG)
            graph.operator("LESS", [graph.outputs[place], self._constant(scope, COUNTER, limit)], [less])
            if self._one_in(2):
                both = scope.add(FLAG)
                graph.operator("LOGICAL_AND", [less, graph.outputs[place + 1]], [both])
                less = both
            graph.outputs[place + 1] = less
            self._pool.append(Finished(finished.index, kinds, kinds, role))
        return finished.index
