"""A RESHAPE and the like of a constant is a constant of another shape."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.graph import Block, If, Module, Node, Op, Value, While
from tflmgen.passes.rewrite import resolve, substitute

VIEWS = frozenset({"RESHAPE", "SQUEEZE", "EXPAND_DIMS"})


def fold_constant_views(module: Module) -> Module:
    """Replaces each view of a constant by a constant with the view's type over the same bytes."""
    functions = []
    for function in module.functions:
        mapping: dict[Value, Value] = {}
        body = _block(function.body, mapping)
        functions.append(replace(function, body=substitute(body, mapping)))
    return replace(module, functions=tuple(functions))


def _block(block: Block, mapping: dict[Value, Value]) -> Block:
    nodes: list[Node] = []
    for node in block.nodes:
        if isinstance(node, Op) and node.operator in VIEWS and node.inputs[0] is not None:
            source = resolve(node.inputs[0], mapping)
            if source.is_constant:
                mapping[node.outputs[0]] = replace(node.outputs[0], constant=source.constant)
                continue
        elif isinstance(node, If):
            node = replace(node, then=_block(node.then, mapping), orelse=_block(node.orelse, mapping))
        elif isinstance(node, While):
            node = replace(node, condition=_block(node.condition, mapping), body=_block(node.body, mapping))
        nodes.append(node)
    return replace(block, nodes=tuple(nodes))
