"""Loop variables that never change are not variables: their uses read the initial value, which may be a constant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tflmgen.graph import Block, If, Module, Node, Value, While
from tflmgen.passes.rewrite import substitute, substitute_node


def substitute_invariants(module: Module) -> Module:
    """Drops each variable whose next value is itself; the loop's output and its uses become the initial value."""
    functions = []
    for function in module.functions:
        mapping: dict[Value, Value] = {}
        body = _block(function.body, mapping)
        functions.append(replace(function, body=substitute(body, mapping)))
    return replace(module, functions=tuple(functions))


def _block(block: Block, mapping: dict[Value, Value]) -> Block:
    return replace(block, nodes=tuple(_node(node, mapping) for node in block.nodes))


def _node(node: Node, mapping: dict[Value, Value]) -> Node:
    if isinstance(node, If):
        return replace(node, then=_block(node.then, mapping), orelse=_block(node.orelse, mapping))
    if not isinstance(node, While):
        return node
    node = replace(node, condition=_block(node.condition, mapping), body=_block(node.body, mapping))
    substituted = substitute_node(node, mapping)
    assert isinstance(substituted, While)
    node = substituted
    moving = [i for i, v in enumerate(node.variables) if node.body.results[i] != v]
    for index, (variable, init) in enumerate(zip(node.variables, node.inits, strict=True)):
        if index not in moving:
            mapping[variable] = init
            mapping[node.outputs[index]] = init

    def pick(values: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(values[i] for i in moving)

    return replace(
        node,
        variables=pick(node.variables),
        inits=pick(node.inits),
        body=replace(node.body, results=pick(node.body.results)),
        outputs=pick(node.outputs),
    )
