"""Corrupts Modules as wrong passes would: well-formed graphs that compute something else than the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from tflmgen.ir import DType, Quantization
from tflmgen.ir.graph import Block, If, Module, Node, Op, Value, While, walk
from tflmgen.ir.rewrite import Ids, Rewriter, clone

from support.random_program import Chooser, pick

Mutation = Callable[[Module, Chooser], Module]
NodeChange = Callable[[Any], Node]


class _Nodes(Rewriter):
    """Replaces one node by its id, or uses of values by `mapping`."""

    def __init__(self, changes: Mapping[int, NodeChange]) -> None:
        super().__init__()
        self._changes = changes

    def node(self, node: Node) -> Sequence[Node]:
        change = self._changes.get(node.id)
        return (self.regions(change(node) if change else node),)


class _Blocks(Rewriter):
    """Changes the results of one block, the one whose number is `wanted` in the order of visits."""

    def __init__(self, wanted: Block, results: tuple[Value, ...]) -> None:
        super().__init__()
        self._wanted, self._results = wanted, results

    def block(self, block: Block) -> Block:
        changed = super().block(block)
        return replace(changed, results=self._results) if block is self._wanted else changed


def nodes_of(module: Module, kind: type[Any]) -> list[Any]:
    return [node for f in module.functions for node in walk(f.body) if isinstance(node, kind)]


def _blocks(module: Module) -> Iterator[Block]:
    for function in module.functions:
        yield function.body
        for node in walk(function.body):
            if isinstance(node, If):
                yield from (node.then, node.orelse)
            elif isinstance(node, While):
                yield from (node.condition, node.body)


def _changed(module: Module, node: Node, change: NodeChange) -> Module:
    return _Nodes({node.id: change}).run(module)


def with_replaced(module: Module, old: Value, new: Value) -> Module:
    """Every use of a value becomes one of another value."""
    rewriter = Rewriter()
    rewriter.mapping[old] = new
    return rewriter.run(module)


def _alike(first: Value, second: Value) -> bool:
    return first.type.dtype is second.type.dtype and first.type.shape == second.type.shape


def exchange_operands(module: Module, choose: Chooser) -> Module:
    """An operator's operands of one type change places."""
    sites = [
        (op, i, j)
        for op in nodes_of(module, Op)
        for i, a in enumerate(op.inputs)
        for j, b in enumerate(op.inputs[:i])
        if a and b and a != b and _alike(a, b)
    ]
    if not sites:
        return module
    op, i, j = pick(choose, sites)
    inputs = list(op.inputs)
    inputs[i], inputs[j] = inputs[j], inputs[i]
    return _changed(module, op, lambda node: replace(node, inputs=tuple(inputs)))


def read_another_value(module: Module, choose: Chooser) -> Module:
    """An operator reads another value of the same type that is there: of two computations taken for equal."""
    sites = []
    for block in _blocks(module):
        earlier: list[Value] = []
        for node in block.nodes:
            if isinstance(node, Op):
                pairs = ((i, old, new) for i, old in enumerate(node.inputs) for new in earlier if old)
                sites += [(node, i, new) for i, old, new in pairs if old != new and _alike(old, new)]
            earlier += node.outputs
    if not sites:
        return module
    op, i, value = pick(choose, sites)
    return _changed(module, op, lambda node: replace(node, inputs=(*op.inputs[:i], value, *op.inputs[i + 1 :])))


def drop_operator(module: Module, choose: Chooser) -> Module:
    """An operator is taken for an identity: what reads its output reads an input of the same type."""
    sites = [
        (op.outputs[0], value)
        for op in nodes_of(module, Op)
        for value in op.inputs
        if value and len(op.outputs) == 1 and _alike(value, op.outputs[0])
    ]
    return with_replaced(module, *pick(choose, sites)) if sites else module


_EXCHANGED = (
    *(("ADD", "SUB"), ("MAXIMUM", "MINIMUM"), ("LESS", "LESS_EQUAL"), ("GREATER", "GREATER_EQUAL")),
    *(("EQUAL", "NOT_EQUAL"), ("LOGICAL_AND", "LOGICAL_OR"), ("RELU", "RELU6"), ("AVERAGE_POOL_2D", "MAX_POOL_2D")),
    *(("TANH", "LOGISTIC"), ("SUM", "MEAN"), ("RSQRT", "SQRT"), ("FLOOR", "CEIL")),
)

OTHERS = {
    **dict(_EXCHANGED),
    **{second: first for first, second in _EXCHANGED},
    "MUL": "ADD",
    "EXP": "NEG",
    "REDUCE_MAX": "REDUCE_MIN",
    "SQUARE": "ABS",
}
"""What each of these operators is taken for; attributes are the same."""


def change_operator(module: Module, choose: Chooser) -> Module:
    sites = [op for op in nodes_of(module, Op) if op.operator in OTHERS]
    if not sites:
        return module
    op = pick(choose, sites)
    return _changed(module, op, lambda node: replace(node, operator=OTHERS[op.operator]))


def change_attribute(module: Module, choose: Chooser) -> Module:
    """A number, flag or name among an operator's attributes is another one."""
    sites = [op for op in nodes_of(module, Op) if is_dataclass(op.attributes) and fields(op.attributes)]
    if not sites:
        return module
    op = pick(choose, sites)
    attributes = _other(op.attributes, choose)
    return _changed(module, op, lambda node: replace(node, attributes=attributes))


def _other(value: Any, choose: Chooser) -> Any:
    if isinstance(value, Enum):
        members = list(type(value))
        return members[(members.index(value) + 1) % len(members)]
    if is_dataclass(value) and not isinstance(value, type | Quantization):
        names = [field.name for field in fields(value)]
        name = pick(choose, names) if names else ""
        return replace(value, **{name: _other(getattr(value, name), choose)}) if names else value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + pick(choose, (-1, 1))
    if isinstance(value, float):
        return value * 2 + 1
    if isinstance(value, tuple) and value:
        at = choose.integer(0, len(value) - 1)
        return (*value[:at], _other(value[at], choose), *value[at + 1 :])
    return value


def change_scale(module: Module, choose: Chooser) -> Module:
    """An inner tensor gets another scale or zero point: operators joined with the wrong requantisation."""
    outputs = [v for op in nodes_of(module, Op) for v in op.outputs if v.type.quantization]
    if not outputs:
        return module
    old = pick(choose, outputs)
    quantization = old.type.quantization
    if choose.integer(0, 1) and old.type.dtype is not DType.INT16:
        points = tuple(p + (1 if p < 0 else -1) for p in quantization.zero_points)
        changed = replace(quantization, zero_points=points)
    else:
        changed = replace(quantization, scales=tuple(s * 1.25 for s in quantization.scales))
    new = replace(old, type=replace(old.type, quantization=changed))

    def redefine(node: Node) -> Node:
        return replace(node, outputs=tuple(new if v == old else v for v in node.outputs))

    (producer,) = (op for op in nodes_of(module, Op) if old in op.outputs)
    return _changed(_replaced_types(module, new), producer, redefine)


def _replaced_types(module: Module, new: Value) -> Module:
    """Uses of a value with that id see its new type."""

    class Types(Rewriter):
        def node(self, node: Node) -> Sequence[Node]:
            if isinstance(node, Op):
                node = replace(node, inputs=tuple(new if v == new else v for v in node.inputs))
            return (self.regions(node),)

    return Types().run(module)


def exchange_branches(module: Module, choose: Chooser) -> Module:
    sites = nodes_of(module, If)
    if not sites:
        return module
    return _changed(module, pick(choose, sites), lambda n: replace(n, then=n.orelse, orelse=n.then))


def decide_branch(module: Module, choose: Chooser) -> Module:
    """An If's other branch is the same one: a condition that is taken for constant."""
    sites = nodes_of(module, If)
    if not sites:
        return module
    node, ids = pick(choose, sites), Ids(module)
    if choose.integer(0, 1):
        copy = clone(node.then, {}, ids)
        return _changed(module, node, lambda n: replace(n, orelse=copy))
    copy = clone(node.orelse, {}, ids)
    return _changed(module, node, lambda n: replace(n, then=copy))


def change_trips(module: Module, choose: Chooser) -> Module:
    sites = [loop for loop in nodes_of(module, While) if loop.trips is not None]
    if not sites:
        return module
    loop, by = pick(choose, sites), pick(choose, (-1, 1))
    return _changed(module, loop, lambda n: replace(n, trips=max(0, loop.trips + by)))


def fix_trips(module: Module, choose: Chooser) -> Module:
    """A loop whose iterations depend on its inputs is taken for one that counts."""
    sites = [loop for loop in nodes_of(module, While) if loop.trips is None]
    if not sites:
        return module
    loop, trips = pick(choose, sites), choose.integer(0, 3)
    empty = replace(loop.condition, nodes=(), results=())
    return _changed(module, loop, lambda n: replace(n, trips=trips, condition=empty))


def freeze_variable(module: Module, choose: Chooser) -> Module:
    """A loop variable is taken for one that never changes."""
    sites = [
        (loop, i) for loop in nodes_of(module, While) for i, v in enumerate(loop.variables) if loop.body.results[i] != v
    ]
    if not sites:
        return module
    loop, i = pick(choose, sites)
    results = (*loop.body.results[:i], loop.variables[i], *loop.body.results[i + 1 :])
    return _Blocks(loop.body, results).run(module)


def hoist_variable(module: Module, choose: Chooser) -> Module:
    """Replaces a variable in a loop's body by its initial value."""
    sites = [(loop, i) for loop in nodes_of(module, While) for i in range(len(loop.variables))]
    if not sites:
        return module
    loop, i = pick(choose, sites)
    variable, first = loop.variables[i], loop.inits[i]

    class Body(Rewriter):
        def block(self, block: Block) -> Block:
            if block is loop.body:
                rewriter = Rewriter()
                rewriter.mapping[variable] = first
                return rewriter.block(block)
            return super().block(block)

    return Body().run(module)


def exchange_results(module: Module, choose: Chooser) -> Module:
    """Two results of a function, branch or loop body change places."""
    sites = [
        (block, i, j)
        for block in _blocks(module)
        for i, a in enumerate(block.results)
        for j, b in enumerate(block.results[:i])
        if a != b and _alike(a, b)
    ]
    if not sites:
        return module
    block, i, j = pick(choose, sites)
    results = list(block.results)
    results[i], results[j] = results[j], results[i]
    return _Blocks(block, tuple(results)).run(module)


def exchange_nodes(module: Module, choose: Chooser) -> Module:
    """Two neighbours change places."""
    sites = [(block, i) for block in _blocks(module) for i in range(1, len(block.nodes))]
    if not sites:
        return module
    wanted, at = pick(choose, sites)

    class Swapped(Rewriter):
        def block(self, block: Block) -> Block:
            if block is wanted:
                nodes = block.nodes
                block = replace(block, nodes=(*nodes[: at - 1], nodes[at], nodes[at - 1], *nodes[at + 1 :]))
            return super().block(block)

    return Swapped().run(module)


def drop_update(module: Module, choose: Chooser) -> Module:
    """A persistent variable keeps its contents."""
    functions = [f for f in module.functions if f.state]
    sites = [(f, i) for f in functions for i in range(-len(f.state), 0) if f.body.results[i] != f.inputs[i]]
    if not sites:
        return module
    function, i = pick(choose, sites)
    results = list(function.body.results)
    results[i] = function.inputs[i]
    return _Blocks(function.body, tuple(results)).run(module)


MUTATIONS: tuple[Mutation, ...] = (
    exchange_operands,
    read_another_value,
    drop_operator,
    change_operator,
    change_attribute,
    change_scale,
    exchange_branches,
    decide_branch,
    change_trips,
    fix_trips,
    freeze_variable,
    hoist_variable,
    exchange_results,
    exchange_nodes,
    drop_update,
)
