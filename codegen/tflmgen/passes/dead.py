"""Dead code elimination: operators whose results nobody reads go away."""

from __future__ import annotations

from dataclasses import replace

from tflmgen.graph import Block, If, Module, Node, Op, Value, While, operands_of, uses_in


def eliminate_dead(module: Module) -> Module:
    """Removes every Op whose outputs are unused, innermost regions included. Ifs, Whiles and Calls stay."""
    functions = tuple(replace(f, body=_block(f.body, set())) for f in module.functions)
    return replace(module, functions=functions)


def _block(block: Block, live_after: set[Value]) -> Block:
    live = live_after | set(block.results)
    kept: list[Node] = []
    for node in reversed(block.nodes):
        if isinstance(node, Op) and not live.intersection(node.outputs):
            continue
        if isinstance(node, If):
            node = replace(node, then=_block(node.then, live), orelse=_block(node.orelse, live))
            live = live | set(uses_in(node.then)) | set(uses_in(node.orelse))
        elif isinstance(node, While):
            carried = live | set(node.variables)
            node = replace(node, condition=_block(node.condition, carried), body=_block(node.body, carried))
            live = live | set(uses_in(node.condition)) | set(uses_in(node.body))
        live = live | set(operands_of(node))
        kept.append(node)
    return replace(block, nodes=tuple(reversed(kept)))
