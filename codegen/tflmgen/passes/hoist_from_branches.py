"""Hoists operators that both branches of an If compute, which saves code."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from tflmgen.ir import Block, If, Module, Node, Op, Rewriter, Value, definitions_in, operands_of, substitute
from tflmgen.passes.common_subexpressions import expression


def share_branches(module: Module) -> Module:
    """Moves an operator that both branches of an If apply to the same outer values before the If."""
    return _Shared().run(module)


class _Shared(Rewriter):
    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, If):
            return (node,)
        moved: list[Node] = []
        then_block, else_block = node.then, node.orelse
        while pair := _pair(then_block, else_block):
            kept, duplicate = pair
            moved.append(kept)
            then_block = _without_node(then_block, kept)
            else_block = substitute(
                _without_node(else_block, duplicate), dict(zip(duplicate.outputs, kept.outputs, strict=True))
            )
        return (*moved, replace(node, then=then_block, orelse=else_block))


def _pair(then_block: Block, else_block: Block) -> tuple[Op, Op] | None:
    """An operator of `then_block` that may move, and its equal in `else_block`; else None."""
    candidates = _outer(then_block)
    for key, op in _outer(else_block).items():
        if key in candidates:
            return candidates[key], op
    return None


def _outer(block: Block) -> dict[Hashable, Op]:
    """Operators of a block that read only outer values and write no more bytes than they read, by key."""
    inside = set(definitions_in(block))
    return {
        expression(node): node
        for node in block.nodes
        if isinstance(node, Op) and inside.isdisjoint(operands_of(node)) and _is_small(node)
    }


def _is_small(op: Op) -> bool:
    """Whether its outputs, which are live from before the If once it is hoisted, take no more bytes than its inputs."""
    read: set[Value] = {v for v in operands_of(op) if not v.is_constant}
    return sum(v.type.bytes for v in op.outputs) <= sum(v.type.bytes for v in read)


def _without_node(block: Block, node: Op) -> Block:
    return replace(block, nodes=tuple(n for n in block.nodes if n is not node))
