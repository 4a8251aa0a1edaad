"""Substitution of values, shared by the passes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tflmgen.graph import Block, Call, If, Node, Op, Value


def substitute(block: Block, mapping: Mapping[Value, Value]) -> Block:
    """The block with every use of a key of `mapping` replaced by its value, regions included."""
    if not mapping:
        return block
    nodes = tuple(substitute_node(node, mapping) for node in block.nodes)
    return replace(block, nodes=nodes, results=resolve_all(block.results, mapping))


def substitute_node(node: Node, mapping: Mapping[Value, Value]) -> Node:
    if isinstance(node, Op):
        return replace(node, inputs=tuple(None if v is None else resolve(v, mapping) for v in node.inputs))
    if isinstance(node, If):
        return replace(
            node,
            condition=resolve(node.condition, mapping),
            then=substitute(node.then, mapping),
            orelse=substitute(node.orelse, mapping),
        )
    if isinstance(node, Call):
        return replace(node, inputs=resolve_all(node.inputs, mapping))
    return replace(
        node,
        inits=resolve_all(node.inits, mapping),
        condition=substitute(node.condition, mapping),
        body=substitute(node.body, mapping),
    )


def resolve(value: Value, mapping: Mapping[Value, Value]) -> Value:
    """Follows the mapping to its end: a replacement may itself have been replaced, or be the same value made constant."""
    while (replacement := mapping.get(value, value)) is not value:
        value = replacement
    return value


def resolve_all(values: tuple[Value, ...], mapping: Mapping[Value, Value]) -> tuple[Value, ...]:
    return tuple(resolve(v, mapping) for v in values)
