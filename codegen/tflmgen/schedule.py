"""The fixed execution plan: a tree of numbered steps, one tree per function.

Every step has an index in one numbering for the whole program; liveness, storage, the checker, the emitter and the
report all speak of these indices. A boundary where values change names (a branch's end, a loop's entry and back edge,
a call's arguments and results, a function's entry and exit) is a step of its own, since bytes may have to move there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tflmgen.graph import Block, Call, Function, If, Module, Node, Op, Value, While


@dataclass(frozen=True, slots=True)
class Step:
    """Runs one operator."""

    index: int
    op: Op


@dataclass(frozen=True, slots=True)
class Boundary:
    """All at once, values[i] take the contents of sources[i]. `what` is its role: entry, then, else, init, next, ..."""

    index: int
    what: str
    values: tuple[Value, ...]
    sources: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class IfStep:
    """Reads the condition at `index`; each branch ends with the boundary that writes the If's outputs."""

    index: int
    node: If
    then: Sequence
    then_end: Boundary
    orelse: Sequence
    else_end: Boundary


@dataclass(frozen=True, slots=True)
class WhileStep:
    """init; loop: condition; read it at `index`; leave or run the body; next.

    The outputs are the variables under other names: nothing happens at the exit.
    """

    init: Boundary
    condition: Sequence
    index: int
    node: While
    body: Sequence
    next: Boundary


@dataclass(frozen=True, slots=True)
class CallStep:
    """Arguments become the function's inputs, the function runs at `index`, its results become the outputs."""

    arguments: Boundary
    index: int
    node: Call
    results: Boundary


ScheduleItem = Step | IfStep | WhileStep | CallStep


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items one after another."""

    items: tuple[ScheduleItem, ...]


@dataclass(frozen=True, slots=True)
class ScheduledFunction:
    """A function's tree. Its inputs are there from step `entry`, its results are read at step `exit`."""

    function: Function
    entry: int
    body: Sequence
    exit: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """The trees of all functions, callees first; `steps` is how many indices there are."""

    functions: tuple[ScheduledFunction, ...]
    steps: int


def schedule(module: Module) -> Schedule:
    """Schedules every block in its own order, which respects data flow."""
    numbers = _Numbers()
    functions = tuple(_function(f, module, numbers) for f in module.functions)
    return Schedule(functions, numbers.count)


class _Numbers:
    def __init__(self) -> None:
        self.count = 0

    def take(self) -> int:
        self.count += 1
        return self.count - 1


def _function(function: Function, module: Module, numbers: _Numbers) -> ScheduledFunction:
    entry = numbers.take()
    body = _sequence(function.body, module, numbers)
    return ScheduledFunction(function, entry, body, numbers.take())


def _sequence(block: Block, module: Module, numbers: _Numbers) -> Sequence:
    return Sequence(tuple(_item(node, module, numbers) for node in block.nodes))


def _item(node: Node, module: Module, numbers: _Numbers) -> ScheduleItem:
    if isinstance(node, Op):
        return Step(numbers.take(), node)
    if isinstance(node, If):
        index = numbers.take()
        then = _sequence(node.then, module, numbers)
        then_end = Boundary(numbers.take(), "then", node.outputs, node.then.results)
        orelse = _sequence(node.orelse, module, numbers)
        else_end = Boundary(numbers.take(), "else", node.outputs, node.orelse.results)
        return IfStep(index, node, then, then_end, orelse, else_end)
    if isinstance(node, While):
        init = Boundary(numbers.take(), "init", node.variables, node.inits)
        condition = _sequence(node.condition, module, numbers)
        index = numbers.take()
        body = _sequence(node.body, module, numbers)
        following = Boundary(numbers.take(), "next", node.variables, node.body.results)
        return WhileStep(init, condition, index, node, body, following)
    callee = module.function(node.function)
    arguments = Boundary(numbers.take(), "arguments", callee.inputs, node.inputs)
    index = numbers.take()
    results = Boundary(numbers.take(), "results", node.outputs, callee.body.results)
    return CallStep(arguments, index, node, results)


def boundaries_of(item: ScheduleItem) -> tuple[Boundary, ...]:
    """The boundaries of one item, in the order in which they run."""
    if isinstance(item, IfStep):
        return (item.then_end, item.else_end)
    if isinstance(item, WhileStep):
        return (item.init, item.next)
    if isinstance(item, CallStep):
        return (item.arguments, item.results)
    return ()


def walk_items(sequence: Sequence) -> Iterator[tuple[ScheduleItem, int]]:
    """Every item of a tree with its loop depth, outer items first."""
    for item in sequence.items:
        yield item, 0
        if isinstance(item, IfStep):
            yield from walk_items(item.then)
            yield from walk_items(item.orelse)
        elif isinstance(item, WhileStep):
            for part in (item.condition, item.body):
                yield from ((inner, depth + 1) for inner, depth in walk_items(part))
