"""What both branches of an If compute is computed before it, once in the code."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from tflmgen.ir import Block, If, Module, Node, Op, Rewriter, Value, definitions_in, operands_of, substitute
from tflmgen.passes.common_subexpressions import expression

SLACK = 16
"""Bytes by which the outputs of what moves may exceed its inputs: they live from before the If on."""


def share_branches(module: Module) -> Module:
    """Moves an operator that both branches of an If apply to the same outer values before the If."""
    return _Shared().run(module)


class _Shared(Rewriter):
    def node(self, node: Node) -> Sequence[Node]:
        node = self.regions(node)
        if not isinstance(node, If):
            return (node,)
        moved: list[Node] = []
        then, orelse = node.then, node.orelse
        while pair := _pair(then, orelse):
            one, other = pair
            moved.append(one)
            then = _without(then, one)
            orelse = substitute(_without(orelse, other), dict(zip(other.outputs, one.outputs, strict=True)))
        return (*moved, replace(node, then=then, orelse=orelse))


def _pair(then: Block, orelse: Block) -> tuple[Op, Op] | None:
    """The first operator of `then` that may move, with its equal in `orelse`."""
    candidates = _outer(then)
    for key, other in _outer(orelse).items():
        if key in candidates:
            return candidates[key], other
    return None


def _outer(block: Block) -> dict[Hashable, Op]:
    """The operators that read nothing of the block itself and don't make more bytes than they read."""
    inside = set(definitions_in(block))
    return {
        expression(node): node
        for node in block.nodes
        if isinstance(node, Op) and inside.isdisjoint(operands_of(node)) and _is_small(node)
    }


def _is_small(op: Op) -> bool:
    read: set[Value] = {v for v in operands_of(op) if not v.is_constant}
    return sum(v.type.bytes for v in op.outputs) <= sum(v.type.bytes for v in read) + SLACK


def _without(block: Block, node: Op) -> Block:
    return replace(block, nodes=tuple(n for n in block.nodes if n is not node))
