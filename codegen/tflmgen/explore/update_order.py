"""Orders the nodes of a block so that loop variables and state are updated last.

If every reader of a variable's old contents precedes the producer of the new contents, the two are never live together
and can share one buffer. Edges reader -> producer are added where they close no cycle, largest variables first; ties
keep the file's order.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from tflmgen.explore.streams.chain import waits_for_rows
from tflmgen.ir.graph import Block, Function, If, Module, Node, Op, Value, While, blocks_of, operands_of, uses_in
from tflmgen.kernels import traits_of


def update_last(module: Module) -> Module:
    """The module with reordered loop bodies and stateful functions."""
    return replace(module, functions=tuple(map(_function, module.functions)))


def _function(function: Function) -> Function:
    count = len(function.state)
    state = function.inputs[len(function.inputs) - count :]
    following = function.body.results[len(function.body.results) - count :]
    return replace(function, body=_ordered(_inner(function.body), state, following))


def _inner(block: Block) -> Block:
    return replace(block, nodes=tuple(map(_node, block.nodes)))


def _node(node: Node) -> Node:
    if isinstance(node, If):
        return replace(node, then=_inner(node.then), orelse=_inner(node.orelse))
    if isinstance(node, While):
        body = _ordered(_inner(node.body), node.variables, node.body.results)
        return replace(node, condition=_inner(node.condition), body=body)
    return node


def _ordered(block: Block, variables: Sequence[Value], following: Sequence[Value]) -> Block:
    if len(block.nodes) < 2 or not variables:
        return block
    after = must_precede(block, variables, following)
    return replace(block, nodes=tuple(block.nodes[i] for i in _topological(after)))


def must_precede(block: Block, variables: Sequence[Value], following: Sequence[Value]) -> list[set[int]]:
    """Successors of each node of a block: readers of its results, and producers of the next contents of its variables.

    Nodes that wait for the next row of an input precede all others, which would otherwise run again for each row.
    """
    nodes = block.nodes
    producer = {output: i for i, node in enumerate(nodes) for output in node.outputs}
    origin = view_origins(nodes)
    readers: dict[Value, set[int]] = {}
    after: list[set[int]] = [set() for _ in nodes]
    for i, node in enumerate(nodes):
        for value in reads(node):
            readers.setdefault(origin.get(value, value), set()).add(i)
            if value in producer:
                after[producer[value]].add(i)
    for i, node in enumerate(nodes):
        if waits_for_rows(node):
            after[i] = set(range(len(nodes))) - {i}
    pairs = sorted(zip(variables, following, strict=True), key=lambda pair: -pair[0].type.bytes)
    for variable, value in pairs:
        producer_index = producer.get(origin.get(value, value))
        if producer_index is None:
            continue
        old = {variable}
        writer = nodes[producer_index]
        if isinstance(writer, Op) and traits_of(writer.operator).cuts and writer.inputs[0] is not None:
            old.add(origin.get(writer.inputs[0], writer.inputs[0]))
        for reader in sorted(set().union(*(readers.get(v, ()) for v in old)) - {producer_index}):
            if not _reaches(after, producer_index, reader):
                after[reader].add(producer_index)
    return after


def view_origins(nodes: Sequence[Node]) -> dict[Value, Value]:
    """View -> the value that it is a view of."""
    origin: dict[Value, Value] = {}
    for node in nodes:
        if isinstance(node, Op) and traits_of(node.operator).view and node.inputs[0] is not None:
            origin[node.outputs[0]] = origin.get(node.inputs[0], node.inputs[0])
    return origin


def reads(node: Node) -> set[Value]:
    """Values that a node and its regions read."""
    values = set(operands_of(node))
    for block in blocks_of(node):
        values.update(uses_in(block))
    return values


def _reaches(after: Sequence[set[int]], start: int, goal: int) -> bool:
    visited, pending = {start}, [start]
    while pending:
        for i in after[pending.pop()]:
            if i == goal:
                return True
            if i not in visited:
                visited.add(i)
                pending.append(i)
    return False


def _topological(after: Sequence[set[int]]) -> list[int]:
    """Topological order by Kahn's algorithm; the first ready node in the old order comes next."""
    waiting = [0] * len(after)
    for successors in after:
        for i in successors:
            waiting[i] += 1
    ready = [i for i, count in enumerate(waiting) if not count]
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for successor in after[i]:
            waiting[successor] -= 1
            if not waiting[successor]:
                heapq.heappush(ready, successor)
    return order
