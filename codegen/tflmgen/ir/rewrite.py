"""Rewriting of graphs: substitution of values, rebuilding of a module, fresh ids, copies of blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_

from tflmgen.ir.graph.module import (
    Block,
    Call,
    Function,
    If,
    Module,
    Node,
    Op,
    Value,
    While,
    blocks_of,
    definitions_in,
    operands_of,
    uses_in,
    walk,
)


def resolve(value: Value, mapping: Mapping[Value, Value]) -> Value:
    """The final replacement of a value: a replacement may itself have been replaced."""
    while value in mapping:
        value = mapping[value]
    return value


def resolve_all(values: tuple[Value, ...], mapping: Mapping[Value, Value]) -> tuple[Value, ...]:
    """The final replacement of each value, as `resolve` finds it."""
    return tuple(resolve(v, mapping) for v in values)


def resolve_operands(node: Node, mapping: Mapping[Value, Value]) -> Node:
    """The node with its own operands replaced, itself where none is; uses inside its regions stay."""
    if not mapping or mapping.keys().isdisjoint(operands_of(node)):
        return node
    if isinstance(node, Op):
        return replace(node, inputs=tuple(None if v is None else resolve(v, mapping) for v in node.inputs))
    if isinstance(node, If):
        return replace(node, condition=resolve(node.condition, mapping))
    if isinstance(node, Call):
        return replace(node, inputs=resolve_all(node.inputs, mapping))
    return replace(node, inits=resolve_all(node.inits, mapping))


def with_regions(node: Node, regions: Sequence[Block]) -> Node:
    """The node with these regions, in the order of `blocks_of`."""
    if isinstance(node, If):
        return replace(node, then=regions[0], orelse=regions[1])
    if isinstance(node, While):
        return replace(node, condition=regions[0], body=regions[1])
    return node


def substitute(block: Block, mapping: Mapping[Value, Value]) -> Block:
    """The block with every use of a key of `mapping` replaced by its value, regions included."""
    if not mapping:
        return block
    rewriter = Rewriter()
    rewriter.mapping.update(mapping)
    return rewriter.block(block)


def keep(node: While, indices: Sequence[int]) -> While:
    """The loop with only the variables at `indices`; the others must have no uses."""

    def pick(values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(values[i] for i in indices)

    return replace(
        node,
        variables=pick(node.variables),
        inits=pick(node.inits),
        body=replace(node.body, results=pick(node.body.results)),
        outputs=pick(node.outputs),
    )


class Rewriter:
    """Rebuilds a module in execution order, with operands resolved through `mapping`.

    Passes override the methods for the parts that they change. What stays the same is returned itself, not a copy of
    it. A value may be mapped until its definition has been visited; later, uses may already be rebuilt.
    """

    def __init__(self) -> None:
        self.mapping: dict[Value, Value] = {}

    def run(self, module: Module) -> Module:
        """The module with all its functions rebuilt; signatures and state are those of before."""
        functions = tuple(self.function(f) for f in module.functions)
        return module if _are_identical(functions, module.functions) else replace(module, functions=functions)

    def function(self, function: Function) -> Function:
        """The function with its body rebuilt."""
        body = self.block(function.body)
        return function if body is function.body else replace(function, body=body)

    def block(self, block: Block) -> Block:
        """The block with each node replaced by what `node` returns for it, and its results resolved."""
        nodes = tuple(new for node in block.nodes for new in self.node(resolve_operands(node, self.mapping)))
        results = resolve_all(block.results, self.mapping)
        same = _are_identical(nodes, block.nodes) and _are_identical(results, block.results)
        return block if same else replace(block, nodes=nodes, results=results)

    def node(self, node: Node) -> Sequence[Node]:
        """Replacement of `node`, whose own operands are resolved, but not those of its regions."""
        return (self.regions(node),)

    def regions(self, node: Node) -> Node:
        """The node with its regions rebuilt; a node without regions is returned as it is."""
        before = blocks_of(node)
        after = tuple(self.block(block) for block in before)
        return node if _are_identical(after, before) else with_regions(node, after)


def _are_identical(ones: Sequence[object], others: Sequence[object]) -> bool:
    """Whether both have the same objects."""
    return len(ones) == len(others) and all(map(is_, ones, others))


class Ids:
    """Generator of ids that no node or value of these modules has."""

    def __init__(self, *modules: Module) -> None:
        self._last = max((v.home.id for module in modules for v in module.state.values()), default=0)
        for function in (function for module in modules for function in module.functions):
            values = (*function.inputs, *definitions_in(function.body), *uses_in(function.body))
            self._last = max([self._last, *(v.id for v in values), *(n.id for n in walk(function.body))])

    def take(self) -> int:
        """The next id, which is never given twice."""
        self._last += 1
        return self._last


def clone(block: Block, mapping: dict[Value, Value], ids: Ids) -> Block:
    """A copy of a block with fresh ids for nodes and definitions; adds old -> new definitions to `mapping`."""

    def fresh(values: tuple[Value, ...]) -> tuple[Value, ...]:
        for value in values:
            mapping[value] = replace(value, id=ids.take())
        return tuple(mapping[v] for v in values)

    nodes: list[Node] = []
    for node in block.nodes:
        node = resolve_operands(node, mapping)
        if isinstance(node, While):
            node = replace(node, variables=fresh(node.variables))
        if isinstance(node, If):
            node = with_regions(node, [clone(b, mapping, ids) for b in (node.then, node.orelse)])
        elif isinstance(node, While):
            node = with_regions(node, [clone(b, mapping, ids) for b in (node.condition, node.body)])
        nodes.append(replace(node, id=ids.take(), outputs=fresh(node.outputs)))
    return replace(block, nodes=tuple(nodes), results=resolve_all(block.results, mapping))
