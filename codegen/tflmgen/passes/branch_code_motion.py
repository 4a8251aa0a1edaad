"""Moves operators out of both branches of an If, or into the one that reads their result."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from tflmgen.ir import Rewriter, substitute, with_regions
from tflmgen.ir.graph import Block, If, Module, Node, Op, Value, blocks_of, definitions_in, operands_of, uses_in
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


Place = tuple[int, int]
"""(index of a node in its block, index of one of its regions; -1: the node itself)."""


def sink(module: Module) -> Module:
    """Moves operators whose outputs only one branch of an If reads into that branch, where that takes no memory."""
    return replace(module, functions=tuple(replace(f, body=_block(f.body)) for f in module.functions))


def _block(block: Block) -> Block:
    nodes: list[Node | None] = list(block.nodes)
    if any(isinstance(node, If) for node in nodes):
        _sink(block, nodes)
    rebuilt = (with_regions(node, [_block(region) for region in blocks_of(node)]) for node in nodes if node is not None)
    return replace(block, nodes=tuple(rebuilt))


def _sink(block: Block, nodes: list[Node | None]) -> None:
    """Moves operators within `nodes`: replaces them by None, and their Ifs by ones that contain them."""
    users: dict[Value, set[Place]] = {value: {(len(nodes), -1)} for value in block.results}
    for index in reversed(range(len(nodes))):
        node = nodes[index]
        assert node is not None
        place = _destination(node, nodes, users) if isinstance(node, Op) else None
        if place is not None:
            if_index, region = place
            target = nodes[if_index]
            assert target is not None
            regions = list(blocks_of(target))
            regions[region] = replace(regions[region], nodes=(node, *regions[region].nodes))
            nodes[if_index], nodes[index] = with_regions(target, regions), None
        for value in operands_of(node):
            users.setdefault(value, set()).add(place or (index, -1))
        for number, inner in enumerate(blocks_of(node)):
            for value in uses_in(inner):
                users.setdefault(value, set()).add((index, number))


def _destination(op: Op, nodes: list[Node | None], users: dict[Value, set[Place]]) -> Place | None:
    places = {place for output in op.outputs for place in users.get(output, ())}
    if len(places) != 1:
        return None
    ((index, region),) = places
    if region < 0 or not isinstance(nodes[index], If):
        return None
    # Inputs with a reader at or after the If are live until there in any case.
    longer = {v for v in operands_of(op) if not v.is_constant and all(user < index for user, _ in users.get(v, ()))}
    fits = sum(v.type.bytes for v in longer) <= sum(v.type.bytes for v in op.outputs)
    return (index, region) if fits else None
