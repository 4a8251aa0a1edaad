"""The fixed execution plan: a tree of numbered steps, one tree per function.

Steps are numbered across the whole program; liveness, storage, checker, emitter and report refer to these indices. A
boundary where values change names (end of a branch, entry and back edge of a loop, arguments and results of a call,
entry and exit of a function) is a separate step, since bytes may have to be copied there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from tflmgen.ir import substitute
from tflmgen.ir.graph import Block, Call, Function, If, Module, Node, Op, Value, While


@dataclass(frozen=True, slots=True)
class Step:
    """Executes one operator."""

    index: int
    op: Op


@dataclass(frozen=True, slots=True)
class Boundary:
    """Parallel assignment values[i] = sources[i]; `kind`: its role, such as entry, then, else, init, next."""

    index: int
    kind: str
    values: tuple[Value, ...]
    sources: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class IfStep:
    """An If: the step reads the condition at `index`; each branch ends with the boundary that assigns the outputs."""

    index: int
    node: If
    then: Sequence
    then_end: Boundary
    orelse: Sequence
    else_end: Boundary


@dataclass(frozen=True, slots=True)
class WhileStep:
    """While: init; loop: condition; read it at `index`; exit or run the body; next.

    The outputs are other names of the variables, so that the exit needs no boundary.
    """

    init: Boundary
    condition: Sequence
    index: int
    node: While
    body: Sequence
    next: Boundary


@dataclass(frozen=True, slots=True)
class CallStep:
    """Call: arguments are assigned to the function's inputs, it runs at `index`, results are assigned to outputs."""

    arguments: Boundary
    index: int
    node: Call
    results: Boundary


ScheduleItem = Step | IfStep | WhileStep | CallStep


@dataclass(frozen=True, slots=True)
class Sequence:
    """Items executed one after another."""

    items: tuple[ScheduleItem, ...]


@dataclass(frozen=True, slots=True)
class ScheduledFunction:
    """Tree of a function. Its inputs exist from step `entry`; its results are read at step `exit`.

    An entry function loads the persistent variables from their own memory (`load`) and stores them there (`store`). A
    called function gets and returns their contents as ordinary values; its two boundaries are empty.
    """

    function: Function
    entry: int
    load: Boundary
    body: Sequence
    store: Boundary
    exit: int
    is_entry: bool


@dataclass(frozen=True, slots=True)
class Schedule:
    """Trees of all functions, callees first; `steps`: number of step indices."""

    functions: tuple[ScheduledFunction, ...]
    steps: int


def schedule(module: Module) -> Schedule:
    """Schedules every block in the order of its nodes, which must be topological."""
    numbers = count()
    functions = tuple(_function(f, module, numbers) for f in module.functions)
    return Schedule(functions, next(numbers))


def _function(function: Function, module: Module, numbers: Iterator[int]) -> ScheduledFunction:
    is_entry = any(s.function == function.name for s in module.signatures)
    if is_entry:
        function = _unchanged_at_home(function, module)
    homes = tuple(module.state[name].home for name in function.state) if is_entry else ()
    first = len(function.inputs) - len(homes)
    last = len(function.body.results) - len(homes)
    entry = next(numbers)
    load = Boundary(next(numbers), "load", function.inputs[first:], homes)
    body = _sequence(function.body, module, numbers)
    store = Boundary(next(numbers), "store", homes, function.body.results[last:])
    return ScheduledFunction(function, entry, load, body, store, next(numbers), is_entry)


def _unchanged_at_home(function: Function, module: Module) -> Function:
    """The function without results for variables that it does not assign; it reads them in their own memory."""
    ports = len(function.body.results) - len(function.state)
    contents = dict(zip(function.state, function.inputs[function.ports :], strict=True))
    returned = dict(zip(function.state, function.body.results[ports:], strict=True))
    changed = tuple(name for name in function.state if contents[name] != returned[name])
    body = replace(function.body, results=(*function.body.results[:ports], *(returned[name] for name in changed)))
    read = {contents[name]: module.state[name].home for name in function.state if name not in changed}
    inputs = (*function.inputs[: function.ports], *(contents[name] for name in changed))
    return Function(function.name, inputs, substitute(body, read), changed)


def _sequence(block: Block, module: Module, numbers: Iterator[int]) -> Sequence:
    return Sequence(tuple(_item(node, module, numbers) for node in block.nodes))


def _item(node: Node, module: Module, numbers: Iterator[int]) -> ScheduleItem:
    if isinstance(node, Op):
        return Step(next(numbers), node)
    if isinstance(node, If):
        index = next(numbers)
        then = _sequence(node.then, module, numbers)
        then_end = Boundary(next(numbers), "then", node.outputs, node.then.results)
        orelse = _sequence(node.orelse, module, numbers)
        else_end = Boundary(next(numbers), "else", node.outputs, node.orelse.results)
        return IfStep(index, node, then, then_end, orelse, else_end)
    if isinstance(node, While):
        init = Boundary(next(numbers), "init", node.variables, node.inits)
        condition = _sequence(node.condition, module, numbers)
        index = next(numbers)
        body = _sequence(node.body, module, numbers)
        following = Boundary(next(numbers), "next", node.variables, node.body.results)
        return WhileStep(init, condition, index, node, body, following)
    callee = module.function(node.function)
    arguments = Boundary(next(numbers), "arguments", callee.inputs, node.inputs)
    index = next(numbers)
    results = Boundary(next(numbers), "results", node.outputs, callee.body.results)
    return CallStep(arguments, index, node, results)


def boundaries(schedule: Schedule) -> Iterator[tuple[Boundary, int]]:
    """(boundary, loop depth) of a program; the back edge of a loop is inside the loop."""
    for function in schedule.functions:
        yield function.load, 0
        for item, depth in walk_items(function.body):
            for boundary in boundaries_of(item):
                yield boundary, depth + (boundary.kind == "next")
        yield function.store, 0


def boundaries_of(item: ScheduleItem) -> tuple[Boundary, ...]:
    """Boundaries of one item, in execution order."""
    if isinstance(item, IfStep):
        return (item.then_end, item.else_end)
    if isinstance(item, WhileStep):
        return (item.init, item.next)
    if isinstance(item, CallStep):
        return (item.arguments, item.results)
    return ()


def walk_items(sequence: Sequence) -> Iterator[tuple[ScheduleItem, int]]:
    """(item, loop depth) of a tree, outer items first."""
    for item in sequence.items:
        yield item, 0
        if isinstance(item, IfStep):
            yield from walk_items(item.then)
            yield from walk_items(item.orelse)
        elif isinstance(item, WhileStep):
            for part in (item.condition, item.body):
                yield from ((inner, depth + 1) for inner, depth in walk_items(part))
